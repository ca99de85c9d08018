import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from srs_core.smoothing.bounds import certified_radius, clopper_pearson_lower
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.snapshot import Snapshot
from srs_core.smoothing.stream import certify, certify_stream
from srs_core.smoothing.verify import verify

ROOT = Path(__file__).parents[2]
SMALL = Settings(sigma=0.5, n=600, n0=50, audit=150, batch_size=64, reference_steps=25, warm_up_steps=25, tol=1e-4)
PLAIN = SMALL.with_(method="rs", steps=25)
VARIATIONS: dict[str, dict[str, object]] = {
    "previous": {},
    "one step": {"steps": 1, "solver": "naive"},
    "mean": {"start": "mean", "steps": 2},
    "clean": {"start": "clean"},
    "zero": {"start": "zero", "steps": 4},
    "restart": {"restart_every": 3},
    "broyden": {"solver": "broyden", "warm_up_solver": "naive"},
    "census": {"census": 40},
    "exact": {"estimator": "exact"},
    "paper": {"estimator": "paper"},
    "anytime": {"anytime": True},
    "few chains": {"batch_size": 7},
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_every_way_to_certify_adds_up(name: str, make_tiny: Callable[[], object], picture: Tensor) -> None:
    model = make_tiny()
    settings = SMALL.with_(**VARIATIONS[name])
    snapshots = list(certify_stream(model, picture, settings))
    certificate = snapshots[-1].certificate
    assert certificate is not None
    assert [s.certificate for s in snapshots[:-1]] == [None] * (len(snapshots) - 1)
    assert verify(certificate) == []
    assert model.evaluations == certificate.evaluations == sum(certificate.evaluations_by_phase.values())
    assert sum(certificate.votes) == certificate.n == 600
    assert sum(certificate.selection_votes) == 50
    assert certificate.counts is not None
    c = certificate.counts
    assert c.votes <= certificate.votes[certificate.class_index]
    assert c.mismatched <= c.audited
    assert c.recovered <= c.audited_others
    if settings.watched:
        assert c.audited + c.audited_others == pytest.approx(150, abs=60)
    elif settings.census:
        assert c.census == 40
        assert 100 <= c.audited + c.audited_others + c.census <= 150
    else:
        assert c.audited + c.audited_others == 150
    assert Certificate.from_json(certificate.to_json()) == certificate
    again = certify(make_tiny(), picture, settings)
    assert replace(again, seconds=0.0, created="") == replace(certificate, seconds=0.0, created="")


def straightforward_rs(model: object, picture: Tensor, settings: Settings) -> tuple[int, list[int], float]:
    """Randomized smoothing as in the paper, in a few lines, one picture at a time."""

    def label(x: Tensor) -> int:
        z, injection = model.initial(x), model.inject(x)
        for _ in range(settings.reference_steps):
            z = model.step(z, injection)
        return int(model.classify(z).argmax())

    def tally(purpose: Purpose, number: int) -> list[int]:
        copies = NoisyCopies(picture, settings.sigma, settings.seed, purpose)
        return np.bincount([label(copies.batch(i, i + 1)) for i in range(number)], minlength=4).tolist()

    c = int(np.argmax(tally(Purpose.SELECTION, settings.n0)))
    votes = tally(Purpose.ESTIMATION, settings.n)
    return c, votes, certified_radius(clopper_pearson_lower(votes[c], settings.n, settings.alpha), settings.sigma)


def test_plain_smoothing_equals_a_straightforward_one_vote_for_vote(tiny: object, picture: Tensor) -> None:
    settings = PLAIN.with_(solver="naive", tol=0.0, n=300)
    certificate = certify(tiny, picture, settings)
    c, votes, radius = straightforward_rs(tiny, picture, settings)
    assert (certificate.class_index, list(certificate.votes)) == (c, votes)
    assert certificate.radius == pytest.approx(radius, abs=1e-12)
    assert certificate.evaluations == (300 + 50) * 25
    assert certificate.mismatch_bound is None


class Stuck:
    """A solver's nightmare as a model: from a warm start f returns its start, from the cold one it solves."""

    classes = ("zero", "one")

    def inject(self, x: Tensor) -> Tensor:
        return (x.flatten(1).sum(1, keepdim=True) > 0).float() * 2 - 1

    def initial(self, x: Tensor) -> Tensor:
        return x.new_zeros(len(x), 1)

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        return torch.where(z == 0, injection, z)

    def classify(self, z: Tensor) -> Tensor:
        return torch.cat([-z, z], dim=1)


def test_a_chain_that_copies_its_first_answer_does_not_certify() -> None:
    # Half of the noisy pictures are truly of either class, but every warm-started prediction copies the first.
    picture = torch.zeros(3, 1, 1)
    for estimator in ("joint", "exact", "paper"):
        settings = Settings(
            sigma=0.5, n=2_000, n0=1, audit=400, batch_size=1, steps=1, solver="naive", estimator=estimator
        )
        certificate = certify(Stuck(), picture, settings)
        assert max(certificate.votes) == 2_000, "the chain must be degenerate for this test to mean anything"
        assert certificate.abstained
        assert certificate.radius == 0.0
        assert certificate.mismatch_bound is not None
        assert certificate.mismatch_bound > 0.5


def test_the_audit_repairs_a_bad_proxy_against_the_truth(make_tiny: Callable[[], object], picture: Tensor) -> None:
    truth = certify(make_tiny(), picture, PLAIN.with_(n=4_000))
    p_a = truth.votes[truth.class_index] / 4_000
    for seed in range(5):
        bad = SMALL.with_(steps=1, solver="naive", start="zero", seed=seed, n=2_000, audit=400)
        certificate = certify(make_tiny(), picture, bad)
        if certificate.class_index == truth.class_index:
            assert certificate.p_a_lower < p_a + 0.02


def test_progress_is_told_after_every_batch(tiny: object, picture: Tensor) -> None:
    snapshots = list(certify_stream(tiny, picture, SMALL))
    assert [s.phase for s in snapshots] == ["selection", *["voting"] * 10, "done"]
    assert [s.done for s in snapshots] == [0, *range(64, 600, 64), 600, 600]
    for before, after in pairwise(snapshots):
        assert after.evaluations >= before.evaluations
        assert after.seconds >= before.seconds
        assert after.audited >= before.audited
    middle = snapshots[5]
    assert middle.p_a_estimate is not None
    assert middle.lower_estimate is not None
    assert middle.lower_estimate < middle.p_a_estimate
    assert middle.anytime_lower is None
    assert middle.seconds_left is not None
    assert len(middle.residuals.median) == 3
    assert middle.residuals.low <= middle.residuals.median <= middle.residuals.high
    assert len(middle.batch_labels) == 64
    assert snapshots[-1].lower_estimate == pytest.approx(snapshots[-1].certificate.p_a_lower)


def test_to_cancel_is_to_stop_asking(tiny: object, picture: Tensor) -> None:
    stream = certify_stream(tiny, picture, SMALL)
    next(stream)
    next(stream)
    spent = tiny.evaluations
    del stream
    assert tiny.evaluations == spent


def test_anytime_bounds_hold_together_and_cost_little(make_tiny: Callable[[], object], picture: Tensor) -> None:
    for base in (SMALL, PLAIN):
        snapshots = list(certify_stream(make_tiny(), picture, base.with_(anytime=True, steps=base.steps)))
        bounds = [s.anytime_lower for s in snapshots if s.anytime_lower is not None]
        assert bounds == sorted(bounds)
        assert len(bounds) >= 5
        certificate = snapshots[-1].certificate
        assert [look.n for look in certificate.looks] == [100, 200, 400, 600]
        assert sum(look.alpha for look in certificate.looks) == pytest.approx(0.001)
        assert certificate.p_a_lower == bounds[-1]


@pytest.mark.parametrize("base", [SMALL, PLAIN], ids=["srs", "rs"])
def test_a_question_is_answered_early_and_with_its_error_probability(
    base: Settings, make_tiny: Callable[[], object], picture: Tensor
) -> None:
    sure = certify(make_tiny(), picture, base.with_(n=6_000, audit=1_500))
    assert sure.radius > 0.05

    def ask(radius: float) -> Snapshot:
        settings = base.with_(n=6_000, audit=1_500, robust_at=radius)
        return list(certify_stream(make_tiny(), picture, settings))[-1]

    yes, no = ask(0.1 * sure.radius), ask(4 * sure.radius)
    assert (yes.certificate.robust, no.certificate.robust) == (True, False)
    for answered in (yes, no):
        assert answered.done < 6_000
        assert answered.certificate.n < answered.certificate.planned_n == 6_000
        assert verify(answered.certificate) == []
    assert yes.certificate.radius > 0.1 * sure.radius


def test_impossible_sizes_say_what_would_be_possible(tiny: object, picture: Tensor) -> None:
    with pytest.raises(ValueError, match="no certificate is possible with fewer than 10 votes"):
        certify(tiny, picture, Settings(method="rs", n=9))
    with pytest.raises(ValueError, match="no certificate is possible with fewer than 14 votes"):
        certify(tiny, picture, Settings(n=13, audit=13))
    with pytest.raises(ValueError, match="with an audit of fewer than 14"):
        certify(tiny, picture, Settings(n=10_000, audit=13))


def test_what_is_no_picture_is_refused(tiny: object, picture: Tensor) -> None:
    with pytest.raises(ValueError, match="floats are needed"):
        certify(tiny, (picture * 255).to(torch.uint8), SMALL)
    with pytest.raises(ValueError, match="not finite"):
        certify(tiny, picture / 0, SMALL)


def test_what_is_no_certificate_is_said(tiny: object, picture: Tensor) -> None:
    text = certify(tiny, picture, SMALL).to_json()
    for broken in ("", "[]", "{}", text[:100], text.replace('"radius"', '"rodius"')):
        with pytest.raises(ValueError, match="not a certificate"):
            Certificate.from_json(broken)


def test_a_certificate_from_before_precisions_could_be_chosen_is_still_read(tiny: object, picture: Tensor) -> None:
    certificate = certify(tiny, picture, SMALL)
    assert certificate.proxy_precision == "float32"
    values = certificate.to_dict()
    del values["proxy_precision"]
    old = Certificate.from_json(json.dumps(values))
    assert old == replace(certificate, proxy_precision=None)
    assert verify(old) == []
    assert certify(tiny, picture, SMALL.with_(method="rs")).proxy_precision is None


PEAK = """
import resource, sys, torch
from tests.smoothing.conftest import PICTURE, TinyDEQ
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify

torch.set_num_threads(1)
settings = Settings(sigma=0.5, n=int(sys.argv[1]), audit=1_000, census=100, batch_size=500)
certify(TinyDEQ(), torch.rand(PICTURE), settings)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_peak_memory_does_not_grow_with_the_number_of_votes() -> None:
    def peak(n: int) -> int:
        command = [sys.executable, "-c", PEAK, str(n)]
        return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)

    assert peak(100_000) < 1.1 * peak(10_000)

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from srs_core.smoothing.audit import Audit, audit_positions
from srs_core.smoothing.certificate import AuditCounts
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import SerialVoter, StandardVoter

SMALL = Settings(sigma=0.5, n=500, audit=120, steps=1, solver="naive", batch_size=50)


def test_positions_are_uniform_over_the_whole_run() -> None:
    # Chi-square over ten stretches of the run, 400 audits; false-alarm probability 1e-3, seeds fixed.
    hits = np.zeros(10)
    for seed in range(400):
        chosen = audit_positions(SMALL.with_(seed=seed))
        assert chosen.sum() == 120
        hits += chosen.reshape(10, 50).sum(axis=1)
    # Without replacement the stretches vary a little less than independent draws would: the test is safe.
    assert stats.chisquare(hits).pvalue > 1e-3


def test_coins_leave_a_uniform_sample_in_every_prefix() -> None:
    sizes = [audit_positions(SMALL.with_(seed=seed, anytime=True))[:100].sum() for seed in range(400)]
    assert stats.binomtest(int(np.sum(sizes)), 400 * 100, 120 / 500).pvalue > 1e-3
    assert np.var(sizes) == pytest.approx(100 * 0.24 * 0.76, rel=0.3)


def test_the_audit_does_not_depend_on_anything_but_seed_and_size() -> None:
    base = audit_positions(SMALL)
    same = (SMALL.with_(sigma=2.0), SMALL.with_(steps=3, solver="broyden"), SMALL.with_(batch_size=7))
    assert all(np.array_equal(base, audit_positions(settings)) for settings in same)
    assert not np.array_equal(base, audit_positions(SMALL.with_(seed=1)))


@pytest.mark.parametrize("census", [0, 30])
def test_counts_are_what_brute_force_counts(census: int, make_tiny: Callable[[], object], picture: Tensor) -> None:
    settings = SMALL.with_(census=census)
    model = make_tiny()
    proxy, judge = SerialVoter(model, settings, picture), StandardVoter(model, settings)
    copies = NoisyCopies(picture, settings.sigma, settings.seed, Purpose.ESTIMATION)
    labels = np.full(settings.n, -1, dtype=np.int16)
    margins = []
    audit = Audit(settings, judge, 32, labels)
    for start in range(0, 500, 50):
        pictures = copies.batch(start, start + 50)
        ballot = proxy.vote(pictures)
        labels[start : start + 50] = ballot.labels.numpy()
        margins.append(ballot.margins)
        audit.record(start, pictures, ballot)
    audit.settle()
    audit.take_census()

    standard = judge.vote(copies.batch(0, 500)).labels.numpy()
    unsure = np.zeros(500, dtype=bool)
    unsure[torch.cat(margins).argsort(stable=True)[:census].numpy()] = True
    checked = audit_positions(settings) & ~unsure
    for c in range(4):
        ours = labels == c
        assert audit.counts(c, 500) == AuditCounts(
            votes=int((ours & ~unsure).sum()),
            audited=int((ours & checked).sum()),
            mismatched=int((ours & checked & (standard != c)).sum()),
            audited_others=int((~ours & checked).sum()),
            recovered=int((~ours & checked & (standard == c)).sum()),
            census=census,
            census_hits=int((unsure & (standard == c)).sum()),
        )
    assert (labels != standard).any(), "a perfect proxy would make this test empty"

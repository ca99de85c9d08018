import json
from collections.abc import Callable

import pytest
from torch import Tensor

from srs_core.smoothing.bounds import certified_radius, clopper_pearson_lower
from srs_core.smoothing.compare import compare, compare_stream
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify, certify_stream

SMALL = Settings(sigma=0.5, n=400, n0=50, audit=100, batch_size=50, reference_steps=25, tol=1e-4)
SETTINGS = [SMALL.with_(steps=1, solver="naive"), SMALL.with_(steps=3)]


def test_certificates_are_the_ones_of_runs_alone(make_tiny: Callable[[], object], picture: Tensor) -> None:
    comparison = compare(make_tiny(), picture, SETTINGS)
    alone = [certify(make_tiny(), picture, s) for s in [SMALL.plain(), *SETTINGS]]
    assert [comparison.rs.radius, *(c.radius for c in comparison.srs)] == [c.radius for c in alone]
    assert [comparison.rs.votes, *(c.votes for c in comparison.srs)] == [c.votes for c in alone]
    json.dumps(comparison.to_dict(), allow_nan=False)


def test_mismatch_and_equal_cost_are_counted_from_the_labels(make_tiny: Callable[[], object], picture: Tensor) -> None:
    def labels(settings: Settings) -> list[int]:
        return [label for s in certify_stream(make_tiny(), picture, settings) for label in s.batch_labels]

    comparison = compare(make_tiny(), picture, SETTINGS)
    standard = labels(SMALL.plain())
    for settings, certificate, measured in zip(SETTINGS, comparison.srs, comparison.measured, strict=True):
        c = certificate.class_index
        ours = [s for s, p in zip(standard, labels(settings), strict=True) if p == c]
        mismatch = sum(s != c for s in ours) / len(ours)
        assert measured.true_mismatch == pytest.approx(mismatch)
        assert measured.gap == pytest.approx(certificate.mismatch_bound - mismatch)
        assert measured.speed_up_evaluations == pytest.approx(comparison.rs.evaluations / certificate.evaluations)
        rs = comparison.rs
        n = measured.equal_cost.n
        each = rs.evaluations_by_phase["voting"] / rs.n
        spent = rs.evaluations_by_phase["selection"] + n * each
        assert spent <= certificate.evaluations < spent + each or n == rs.n
        votes = standard[:n].count(rs.class_index)
        radius = certified_radius(clopper_pearson_lower(votes, n, 0.001), 0.5)
        assert measured.equal_cost.radius == pytest.approx(radius)
        assert measured.equal_cost.plain_wins == (radius > 0 and radius >= certificate.radius)


def test_the_race_is_fair(make_tiny: Callable[[], object], picture: Tensor) -> None:
    before = None
    for race in compare_stream(make_tiny(), picture, SETTINGS):
        if before is not None and race.comparison is None:
            moved = [i for i, (a, b) in enumerate(zip(before, race.snapshots, strict=True)) if a is not b]
            waiting = [s.seconds if s else 0.0 for s in before if s is None or s.certificate is None]
            seconds = before[moved[0]].seconds if before[moved[0]] else 0.0
            assert len(moved) == 1
            assert seconds == min(waiting)
        before = race.snapshots


def test_what_cannot_be_compared_is_refused(tiny: object, picture: Tensor) -> None:
    with pytest.raises(ValueError, match="method 'srs'"):
        compare(tiny, picture, [])
    with pytest.raises(ValueError, match="method 'srs'"):
        compare(tiny, picture, [SMALL.with_(method="rs")])
    with pytest.raises(ValueError, match="differ in sigma"):
        compare(tiny, picture, [SMALL, SMALL.with_(sigma=1.0)])

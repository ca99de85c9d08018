from collections.abc import Callable

import pytest
from torch import Tensor

from srs_core.smoothing.planner import plan
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify

SMALL = Settings(sigma=0.5, n=800, n0=100, audit=100, reference_steps=25, tol=0.0)


def test_a_plan_weighs_all_methods_within_the_budget(make_tiny: Callable[[], object], picture: Tensor) -> None:
    model = make_tiny()
    proposal = plan(model, picture, SMALL, evaluations=20_000)
    assert model.evaluations == proposal.pilot_evaluations
    methods = {(a.settings.method, a.settings.start, a.settings.proxy_steps) for a in proposal.alternatives}
    assert len(methods) == len(proposal.alternatives) == 1 + 2 * 4
    expected = [a.expected_radius for a in proposal.alternatives]
    assert expected == sorted(expected, reverse=True)
    for alternative in proposal.alternatives:
        s = alternative.settings
        each = s.reference_steps if s.method == "rs" else s.proxy_steps
        cost = s.n * each + s.n0 * 25 + (s.audit * 25 if s.audited else 0)
        assert cost <= 20_000 + 25


def test_a_larger_budget_promises_no_less(make_tiny: Callable[[], object], picture: Tensor) -> None:
    small, large = (plan(make_tiny(), picture, SMALL, evaluations=e).best for e in (15_000, 150_000))
    assert large.expected_radius > small.expected_radius


def test_auto_certifies_with_the_best_plan(make_tiny: Callable[[], object], picture: Tensor) -> None:
    best = plan(make_tiny(), picture, SMALL.with_(method="auto", steps=None)).best
    model = make_tiny()
    certificate = certify(model, picture, SMALL.with_(method="auto", steps=None))
    assert certificate.evaluations == model.evaluations
    assert certificate.evaluations_by_phase["pilot"] > 0
    assert (certificate.method, certificate.n) == (best.settings.method, best.settings.n)
    assert certificate.radius == pytest.approx(best.expected_radius, abs=0.06)


def test_auto_works_for_runs_no_longer_than_their_selection(make_tiny: Callable[[], object], picture: Tensor) -> None:
    short = SMALL.with_(method="auto", steps=None, n=60, audit=30)
    plain = next(a for a in plan(make_tiny(), picture, short).alternatives if a.settings.method == "rs")
    assert plain.settings.n == 60
    with pytest.raises(ValueError, match="n0 is 1; a pilot needs at least 2 selection draws"):
        plan(make_tiny(), picture, short.with_(n0=1))


def test_seconds_are_a_budget_too(make_tiny: Callable[[], object], picture: Tensor) -> None:
    assert plan(make_tiny(), picture, SMALL, seconds=1.0).budget > 0

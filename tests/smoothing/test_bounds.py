"""Estimators, radii and cut-offs, against the known answers and against themselves."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from srs_core.smoothing import bounds
from srs_core.smoothing.bounds import (
    BOUNDS,
    certified_radius,
    clopper_pearson_lower,
    cutoff_lower,
    cutoff_radius,
    exact_lower,
    format_radius,
    joint_bound,
    joint_lower,
    paper_lower,
    published_lower,
    smallest_audit,
    smallest_n,
)

unhurried = settings(deadline=None)  # a busy machine is no failure

ALPHA, SIGMA = 0.001, 0.5
RUN = (9500, 10_000, 1000, 20)


@st.composite
def runs(draw: st.DrawFn, most: int = 300) -> tuple[int, int, int, int, int]:
    """Votes, n, audited, mismatched and recovered of a small run."""
    n = draw(st.integers(1, most))
    votes = draw(st.integers(0, n))
    audited = draw(st.integers(0, votes))
    return votes, n, audited, draw(st.integers(0, audited)), draw(st.integers(0, n - votes))


@pytest.mark.parametrize(
    ("p_lower", "p", "radius"),
    [
        (clopper_pearson_lower(8000, 10_000, ALPHA), 0.787389, 0.398698),
        (clopper_pearson_lower(10_000, 10_000, ALPHA), 0.999309, 1.599289),
        (paper_lower(*RUN, ALPHA), 0.903282, 0.650240),
        (published_lower(*RUN, ALPHA), 0.942273, 0.787072),
        (exact_lower(*RUN, 0, ALPHA), 0.904305, 0.653238),
        (joint_bound(9480, 10_000, [bounds.AuditedGroup(9500, 1000, 20)], ALPHA, 2), 0.910816, 0.672900),
        (joint_bound(10_000, 10_000, [bounds.AuditedGroup(10_000, 1000, 0)], ALPHA, 2), 0.991888, 1.201923),
        (joint_bound(10_000, 10_000, [bounds.AuditedGroup(10_000, 1000, 0)], ALPHA, 3), 0.990980, 1.182398),
        (joint_lower(6060, 10_000, 606, 12, 394, 6, ALPHA), 0.574385, 0.093775),
        (joint_lower(8020, 10_000, 802, 4, 198, 2, ALPHA), 0.780377, 0.386734),
        (joint_lower(7900, 10_000, 608, 1, 142, 0, ALPHA, 250, 130), 0.782945, 0.391089),
        (joint_lower(90, 100, 30, 1, 5, 1, ALPHA), 0.604085, 0.131967),
    ],
)
def test_known_answers(p_lower: float, p: float, radius: float) -> None:
    assert p_lower == pytest.approx(p, abs=1e-6)
    assert certified_radius(p_lower, SIGMA) == pytest.approx(radius, abs=1e-6)


@pytest.mark.parametrize(
    ("share", "rs", "paper"),
    [
        (0.75, 0.316, 0.306),
        (0.80, 0.399, 0.387),
        (0.85, 0.495, 0.480),
        (0.90, 0.614, 0.594),
        (0.95, 0.790, 0.756),
        (0.99, 1.106, 1.005),
        (1.00, 1.599, 1.147),
    ],
)
def test_cutoff_table(share: float, rs: float, paper: float) -> None:
    assert cutoff_radius(10_000, ALPHA, SIGMA, share=share) == pytest.approx(rs, abs=0.001)
    audited = cutoff_radius(10_000, ALPHA, SIGMA, estimator="paper", audit=1000, share=share)
    assert audited == pytest.approx(paper, abs=0.001)


@unhurried
@given(runs(), st.sampled_from([1e-6, 0.001, 0.05]))
def test_the_exact_estimator_is_at_least_the_papers(run: tuple[int, int, int, int, int], alpha: float) -> None:
    votes, n, audited, mismatched, _ = run
    # Knowing that the audit is drawn without replacement cannot hurt, but for the rounding of a count.
    assert exact_lower(*run, alpha) >= paper_lower(votes, n, audited, mismatched, alpha) - 1 / n


@unhurried
@given(runs(), st.sampled_from([1e-6, 0.001, 0.05, 0.9]))
def test_estimators_are_monotone(run: tuple[int, int, int, int, int], alpha: float) -> None:
    votes, n, audited, mismatched, recovered = run
    paper = paper_lower(votes, n, audited, mismatched, alpha)
    exact = exact_lower(*run, alpha)
    assert 0.0 <= paper < 1.0
    assert 0.0 <= exact < 1.0
    assert paper_lower(votes, n, audited, mismatched, alpha / 2) <= paper
    assert exact_lower(*run, alpha / 2) <= exact
    if mismatched < audited:
        assert paper_lower(votes, n, audited, mismatched + 1, alpha) <= paper
        assert exact_lower(votes, n, audited, mismatched + 1, recovered, alpha) <= exact
    if audited < votes:
        assert paper_lower(votes, n, audited + 1, mismatched, alpha) >= paper
        assert exact_lower(votes, n, audited + 1, mismatched, recovered, alpha) >= exact
    if recovered < n - votes:
        assert exact_lower(votes, n, audited, mismatched, recovered + 1, alpha) >= exact


def test_a_full_audit_makes_the_exact_estimator_clopper_pearson_at_half_alpha() -> None:
    assert exact_lower(90, 100, 90, 7, 3, 0.05) == clopper_pearson_lower(86, 100, 0.025)


def test_nothing_audited_or_all_refuted_certifies_nothing() -> None:
    for audited, mismatched in ((0, 0), (50, 50)):
        assert paper_lower(100, 100, audited, mismatched, 0.05) == 0.0
        assert exact_lower(100, 100, audited, mismatched, 0, 0.05) == 0.0
        assert published_lower(100, 100, audited, mismatched, 0.05) == 0.0
    assert paper_lower(0, 1, 0, 0, 0.05) == 0.0
    assert exact_lower(0, 1, 0, 0, 1, 0.05) == clopper_pearson_lower(1, 1, 0.025)


def test_the_published_formula_hardly_minds_a_refuted_audit() -> None:
    # Half of the audited votes refuted: p_A is about 0.5, and the formula still claims nearly all votes.
    assert published_lower(10_000, 10_000, 1000, 500, ALPHA) > 0.99
    assert paper_lower(10_000, 10_000, 1000, 500, ALPHA) < 0.5


@unhurried
@given(st.floats(0.0, 0.5))
def test_at_one_half_and_below_nothing_is_certified(p_lower: float) -> None:
    assert certified_radius(p_lower, 0.25) == 0.0


@unhurried
@given(st.floats(0.5, 1.0, exclude_min=True, exclude_max=True), st.floats(0.01, 10.0))
def test_the_radius_is_the_normal_quantile(p_lower: float, sigma: float) -> None:
    radius = certified_radius(p_lower, sigma)
    assert radius > 0.0
    assert radius == pytest.approx(sigma * stats.norm.ppf(p_lower), rel=1e-9)


@unhurried
@given(st.floats(0.0, 1e6), st.integers(0, 8))
def test_a_printed_radius_is_rounded_down(radius: float, digits: int) -> None:
    text = format_radius(radius, digits)
    assert float(text) <= radius < float(text) + 1.001 * 10.0**-digits
    assert len(text.partition(".")[2]) == digits


def test_printed_radii() -> None:
    assert format_radius(0.3986999) == "0.398"
    assert format_radius(0.3) == "0.300"
    assert format_radius(0.0) == "0.000"
    assert format_radius(1e-9) == "0.000"
    assert format_radius(1.999999, digits=1) == "1.9"
    assert format_radius(math.inf) == "inf"


@pytest.mark.parametrize("estimator", BOUNDS)
@pytest.mark.parametrize("alpha", [0.3, 0.05, 2.0**-10, 0.001])
def test_the_smallest_n_certifies_and_no_smaller_does(estimator: str, alpha: float) -> None:
    n = smallest_n(alpha, estimator)
    can = [cutoff_radius(m, alpha, SIGMA, estimator, audit=m) > 0.0 for m in range(1, n + 6)]
    assert can == [m >= n for m in range(1, n + 6)]


def test_smallest_n_known_answers() -> None:
    # With all votes agreeing, the bound is alpha^(1/n): above 1/2 once 2^-n < alpha.
    assert smallest_n(0.001) == 10
    assert smallest_n(2.0**-10) == 11
    assert smallest_n(0.001, "exact") == 11


@pytest.mark.parametrize("estimator", ["joint", "exact", "paper"])
@pytest.mark.parametrize("n", [40, 300])
def test_the_smallest_audit_certifies_and_no_smaller_does(estimator: str, n: int) -> None:
    audit = smallest_audit(n, ALPHA, estimator)
    assert audit is not None
    can = [cutoff_lower(n, ALPHA, estimator, audit=k) > 0.5 for k in range(n + 1)]
    assert can == [k >= audit for k in range(n + 1)]


def test_too_few_draws_have_no_smallest_audit() -> None:
    assert smallest_audit(10, ALPHA, "joint") is None
    assert smallest_audit(11, ALPHA, "exact") == 11


@pytest.mark.parametrize("n", [1, 9])
def test_no_outcome_of_a_run_is_above_the_cutoff(n: int) -> None:
    audit, alpha = n // 2, 0.2
    cutoffs = {estimator: cutoff_lower(n, alpha, estimator, audit=audit) for estimator in BOUNDS}
    for votes in range(n + 1):
        assert clopper_pearson_lower(votes, n, alpha) <= cutoffs["rs"]
        for audited in range(max(0, audit - (n - votes)), min(audit, votes) + 1):
            for mismatched in range(audited + 1):
                assert paper_lower(votes, n, audited, mismatched, alpha) <= cutoffs["paper"]
                for recovered in range(audit - audited + 1):
                    counts = (votes, n, audited, mismatched)
                    assert exact_lower(*counts, recovered, alpha) <= cutoffs["exact"]
                    assert joint_lower(*counts, audit - audited, recovered, alpha) <= cutoffs["joint"] + 1e-12


@pytest.mark.parametrize("estimator", ["joint", "exact", "paper"])
def test_without_an_audit_the_cutoff_is_zero(estimator: str) -> None:
    assert cutoff_lower(1000, 0.05, estimator) == 0.0
    assert cutoff_radius(1000, 0.05, SIGMA, estimator) == 0.0


def test_impossible_values_are_refused_by_name() -> None:
    cases = [
        (lambda: paper_lower(101, 100, 10, 0, 0.05), "votes = 101 is impossible: it must be from 0 to n = 100"),
        (lambda: paper_lower(90, 100, 91, 0, 0.05), "audited = 91"),
        (lambda: published_lower(90, 100, 10, 11, 0.05), "mismatched = 11"),
        (lambda: exact_lower(90, 100, 10, 0, 11, 0.05), "recovered = 11 is impossible: it must be from 0 to n - votes"),
        (lambda: exact_lower(0, 0, 0, 0, 0, 0.05), "n = 0 is impossible"),
        (lambda: paper_lower(90, 100, 10, 0, 1.5), "alpha = 1.5"),
        (lambda: exact_lower(90, 100, 10, 0, 0, 1.5), "alpha = 1.5"),
        (lambda: published_lower(90, 100, 10, 0, 0.0), "alpha = 0.0"),
        (lambda: certified_radius(1.5, 0.5), "p_lower = 1.5 is not a probability"),
        (lambda: certified_radius(math.nan, 0.5), "p_lower = nan"),
        (lambda: certified_radius(0.9, 0.0), "sigma = 0.0 is not a noise level"),
        (lambda: certified_radius(0.4, -1.0), "sigma = -1.0"),
        (lambda: format_radius(-0.1), "radius = -0.1 is not a radius"),
        (lambda: format_radius(math.nan), "radius = nan"),
        (lambda: cutoff_radius(100, 0.05, 0.5, "joint", audit=101), "audit = 101 is impossible"),
        (lambda: cutoff_radius(100, 0.05, 0.5, "published", audit=10), "estimator = 'published' is not known here"),
        (lambda: cutoff_radius(100, 0.05, 0.5, share=1.1), "share = 1.1"),
        (lambda: cutoff_lower(100, 0.05, votes=101), "votes = 101"),
        (lambda: smallest_n(0.0), "alpha = 0.0"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message.replace(".", r"\.")):
            call()


def test_all_public_names_exist() -> None:
    assert all(hasattr(bounds, name) for name in bounds.__all__)

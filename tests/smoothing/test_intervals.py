"""Bounds on a single count, against exact arithmetic and SciPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from srs_core.smoothing.intervals import (
    TIE,
    clopper_pearson_lower,
    clopper_pearson_upper,
    mismatch_upper,
    predict_abstains,
    top_two_p_value,
    unseen_tail,
)

unhurried = settings(deadline=None)  # a busy machine is no failure

ALPHAS = st.sampled_from([1e-12, 0.001, 0.05, 0.3, 0.5, 0.9])


@st.composite
def successes_and_trials(draw: st.DrawFn, most: int = 2000) -> tuple[int, int]:
    trials = draw(st.integers(1, most))
    return draw(st.integers(0, trials)), trials


@st.composite
def audits(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int]:
    population = draw(st.integers(0, most))
    audited = draw(st.integers(0, population))
    return population, audited, draw(st.integers(0, audited))


def exact_tail(population: int, mismatches: int, audited: int, found: int) -> Fraction:
    """P(an audit finds at most `found`), in exact arithmetic."""
    ways = sum(
        math.comb(mismatches, i) * math.comb(population - mismatches, audited - i)
        for i in range(min(found, audited) + 1)
    )
    return Fraction(ways, math.comb(population, audited))


def exact_binomial_tail(successes: int, trials: int, p: Fraction) -> Fraction:
    """P(Binomial(trials, p) >= successes), in exact arithmetic."""
    return sum(
        (math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(successes, trials + 1)), Fraction(0)
    )


@unhurried
@given(successes_and_trials(), st.sampled_from([0.001, 0.05, 0.3, 0.45]))
def test_clopper_pearson_agrees_with_scipy(counts: tuple[int, int], alpha: float) -> None:
    successes, trials = counts
    test = stats.binomtest(successes, trials, alternative="greater")
    expected = test.proportion_ci(confidence_level=1 - alpha, method="exact").low
    assert clopper_pearson_lower(successes, trials, alpha) == pytest.approx(expected, rel=1e-9)
    test = stats.binomtest(successes, trials, alternative="less")
    expected = test.proportion_ci(confidence_level=1 - alpha, method="exact").high
    assert clopper_pearson_upper(successes, trials, alpha) == pytest.approx(expected, rel=1e-9)


@unhurried
@given(successes_and_trials(most=60), st.sampled_from([1e-50, 1e-12, 0.001, 0.05, 0.5, 0.9]))
def test_clopper_pearson_is_never_above_the_exact_bound_and_hardly_below(counts: tuple[int, int], alpha: float) -> None:
    successes, trials = counts
    bound = Fraction(clopper_pearson_lower(successes, trials, alpha))
    if successes == 0:
        assert bound == 0
        return
    # The true bound p solves tail(p) = alpha, and the tail rises with p.
    assert exact_binomial_tail(successes, trials, bound) <= Fraction(alpha)
    assert exact_binomial_tail(successes, trials, bound * (1 + Fraction(1, 10**12))) > Fraction(alpha)


def test_clopper_pearson_known_answers() -> None:
    assert clopper_pearson_lower(8000, 10_000, 0.001) == pytest.approx(0.787389, abs=1e-6)
    assert clopper_pearson_lower(10_000, 10_000, 0.001) == pytest.approx(0.999309, abs=1e-6)
    assert clopper_pearson_lower(1, 1, 0.05) == pytest.approx(0.05)
    assert clopper_pearson_upper(0, 1, 0.05) == pytest.approx(0.95)
    assert clopper_pearson_lower(0, 10, 0.05) == 0.0
    assert clopper_pearson_upper(10, 10, 0.05) == 1.0
    assert clopper_pearson_lower(0, 0, 0.05) == 0.0
    assert clopper_pearson_upper(0, 0, 0.05) == 1.0


@unhurried
@given(successes_and_trials(), ALPHAS)
def test_clopper_pearson_is_monotone(counts: tuple[int, int], alpha: float) -> None:
    successes, trials = counts
    bound = clopper_pearson_lower(successes, trials, alpha)
    assert clopper_pearson_lower(successes + 1, trials + 1, alpha) > bound
    assert clopper_pearson_lower(successes, trials + 1, alpha) <= bound
    assert clopper_pearson_lower(successes, trials, alpha / 2) <= bound
    if successes:
        assert clopper_pearson_lower(successes - 0.5, trials, alpha) < bound


@unhurried
@given(audits())
def test_the_tail_of_every_audit_is_exact(audit: tuple[int, int, int]) -> None:
    population, audited, mismatched = audit
    tail = unseen_tail(population, audited, mismatched)
    exact = [
        float(exact_tail(population, mismatched + j, audited, mismatched)) for j in range(population - audited + 1)
    ]
    np.testing.assert_allclose(tail, exact, rtol=1e-12)


@pytest.mark.parametrize(
    ("population", "audited", "mismatched"), [(9500, 1000, 20), (3940, 394, 388), (100_000, 900, 3)]
)
def test_the_tail_of_large_audits_agrees_with_scipy(population: int, audited: int, mismatched: int) -> None:
    tail = unseen_tail(population, audited, mismatched)
    j = np.linspace(0, population - audited, 40).astype(int)
    expected = stats.hypergeom.cdf(mismatched, population, mismatched + j, audited)
    np.testing.assert_allclose(tail[j], expected, rtol=1e-8, atol=1e-250)


@pytest.mark.parametrize(
    ("audit", "bound"),
    [
        ((9500, 1000, 20), 361),
        ((10_000, 1000, 0), 71),
        ((6100, 610, 12), 270),
        ((50, 50, 3), 3),
        ((300, 30, 30), 300),
        ((0, 0, 0), 0),
        ((7, 0, 0), 7),
        ((1, 1, 1), 1),
        ((1, 1, 0), 0),
    ],
)
def test_mismatch_upper_known_answers(audit: tuple[int, int, int], bound: int) -> None:
    assert mismatch_upper(*audit, 0.0005) == bound


@unhurried
@given(audits(), st.sampled_from([1e-6, 0.0005, 0.05, 0.2, 0.5]))
def test_mismatch_upper_is_the_largest_possible_number(audit: tuple[int, int, int], alpha: float) -> None:
    population, audited, mismatched = audit
    bound = mismatch_upper(population, audited, mismatched, alpha)
    assert mismatched <= bound <= population - audited + mismatched
    # At the bound the finding is possible (up to a tie), beyond it is not.
    assert exact_tail(population, bound, audited, mismatched) >= Fraction(alpha) * (1 - 2 * Fraction(TIE))
    if bound < population - audited + mismatched:
        assert exact_tail(population, bound + 1, audited, mismatched) <= Fraction(alpha)


def test_a_tie_counts_as_possible() -> None:
    # One mismatch among 20, 19 audited, none found: chance 1/20, which as a float is not above 0.05.
    assert mismatch_upper(20, 19, 0, 0.05) == 1


@unhurried
@given(st.integers(0, 3000), st.integers(0, 3000), ALPHAS)
def test_the_top_two_test_agrees_with_scipy(first: int, second: int, alpha: float) -> None:
    expected = stats.binomtest(max(first, second), first + second, 0.5).pvalue if first + second else 1.0
    assert top_two_p_value(first, second) == pytest.approx(expected, rel=1e-9)
    assert top_two_p_value(first, second) == top_two_p_value(second, first)
    assert predict_abstains(first, second, alpha) == (top_two_p_value(first, second) > alpha)


def test_predict_abstains_on_a_tie_and_not_on_a_landslide() -> None:
    assert predict_abstains(50, 50, 0.001)
    assert predict_abstains(0, 0, 0.001)
    assert predict_abstains(10, 0, 0.001)  # 2 * 2^-10 is just too much
    assert not predict_abstains(11, 0, 0.001)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, math.nan, 1e-60])
def test_an_impossible_alpha_is_refused(alpha: float) -> None:
    for call in (
        lambda: clopper_pearson_lower(1, 2, alpha),
        lambda: clopper_pearson_upper(1, 2, alpha),
        lambda: mismatch_upper(3, 2, 1, alpha),
        lambda: predict_abstains(5, 1, alpha),
    ):
        with pytest.raises(ValueError, match=r"alpha = .* is not a usable error probability"):
            call()


def test_impossible_counts_are_refused_by_name() -> None:
    for bound in (clopper_pearson_lower, clopper_pearson_upper):
        with pytest.raises(ValueError, match="3 successes in 2 trials are impossible"):
            bound(3, 2, 0.05)
        with pytest.raises(ValueError, match="nan successes"):
            bound(math.nan, 2, 0.05)
    with pytest.raises(ValueError, match="audited = 11 is impossible: it must be from 0 to the population = 10"):
        mismatch_upper(10, 11, 0, 0.05)
    with pytest.raises(ValueError, match="mismatched = 4 is impossible"):
        mismatch_upper(10, 3, 4, 0.05)
    with pytest.raises(ValueError, match="population = -1 is impossible"):
        mismatch_upper(-1, 0, 0, 0.05)
    with pytest.raises(ValueError, match=r"audited = 2\.5 is not a whole number"):
        mismatch_upper(10, 2.5, 0, 0.05)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="second = -1"):
        top_two_p_value(3, -1)


def test_numpy_counts_are_counts() -> None:
    assert mismatch_upper(np.int64(50), np.int32(50), np.int64(3), 0.0005) == 3  # type: ignore[arg-type]

"""Bounds valid at any time: the looks, their price, and the sequential answer."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from srs_core.smoothing.anytime import Answer, AnytimeBound, Look, look_schedule, robust_at
from srs_core.smoothing.bounds import (
    certified_radius,
    clopper_pearson_lower,
    clopper_pearson_upper,
    exact_lower,
    joint_lower,
    joint_upper,
)

unhurried = settings(deadline=None)  # a busy machine is no failure


def test_the_looks_of_ten_thousand_draws() -> None:
    schedule = look_schedule(10_000, 0.001)
    assert [look.n for look in schedule] == [100, 200, 400, 800, 1600, 3200, 6400, 10_000]
    assert [look.alpha for look in schedule] == pytest.approx([0.0005 / 7] * 7 + [0.0005])


@unhurried
@given(st.integers(1, 10**7), st.floats(1e-6, 0.99))
def test_the_looks_share_alpha_and_end_with_n(n: int, alpha: float) -> None:
    schedule = look_schedule(n, alpha)
    sizes = [look.n for look in schedule]
    assert sizes[-1] == n
    assert sizes == sorted(set(sizes))
    assert sum(look.alpha for look in schedule) == pytest.approx(alpha)
    assert schedule[-1].alpha >= alpha / 2


def test_a_short_run_has_one_look_with_all_of_alpha() -> None:
    assert look_schedule(100, 0.05) == (Look(100, 0.05),)
    assert [look.n for look in look_schedule(101, 0.05)] == [100, 101]


def test_each_look_spends_its_own_share_and_the_best_stays() -> None:
    bound = AnytimeBound(400, 0.05)
    assert (bound.lower, bound.upper) == (0.0, 1.0)
    assert bound.next_look == Look(100, 0.0125)
    first = bound.look_votes(100, 95)
    assert first == (100, clopper_pearson_lower(95, 100, 0.0125), clopper_pearson_upper(95, 100, 0.0125))
    second = bound.look_votes(200, 100)
    assert second.lower == first.lower  # the second look is worse, and the first stays valid
    assert second.upper == clopper_pearson_upper(100, 200, 0.0125) < first.upper
    last = bound.look_votes(400, 390)
    assert last.lower == clopper_pearson_lower(390, 400, 0.025)
    assert last.upper == second.upper
    assert bound.next_look is None
    assert bound.history == [first, second, last]


def test_an_audited_look_is_the_joint_bound() -> None:
    bound = AnytimeBound(300, 0.05)
    counts = (90, 100, 30, 1, 5, 1)
    votes, n, *audit = counts
    best = bound.look_audited(n, votes, *audit)
    assert best.lower == joint_lower(*counts, 0.0125)
    assert best.upper == joint_upper(*counts, 0.0125)


def test_any_estimator_can_report_a_look() -> None:
    bound = AnytimeBound(100, 0.05)
    best = bound.look(100, lambda alpha: exact_lower(90, 100, 30, 1, 1, alpha))
    assert best == (100, exact_lower(90, 100, 30, 1, 1, 0.05), 1.0)


def test_a_look_may_be_left_out_but_not_repeated_or_invented() -> None:
    bound = AnytimeBound(400, 0.05)
    bound.look_votes(200, 150)
    for n in (100, 200, 300):
        with pytest.raises(ValueError, match=f"n = {n} is not a look to report now; those to come are: 400"):
            bound.look_votes(n, 50)
    bound.look_votes(400, 300)
    with pytest.raises(ValueError, match="none, the last has been reported"):
        bound.look_votes(400, 300)


@pytest.mark.parametrize("share", [0.55, 0.7, 0.8, 0.9, 0.99])
def test_the_price_of_watching_is_small(share: float) -> None:
    votes = round(share * 10_000)
    bound = AnytimeBound(10_000, 0.001)
    for look in bound.schedule:
        bound.look_votes(look.n, math.floor(share * look.n))
    price = certified_radius(clopper_pearson_lower(votes, 10_000, 0.001), 0.5) - certified_radius(bound.lower, 0.5)
    assert 0.001 <= price <= 0.014


def test_answers_are_yes_no_or_undecided() -> None:
    # Phi(0.25 / 0.5) = 0.691
    def answer(*votes: int) -> Answer:
        bound = AnytimeBound(400, 0.05)
        for look, count in zip(bound.schedule, votes, strict=False):
            bound.look_votes(look.n, count)
        return robust_at(bound, 0.25, 0.5)

    assert answer() == Answer.UNDECIDED
    assert answer(70) == Answer.UNDECIDED
    assert answer(95) == Answer.YES
    assert answer(40) == Answer.NO
    assert answer(70, 180) == Answer.YES
    assert answer(70, 140, 280) == Answer.UNDECIDED
    # The first answer stands, whatever a run that went on would have seen.
    assert answer(95, 100, 100) == Answer.YES
    assert answer(40, 140, 340) == Answer.NO


def test_robust_at_zero_asks_for_a_majority() -> None:
    bound = AnytimeBound(100, 0.05)
    bound.look_votes(100, 60)
    assert robust_at(bound, 0.0, 0.5) == Answer.YES
    assert robust_at(bound, 0.1, 0.5) == Answer.UNDECIDED
    assert robust_at(bound, 1e9, 0.5) == Answer.NO


def test_impossible_questions_are_refused() -> None:
    bound = AnytimeBound(100, 0.05)
    with pytest.raises(ValueError, match="radius = -1"):
        robust_at(bound, -1, 0.5)
    with pytest.raises(ValueError, match="sigma = 0"):
        robust_at(bound, 0.5, 0)
    with pytest.raises(ValueError, match="n = 0 is impossible"):
        AnytimeBound(0, 0.05)
    with pytest.raises(ValueError, match="alpha = 2"):
        AnytimeBound(100, 2)
    with pytest.raises(ValueError, match="101 successes in 100 trials"):
        bound.look_votes(100, 101)
    assert bound.history == []


RUNS, N, ALPHA = 2000, 1600, 0.05
# A scheme that errs with chance exactly alpha passes this count with probability 1e-6 a test.
MOST_WRONG = stats.binom.isf(1e-6, RUNS, ALPHA)


@pytest.mark.parametrize("p_a", [0.5, 0.6, 0.8, 0.95, 0.999])
def test_watched_bounds_are_wrong_at_any_look_with_chance_alpha_at_most(p_a: float) -> None:
    rng = np.random.default_rng(4)
    schedule = look_schedule(N, ALPHA)
    steps = np.diff([0, *(look.n for look in schedule)])
    votes = np.cumsum(rng.binomial(steps, p_a, (RUNS, len(steps))), axis=1)
    too_high = too_low = naive = np.zeros(RUNS, bool)
    for (n, alpha), count in zip(schedule, votes.T, strict=True):
        lower = np.array([clopper_pearson_lower(k, n, alpha) for k in range(n + 1)])
        upper = np.array([clopper_pearson_upper(k, n, alpha) for k in range(n + 1)])
        unshared = np.array([clopper_pearson_lower(k, n, ALPHA) for k in range(n + 1)])
        too_high = too_high | (lower[count] > p_a)
        too_low = too_low | (upper[count] < p_a)
        naive = naive | (unshared[count] > p_a)
    assert too_high.sum() <= MOST_WRONG
    assert too_low.sum() <= MOST_WRONG
    # The test can fail: looking again and again with all of alpha does.
    assert p_a == 0.999 or naive.sum() > MOST_WRONG


@pytest.mark.parametrize("p_a", [0.6, 0.68, 0.71, 0.8])
def test_the_sequential_answer_is_wrong_with_chance_alpha_at_most(p_a: float) -> None:
    radius, sigma = 0.25, 0.5
    truth = Answer.YES if p_a > stats.norm.cdf(radius / sigma) else Answer.NO
    rng = np.random.default_rng(5)
    runs, n = 300, 400
    answers = []
    for _ in range(runs):
        bound = AnytimeBound(n, ALPHA)
        standard = rng.random(n) < p_a
        proxy = standard | (rng.random(n) < 0.05)
        audited = rng.random(n) < 0.5  # coins
        for look in bound.schedule:
            y, v, a = standard[: look.n], proxy[: look.n], audited[: look.n]
            counts = (v.sum(), (v & a).sum(), (v & a & ~y).sum(), (~v & a).sum(), (~v & a & y).sum())
            bound.look_audited(look.n, *counts)
            if robust_at(bound, radius, sigma) != Answer.UNDECIDED:
                break
        answers.append(robust_at(bound, radius, sigma))
    wrong = sum(answer not in (truth, Answer.UNDECIDED) for answer in answers)
    # False alarm: 1e-6 for a test that errs with chance exactly alpha.
    assert wrong <= stats.binom.isf(1e-6, runs, ALPHA)
    if p_a in (0.6, 0.8):  # far from the border it mostly answers
        assert answers.count(truth) > 0.8 * runs

"""Do the bounds hold? Against every conceivable proxy on small runs, and against hard chains by simulation."""

import functools
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from srs_core.smoothing.bounds import (
    clopper_pearson_lower,
    exact_lower,
    joint_lower,
    joint_upper,
    paper_lower,
    published_lower,
)


class Counts(NamedTuple):
    """What an audited run saw."""

    votes: int
    n: int
    audited: int
    mismatched: int
    audited_others: int
    recovered: int


Estimator = Callable[[Counts, float], float]


def by_paper(c: Counts, alpha: float) -> float:
    return paper_lower(c.votes, c.n, c.audited, c.mismatched, alpha)


def by_exact(c: Counts, alpha: float) -> float:
    return exact_lower(c.votes, c.n, c.audited, c.mismatched, c.recovered, alpha)


def by_joint(c: Counts, alpha: float) -> float:
    return joint_lower(*c, alpha)


def by_joint_for_the_rest(c: Counts, alpha: float) -> float:
    """What `joint_upper` says of 1 - p_A, where c is called the rest: a lower bound again."""
    mirrored = Counts(c.n - c.votes, c.n, c.audited_others, c.recovered, c.audited, c.mismatched)
    return 1.0 - joint_upper(*mirrored, alpha)


def by_published(c: Counts, alpha: float) -> float:
    return published_lower(c.votes, c.n, c.audited, c.mismatched, alpha)


SOUND = {"paper": by_paper, "exact": by_exact, "joint": by_joint, "upper": by_joint_for_the_rest}
sound = pytest.mark.parametrize("estimator", SOUND.values(), ids=SOUND.keys())


# Exactly, on small runs ----------------------------------------------------------------------------------------


def worst_error(estimator: Estimator, n: int, audit: int, alpha: float) -> float:
    """The largest chance, over p_A and over every proxy, that the bound is above p_A; no simulation.

    A proxy may know all standard labels and all of the noise, and so choose, for each number B of labels c,
    how many of the others to call c and how many of the c to miss. Only the audit is out of its hands.
    """
    outcomes: list[tuple[int, NDArray[np.float64], NDArray[np.float64]]] = []
    for hits in range(n + 1):
        for false, missed in itertools.product(range(n - hits + 1), range(hits + 1)):
            cells = (hits - missed, false, missed, n - hits - false)
            bounds, chances = [], []
            for seen in itertools.product(*(range(min(cell, audit) + 1) for cell in cells[:3])):
                rest = audit - sum(seen)
                if not 0 <= rest <= cells[3]:
                    continue
                draw = (*seen, rest)
                chances.append(math.prod(map(math.comb, cells, draw)) / math.comb(n, audit))
                counts = Counts(hits - missed + false, n, draw[0] + draw[1], draw[1], draw[2] + draw[3], draw[2])
                bounds.append(estimator(counts, alpha))
            outcomes.append((hits, np.array(bounds), np.array(chances)))
    worst = 0.0
    # The chance of an error is largest just below a value that the bound can take.
    for p_a in np.unique(np.concatenate([bounds for _, bounds, _ in outcomes])) - 1e-9:
        errors = np.zeros(n + 1)
        for hits, bounds, chances in outcomes:
            errors[hits] = max(errors[hits], chances[bounds > p_a].sum())
        if 0.0 < p_a < 1.0:
            worst = max(worst, float(errors @ stats.binom.pmf(np.arange(n + 1), n, p_a)))
    return worst


SMALL_RUNS = [(1, 1), (4, 2), (7, 0), (7, 3), (9, 7)]


@sound
@pytest.mark.parametrize(("n", "audit"), SMALL_RUNS)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_no_proxy_makes_a_sound_bound_err_more_than_alpha(
    estimator: Estimator, n: int, audit: int, alpha: float
) -> None:
    assert worst_error(functools.cache(estimator), n, audit, alpha) <= alpha


def test_the_worst_proxy_breaks_the_published_formula() -> None:
    alpha = 0.3
    assert worst_error(functools.cache(by_published), 9, 7, alpha) > 1.5 * alpha


@pytest.mark.parametrize("trials", [1, 5, 40])
def test_clopper_pearson_errs_at_most_alpha_and_nearly_so_at_worst(trials: int) -> None:
    alpha = 0.05
    bounds = np.array([clopper_pearson_lower(k, trials, alpha) for k in range(trials + 1)])
    errors = [
        stats.binom.pmf(np.arange(trials + 1), trials, p_a)[bounds > p_a].sum() for p_a in bounds[bounds > 0] - 1e-12
    ]
    assert max(errors) <= alpha
    assert max(errors) > alpha - 1e-6


# By simulation, on chains --------------------------------------------------------------------------------------

RUNS, N, AUDIT, ALPHA = 400, 400, 100, 0.05
# Tolerance: an estimator that errs with chance exactly alpha passes this count with probability 1e-6, so the
# some 200 comparisons below raise a false alarm with probability 2e-4 at most (and none, with these seeds).
MOST_WRONG = int(stats.binom.isf(1e-6, RUNS, ALPHA))

CHANCES = [0.5, 0.6, 0.8, 0.95, 0.999]
MISMATCHES = [0.02, 0.1, 0.3]
Labels = NDArray[np.bool_]


def stuck_anywhere(rng: np.random.Generator, share: float) -> Labels:
    """Positions where the proxy is stuck, each on its own."""
    return rng.random((RUNS, N)) < share


def stuck_in_bursts(rng: np.random.Generator, share: float) -> Labels:
    """Bursts of fifty positions on average: neighbours are strongly correlated."""
    leave = 1 / 50
    enter = min(1.0, leave * share / max(1 - share, 1e-12))
    stuck = np.empty((RUNS, N), bool)
    stuck[:, 0] = rng.random(RUNS) < share
    for i in range(1, N):
        stuck[:, i] = rng.random(RUNS) < np.where(stuck[:, i - 1], 1 - leave * (share < 1), enter)
    return stuck


def stuck_later(rng: np.random.Generator, share: float) -> Labels:
    """Never in the first quarter, then more and more: the chain drifts away."""
    ramp = np.clip(np.linspace(-1 / 3, 1, N), 0, None)
    ramp = np.minimum(1.0, ramp * (share / ramp.mean()))
    return rng.random((RUNS, N)) < ramp


CHAINS = {"anywhere": stuck_anywhere, "bursts": stuck_in_bursts, "drift": stuck_later}


def chain_of_votes(chain: str, p_a: float, mismatch: float, seed: int) -> tuple[Labels, Labels]:
    """Standard labels (is it c?) and a proxy's votes, which say c wherever it is stuck.

    `mismatch` of all votes are wrong, or all that can be: mistaking everything for c is the most harmful way.
    """
    rng = np.random.default_rng(seed)
    standard = rng.random((RUNS, N)) < p_a
    share = min(1.0, mismatch / (1 - p_a))
    return standard, standard | CHAINS[chain](rng, share)


def copying_chain(p_a: float, lag: float, seed: int) -> tuple[Labels, Labels]:
    """A proxy that repeats its previous vote with probability `lag`; with 1, all votes copy the first."""
    rng = np.random.default_rng(seed)
    standard = rng.random((RUNS, N)) < p_a
    votes = standard.copy()
    for i in range(1, N):
        votes[:, i] = np.where(rng.random(RUNS) < lag, votes[:, i - 1], standard[:, i])
    return standard, votes


def random_audit(seed: int) -> Labels:
    """Exactly AUDIT positions of each run, uniformly, by a generator of its own."""
    order = np.random.default_rng([seed, 1]).random((RUNS, N)).argsort(axis=1)
    return order < AUDIT


def early_audit() -> Labels:
    """The first positions of each run."""
    return np.broadcast_to(np.arange(N) < AUDIT, (RUNS, N))


@functools.cache
def bound_of(estimator: Estimator, counts: Counts) -> float:
    return estimator(counts, ALPHA)


def false_claims(estimator: Estimator, standard: Labels, votes: Labels, audit: Labels, p_a: float) -> int:
    """How many of the runs claim more than p_A."""
    columns = (
        votes.sum(1),
        np.full(RUNS, N),
        (votes & audit).sum(1),
        (votes & audit & ~standard).sum(1),
        (~votes & audit).sum(1),
        (~votes & audit & standard).sum(1),
    )
    return sum(bound_of(estimator, Counts(*map(int, row))) > p_a for row in zip(*columns, strict=True))


@sound
@pytest.mark.parametrize("p_a", CHANCES)
def test_sound_bounds_hold_on_every_chain(estimator: Estimator, p_a: float) -> None:
    claims = {}
    for seed, (chain, mismatch) in enumerate([("anywhere", 0.0), *itertools.product(CHAINS, MISMATCHES)]):
        standard, votes = chain_of_votes(chain, p_a, mismatch, seed)
        claims[chain, mismatch] = false_claims(estimator, standard, votes, random_audit(seed), p_a)
    assert max(claims.values()) <= MOST_WRONG, claims


@sound
@pytest.mark.parametrize("p_a", CHANCES)
@pytest.mark.parametrize("lag", [0.5, 0.99, 1.0])
def test_sound_bounds_hold_when_votes_copy_each_other(estimator: Estimator, p_a: float, lag: float) -> None:
    standard, votes = copying_chain(p_a, lag, seed=7)
    assert false_claims(estimator, standard, votes, random_audit(7), p_a) <= MOST_WRONG


def test_votes_that_all_copy_the_first_fool_whoever_does_not_audit() -> None:
    # Plain smoothing takes copies for independent votes; the audit above does not.
    _, votes = copying_chain(0.6, 1.0, seed=7)
    claims = sum(clopper_pearson_lower(int(count), N, ALPHA) > 0.6 for count in votes.sum(1))
    assert 0.5 * RUNS < claims < 0.7 * RUNS


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize(("p_a", "mismatch"), [(0.5, 0.1), (0.6, 0.3), (0.8, 0.1), (0.95, 0.1)])
def test_the_published_formula_fails_the_same_test(chain: str, p_a: float, mismatch: float) -> None:
    standard, votes = chain_of_votes(chain, p_a, mismatch, seed=3)
    claims = false_claims(by_published, standard, votes, random_audit(3), p_a)
    assert claims > max(MOST_WRONG, RUNS // 3)


@pytest.mark.parametrize("estimator", [by_paper, by_exact, by_joint, by_published])
def test_an_audit_of_the_first_batches_fails_under_drift(estimator: Estimator) -> None:
    p_a = 0.6
    standard, votes = chain_of_votes("drift", p_a, 0.3, seed=3)
    assert false_claims(estimator, standard, votes, early_audit(), p_a) > 0.9 * RUNS

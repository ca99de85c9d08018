"""Exact confidence bounds for one count: of a binomial, or of an audited finite population.

Every bound here is rounded to its safe side: floating-point error can make a lower bound smaller by about
one part in 10^13, never larger.
"""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

MIN_ALPHA = 1e-50
"""The smallest alpha whose quantiles SciPy still inverts to full precision."""

TIE = 1e-9
"""Probabilities this close to a limit, in proportion, count as being on its cautious side."""

_ROUND_DOWN = 1.0 - 1e-13


def check_alpha(alpha: float) -> float:
    """Return alpha, or refuse one that is no probability of error."""
    if not MIN_ALPHA <= alpha < 1.0:
        raise ValueError(
            f"alpha = {alpha} is not a usable error probability: give a number from {MIN_ALPHA:g} up to, "
            "but not including, 1, such as 0.001."
        )
    return float(alpha)


def check_count(name: str, value: int, largest: int, limit: str) -> int:
    """Return a count as an int, or refuse one that is not a whole number from 0 to `largest`."""
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} = {value!r} is not a whole number: give a count.") from None
    if not 0 <= count <= largest:
        raise ValueError(f"{name} = {count} is impossible: it must be from 0 to {limit} = {largest}.")
    return count


def check_size(name: str, value: int) -> int:
    """Return a sample size as an int, or refuse one that is not a positive whole number."""
    try:
        size = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} = {value!r} is not a whole number: give a sample size.") from None
    if size < 1:
        raise ValueError(f"{name} = {size} is impossible: at least one sample is needed.")
    return size


def binomial_lower(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> NDArray[np.float64]:
    """Clopper-Pearson lower bounds of whole arrays, unchecked; counts may be fractional."""
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    # The inverse is undefined without a success; 1 stands in there and the bound is 0.
    bound = special.betaincinv(np.where(k > 0, k, 1.0), n - k + 1.0, np.asarray(alpha, float))
    return np.where(k > 0, bound * _ROUND_DOWN, 0.0)


def clopper_pearson_lower(successes: float, trials: float, alpha: float) -> float:
    """Return a probability that the true one exceeds with confidence 1 - alpha, given independent trials.

    For successes ~ Binomial(trials, p): P(bound > p) <= alpha, whatever p is (the exact one-sided bound of
    Clopper and Pearson, LCB in the formulas). Fractional successes interpolate, monotonically, between the
    whole ones. No trials, or no successes, give 0.
    """
    _check_trials(successes, trials, alpha)
    return float(binomial_lower(successes, trials, alpha))


def clopper_pearson_upper(successes: float, trials: float, alpha: float) -> float:
    """Return a probability that the true one stays below with confidence 1 - alpha, given independent trials.

    It is the lower bound for the failures, mirrored: P(bound < p) <= alpha. Together with the lower bound at
    the same alpha it encloses p with confidence 1 - 2 alpha.
    """
    _check_trials(successes, trials, alpha)
    return 1.0 - float(binomial_lower(trials - successes, trials, alpha))


def _check_trials(successes: float, trials: float, alpha: float) -> None:
    check_alpha(alpha)
    if not 0 <= successes <= trials < np.inf:
        raise ValueError(f"{successes} successes in {trials} trials are impossible: successes go from 0 to the trials.")


def unseen_tail(population: int, audited: int, mismatched: int) -> NDArray[np.float64]:
    """For j = 0, 1, ...: the chance that an audit finds so few, if j mismatches were missed.

    Entry j is P(Hypergeometric(population, mismatched + j, audited) <= mismatched), for j up to
    population - audited; entry 0 is 1 and the entries never rise.
    """
    unseen = population - audited
    if mismatched == audited:
        return np.ones(unseen + 1)
    # Number the population with its mismatches first. At most h of the first M are audited exactly if the
    # (h+1)-th audited number is beyond M; so all entries are one survival function, of that order statistic,
    # whose probabilities follow from each other by these ratios.
    i = np.arange(unseen, dtype=float)
    steps = np.log((mismatched + 1 + i) / (i + 1) * ((unseen - i) / (population - mismatched - 1 - i)))
    mode = int(np.count_nonzero(steps > 0))  # the probabilities rise up to it, then fall
    log_weights = np.zeros(unseen + 1)
    log_weights[mode + 1 :] = np.cumsum(steps[mode:])
    log_weights[:mode] = -np.cumsum(steps[:mode][::-1])[::-1]
    tail: NDArray[np.float64] = np.cumsum(np.exp(log_weights)[::-1])[::-1]
    tail /= tail[0]
    return tail


def mismatch_upper(population: int, audited: int, mismatched: int, alpha: float) -> int:
    """Return a number of mismatches that the population does not exceed, with confidence 1 - alpha.

    `audited` of the population were drawn uniformly without replacement and checked; `mismatched` of them were
    found wrong. The result is the largest M with P(Hypergeometric(population, M, audited) <= mismatched) >
    alpha, so P(true number > result) <= alpha, over the draw of the audit alone: how the mismatches came
    about, and how they depend on each other, does not matter. A tie within rounding counts as possible.
    """
    check_alpha(alpha)
    population = check_count("population", population, 2**53, "the largest exact count")
    audited = check_count("audited", audited, population, "the population")
    mismatched = check_count("mismatched", mismatched, audited, "the audited")
    possible = unseen_tail(population, audited, mismatched) > alpha * (1.0 - TIE)
    return mismatched + int(np.count_nonzero(possible)) - 1


def top_two_p_value(first: int, second: int) -> float:
    """Return how likely two equally likely classes would differ at least as much as these two counts do.

    It is the two-sided binomial test of first against second at probability one half.
    """
    first = check_count("first", first, 2**53, "the largest exact count")
    second = check_count("second", second, 2**53, "the largest exact count")
    larger = max(first, second)
    if 2 * larger == first + second:
        return 1.0
    return min(1.0, 2.0 * float(special.betainc(larger, min(first, second) + 1, 0.5)))


def predict_abstains(first: int, second: int, alpha: float) -> bool:
    """Say whether a smoothed prediction must abstain, given the votes of its two most voted classes.

    If it does not abstain, the most voted class is the smoothed classifier's own, except with probability
    alpha at most (Cohen et al. 2019, Proposition 2); the votes must be independent draws.
    """
    return top_two_p_value(first, second) > check_alpha(alpha)

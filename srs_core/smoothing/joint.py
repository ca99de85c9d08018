"""The joint estimator: the votes' and the audit's uncertainty in one test, so alpha is not split.

Why it holds, for any proxy. B, the number of standard labels equal to c, is Binomial(n, p_A); its p-value
P(Bin(n, p_A) >= B) is at least uniform. Given all labels, the audit of each group is hypergeometric, and the
p-value of finding so few mismatches is again at least uniform, whatever the labels are. One after the other,
then, the chance that the k p-values u fall together into a fixed lower set is at most the set's volume. The set
used is {sum of max(-Phi^-1(u_i), 0)^2 >= c_k}, and c_k makes its volume alpha. The bound is the least p_A for
which some number of unseen mismatches keeps the p-values out of the set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from srs_core.smoothing.intervals import TIE, binomial_lower, check_alpha, check_count, check_size, unseen_tail

TESTS = 3
"""The p-values of a certificate (k), declared beforehand: the votes, the votes' audit, the others' audit."""

_WIDEST = 4096
_SMALLEST_Q = 1e-300


@dataclass(frozen=True)
class AuditedGroup:
    """Pictures all assumed to be of class c, of which a uniform sample was audited."""

    population: int
    audited: int
    mismatched: int

    def __post_init__(self) -> None:
        check_count("population", self.population, 2**53, "the largest exact count")
        check_count("audited", self.audited, self.population, "the group's population")
        check_count("mismatched", self.mismatched, self.audited, "the group's audited")


@lru_cache(maxsize=256)
def critical_value(alpha: float, tests: int) -> float:
    """Return c_k: independent uniform p-values have a summed squared positive score above it with chance alpha.

    It solves sum over j = 1..k of C(k, j) 2^-k P(chi2_j >= c) = alpha, with k = tests.
    """
    check_alpha(alpha)
    tests = check_size("tests", tests)

    def excess(c: float) -> float:
        tails = (math.comb(tests, j) * float(special.chdtrc(j, c)) for j in range(1, tests + 1))
        return float(sum(tails)) * 0.5**tests / alpha - 1.0

    high = 1.0
    while excess(high) > 0.0:
        high *= 2.0
    if excess(0.0) <= 0.0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-13, rtol=1e-14))


def joint_bound(hits: int, n: int, groups: Sequence[AuditedGroup], alpha: float, tests: int) -> float:
    """Return a lower bound on p_A at confidence 1 - alpha from audited groups of any number.

    `hits` of the n standard labels would be c if no mismatch had been missed in any group; `tests` (k) is one
    for the votes and one for each group that could have come up, and is declared before the run. With no
    group and one test this is Clopper-Pearson. Some 4,000 candidate numbers of missed mismatches are tried
    in each group; where there are more, neighbours are taken together, to the safe side.
    """
    n = check_size("n", n)
    hits = check_count("hits", hits, n, "n")
    missable = sum(group.population - group.audited for group in groups)
    if missable > hits:
        raise ValueError(f"hits = {hits} is impossible: the {missable} unaudited pictures are counted in it.")
    if tests <= len(groups):
        raise ValueError(f"tests = {tests} is too few: {len(groups)} groups and the votes need more.")
    # A tie within rounding counts as possible: a larger limit only lowers the bound.
    limit = critical_value(check_alpha(alpha), tests) + TIE
    missed, cost = _least_costs(groups, limit)
    level = special.ndtr(-np.sqrt(np.maximum(limit - cost, 0.0)))
    return float(np.min(binomial_lower(hits - missed, n, level)))


def _least_costs(groups: Sequence[AuditedGroup], limit: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of missed mismatches worth trying, and the least cost of each, all below the limit."""
    free = 0
    pieces = []
    for group in groups:
        tail = unseen_tail(group.population, group.audited, group.mismatched)
        # Tails too small for a float get a cost that is too small: more stays possible.
        cost = np.maximum(-special.ndtri(np.maximum(tail, _SMALLEST_Q)), 0.0) ** 2
        # Costs never fall, so only the last free number and what lies between it and the limit can matter.
        first = int(np.searchsorted(cost, 0.0, side="right")) - 1
        last = int(np.searchsorted(cost, limit, side="left"))
        free += first
        pieces.append(cost[first:last])
    most = free + sum(len(piece) - 1 for piece in pieces)
    stride = max([1, *(-(-len(piece) // _WIDEST) for piece in pieces)])
    cost = np.zeros(1)
    for piece in pieces:
        cost = _min_plus(cost, piece[::stride])
    # A block of `stride` numbers has the cost of its first and the mismatches of its last.
    missed = free + stride * np.arange(len(cost)) + (stride - 1) * len(pieces)
    possible = cost < limit
    return np.minimum(missed, most)[possible], cost[possible]


def _min_plus(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least a[i] + b[m - i] for each m."""
    short, long = sorted((a, b), key=len)
    least = np.full(len(a) + len(b) - 1, np.inf)
    for shift, cost in enumerate(short):
        window = least[shift : shift + len(long)]
        np.minimum(window, long + cost, out=window)
    return least


def joint_lower(
    votes: int,
    n: int,
    audited: int,
    mismatched: int,
    audited_others: int,
    recovered: int,
    alpha: float,
    census: int = 0,
    census_hits: int = 0,
) -> float:
    """Return a lower bound on p_A from proxy votes and a random audit of all of them (estimator `joint`).

    P(bound > p_A) <= alpha, for p_A the chance that the standard model answers c under noise, whatever the
    proxy and however its answers depend on each other, provided that
    - the standard label of a noisy picture depends on that picture alone, and c was chosen from other draws;
    - the audited pictures are a uniform sample of the n outside the census (a fixed number without
      replacement, or independent coins), drawn independently of all results;
    - the census, audited in full, was chosen by the proxy's own outputs and before any audit result.

    Args:
        votes: proxy votes for c outside the census (N_A).
        n: all draws, those of the census included (N).
        audited: audited among the votes (n2).
        mismatched: of these, standard label not c (h).
        audited_others: audited among the draws outside the census that did not vote c (nB).
        recovered: of these, standard label c after all (g).
        alpha: the chance of a wrong bound.
        census: pictures audited in full.
        census_hits: of these, standard label c.
    """
    _check_counts(votes, n, audited, mismatched, audited_others, recovered, census, census_hits)
    others = n - census - votes
    rejected = audited_others - recovered
    groups = (AuditedGroup(votes, audited, mismatched), AuditedGroup(others, audited_others, rejected))
    hits = (votes - mismatched) + (others - rejected) + census_hits
    return joint_bound(hits, n, groups, alpha, TESTS)


def joint_upper(
    votes: int,
    n: int,
    audited: int,
    mismatched: int,
    audited_others: int,
    recovered: int,
    alpha: float,
    census: int = 0,
    census_hits: int = 0,
) -> float:
    """Return an upper bound on p_A from the same counts, with the same assumptions, as `joint_lower`.

    P(bound < p_A) <= alpha. It is `joint_lower` for the class "anything but c", mirrored: the standard label
    is not c with chance 1 - p_A, independently for each draw; the proxy's votes for that are the others, and an
    audited one is mismatched when it turns out to be c. Nothing in the argument asks c to be a single class.
    Together with the lower bound at the same alpha it encloses p_A with confidence 1 - 2 alpha.
    """
    _check_counts(votes, n, audited, mismatched, audited_others, recovered, census, census_hits)
    return 1.0 - joint_lower(
        votes=n - census - votes,
        n=n,
        audited=audited_others,
        mismatched=recovered,
        audited_others=audited,
        recovered=mismatched,
        alpha=alpha,
        census=census,
        census_hits=census - census_hits,
    )


def _check_counts(
    votes: int,
    n: int,
    audited: int,
    mismatched: int,
    audited_others: int,
    recovered: int,
    census: int,
    census_hits: int,
) -> None:
    n = check_size("n", n)
    check_count("census", census, n, "n")
    check_count("census_hits", census_hits, census, "census")
    check_count("votes", votes, n - census, "n - census")
    check_count("audited", audited, votes, "votes")
    check_count("mismatched", mismatched, audited, "audited")
    check_count("audited_others", audited_others, n - census - votes, "n - census - votes")
    check_count("recovered", recovered, audited_others, "audited_others")

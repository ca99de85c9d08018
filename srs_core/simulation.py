"""Certificates of an imagined model, in numbers only: what an audit sees, and how often a formula claims too much.

Everything that matters about a fast proxy is how its votes relate to the standard model's. Here that is given:
the standard model answers c with probability p_a, independently for each noisy picture; a share `mismatch` of the
proxy's votes for c is false, and for every two false votes one true one is lost.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srs_core.smoothing.bounds import (
    certified_radius,
    clopper_pearson_lower,
    exact_lower,
    joint_lower,
    paper_lower,
    published_lower,
)
from srs_core.smoothing.certificate import AuditCounts

__all__ = [
    "FORMULAS",
    "Cell",
    "ClaimTally",
    "Scenario",
    "SimulatedRun",
    "largest_mismatch",
    "radius_by",
    "simulate_claims",
    "simulate_run",
]

LOST_PER_FALSE = 0.5
CHUNK = 20

FORMULAS: dict[str, Callable[[AuditCounts, int, float], float]] = {
    "joint": lambda c, n, alpha: joint_lower(c.votes, n, c.audited, c.mismatched, c.audited_others, c.recovered, alpha),
    "exact": lambda c, n, alpha: exact_lower(c.votes, n, c.audited, c.mismatched, c.recovered, alpha),
    "paper": lambda c, n, alpha: paper_lower(c.votes, n, c.audited, c.mismatched, alpha),
    "published": lambda c, n, alpha: published_lower(c.votes, n, c.audited, c.mismatched, alpha),
}
"""From the audit's counts to a bound on p_A; `published` is what the published code computes, and bounds nothing."""


class Cell:
    """What became of a vote: four kinds, by what the proxy and the standard model say."""

    TRUE_VOTE, FALSE_VOTE, LOST_VOTE, OTHER = range(4)


@dataclass(frozen=True)
class Scenario:
    """An imagined run: n votes, `audit` of them checked, at confidence 1 - alpha.

    With `drift` mismatches grow along the chain, from none at its start to twice their average at its end.
    """

    p_a: float
    mismatch: float
    n: int = 10_000
    audit: int = 1_000
    alpha: float = 0.001
    drift: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.p_a < 1:
            raise ValueError(f"p_a is {self.p_a}; it must lie between 0 and 1, both excluded.")
        if not 0 <= self.mismatch < 1:
            raise ValueError(f"mismatch is {self.mismatch}; it must be at least 0 and below 1.")
        if not 1 <= self.audit <= self.n:
            raise ValueError(f"audit is {self.audit}; it must be from 1 to n = {self.n}, the number of votes.")

    def cell_probabilities(self) -> NDArray[np.float64]:
        """The chance of each kind of vote, [n, 4], by position in the chain."""
        place = 2 * (np.arange(self.n) + 0.5) / self.n if self.drift else np.ones(self.n)
        return cell_probabilities(self.p_a, self.mismatch * place)


def cell_probabilities(p_a: ArrayLike, mismatch: ArrayLike) -> NDArray[np.float64]:
    """The chance of a true, a false, a lost and any other vote, in a last axis of four.

    No more votes can be false than there are pictures of other classes, so a larger mismatch is cut off there.
    """
    p, m = np.broadcast_arrays(np.asarray(p_a, float), np.asarray(mismatch, float))
    # A share s of all votes goes to c, with s = p + false - lost, false = m s and lost = false / 2.
    false = np.minimum(m * p / (1 - m * (1 - LOST_PER_FALSE)), 1 - p)
    lost = LOST_PER_FALSE * false
    return np.stack([p - lost, false, lost, 1 - p - false], axis=-1)


def largest_mismatch(p_a: float) -> float:
    """The largest share of false votes for c that is possible when c is right with probability p_a."""
    false = 1 - p_a
    return false / (p_a + (1 - LOST_PER_FALSE) * false)


@dataclass(frozen=True)
class SimulatedRun:
    """One run: each vote's kind in order, and which votes were audited, at random or only the first ones."""

    cells: NDArray[np.int64]
    random_audit: NDArray[np.bool_]
    early_audit: NDArray[np.bool_]

    def counts(self, early: bool = False) -> AuditCounts:
        """What the audit found."""
        audited = self.early_audit if early else self.random_audit
        return _counts(np.bincount(self.cells, minlength=4), np.bincount(self.cells[audited], minlength=4))


def simulate_run(scenario: Scenario, seed: int = 0) -> SimulatedRun:
    """Draw one run, vote by vote."""
    generator = np.random.default_rng(seed)
    random_audit = np.zeros(scenario.n, dtype=bool)
    random_audit[generator.choice(scenario.n, scenario.audit, replace=False)] = True
    early_audit = np.arange(scenario.n) < scenario.audit
    return SimulatedRun(_draw(scenario, 1, generator)[0], random_audit, early_audit)


def radius_by(formula: str, counts: AuditCounts, n: int, alpha: float, sigma: float) -> float:
    """The radius that a formula would claim from these counts."""
    if formula not in FORMULAS:
        raise ValueError(f"formula is {formula!r}; choose one of {', '.join(FORMULAS)}.")
    return certified_radius(_bound(formula, counts, n, alpha), sigma)


@dataclass(frozen=True)
class ClaimTally:
    """After so many simulated runs: how often each formula, with each audit, claimed more than is true.

    Keys are (formula, early). `oracle` is plain smoothing with all n votes of the standard model.
    """

    runs: int
    false: dict[tuple[str, bool], int]
    oracle_false: int

    def share(self, formula: str, early: bool) -> float:
        """The share of false claims."""
        return self.false[formula, early] / self.runs


def simulate_claims(scenario: Scenario, runs: int, seed: int = 0) -> Iterator[ClaimTally]:
    """Simulate many certificates and count the false ones; the tally comes after every few runs.

    A claim is false when the bound is above the true p_a, which alpha allows in that share of runs at most.
    """
    generator = np.random.default_rng(seed)
    false = {(formula, early): 0 for formula in FORMULAS for early in (False, True)}
    oracle_false = 0
    for done in range(0, runs, CHUNK):
        size = min(CHUNK, runs - done)
        for cells in _draw(scenario, size, generator):
            totals = np.bincount(cells, minlength=4)
            early = np.bincount(cells[: scenario.audit], minlength=4)
            # A random audit of a run is fully described by how many of each kind it meets.
            random = generator.multivariate_hypergeometric(totals, scenario.audit)
            for is_early, audited in ((False, random), (True, early)):
                counts = _counts(totals, audited)
                for formula in FORMULAS:
                    false[formula, is_early] += _bound(formula, counts, scenario.n, scenario.alpha) > scenario.p_a
            standard = int(totals[Cell.TRUE_VOTE] + totals[Cell.LOST_VOTE])
            oracle_false += clopper_pearson_lower(standard, scenario.n, scenario.alpha) > scenario.p_a
        yield ClaimTally(done + size, dict(false), oracle_false)


def _draw(scenario: Scenario, runs: int, generator: np.random.Generator) -> NDArray[np.int64]:
    limits = scenario.cell_probabilities().cumsum(axis=1)
    chance = generator.random((runs, scenario.n))
    return sum((chance >= limits[:, cell]).astype(np.int64) for cell in range(3))  # type: ignore[return-value]


def _counts(totals: NDArray[np.int64], audited: NDArray[np.int64]) -> AuditCounts:
    return AuditCounts(
        votes=int(totals[Cell.TRUE_VOTE] + totals[Cell.FALSE_VOTE]),
        audited=int(audited[Cell.TRUE_VOTE] + audited[Cell.FALSE_VOTE]),
        mismatched=int(audited[Cell.FALSE_VOTE]),
        audited_others=int(audited[Cell.LOST_VOTE] + audited[Cell.OTHER]),
        recovered=int(audited[Cell.LOST_VOTE]),
    )


@lru_cache(maxsize=20_000)
def _bound(formula: str, counts: AuditCounts, n: int, alpha: float) -> float:
    return FORMULAS[formula](counts, n, alpha)

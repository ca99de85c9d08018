"""Who wins at equal cost: serialized smoothing with an audit, or plain smoothing with fewer votes?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srs_core.simulation import cell_probabilities, largest_mismatch, radius_by
from srs_core.smoothing.bounds import certified_radius, clopper_pearson_lower
from srs_core.smoothing.certificate import AuditCounts

__all__ = ["Budget", "EqualCost", "equal_cost", "equal_cost_map"]


@dataclass(frozen=True)
class Budget:
    """What a serialized run spends: n votes of `steps` evaluations of f and `audit` full solves."""

    n: int = 10_000
    audit: int = 1_000
    steps: int = 3
    reference_steps: int = 30

    @property
    def evaluations(self) -> int:
        """Evaluations of f, without selection and warm-up, which both methods need alike."""
        return self.n * self.steps + self.audit * self.reference_steps

    @property
    def plain_n(self) -> int:
        """How many votes plain smoothing gets for the same price."""
        return self.evaluations // self.reference_steps


@dataclass(frozen=True)
class EqualCost:
    """Typical radii for the same price."""

    serialized: float
    plain: float


def equal_cost(
    p_a: float, mismatch: float, budget: Budget, alpha: float, sigma: float, estimator: str = "joint"
) -> EqualCost:
    """The radii that both methods give when every count is what it is on average (see `simulation`)."""
    true, false, lost, _ = cell_probabilities(p_a, mismatch)
    audited = round(budget.audit * (true + false))
    counts = AuditCounts(
        votes=round(budget.n * (true + false)),
        audited=audited,
        mismatched=round(budget.audit * false),
        audited_others=budget.audit - audited,
        recovered=min(round(budget.audit * lost), budget.audit - audited),
    )
    plain = clopper_pearson_lower(round(p_a * budget.plain_n), budget.plain_n, alpha)
    return EqualCost(
        serialized=radius_by(estimator, counts, budget.n, alpha, sigma), plain=certified_radius(plain, sigma)
    )


def equal_cost_map(
    p_a: NDArray[np.float64],
    mismatch: NDArray[np.float64],
    budget: Budget,
    alpha: float,
    sigma: float,
    estimator: str = "joint",
) -> NDArray[np.float64]:
    """By how much serialized smoothing's radius is larger, [mismatches, shares]; NaN where that cannot be."""
    advantage = np.full((len(mismatch), len(p_a)), np.nan)
    for column, share in enumerate(p_a):
        for row, wrong in enumerate(mismatch):
            if wrong <= largest_mismatch(share):
                radii = equal_cost(float(share), float(wrong), budget, alpha, sigma, estimator)
                advantage[row, column] = radii.serialized - radii.plain
    return advantage

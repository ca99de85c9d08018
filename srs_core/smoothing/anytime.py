"""Bounds on p_A that hold at every look together, so that a run may be watched and stopped early.

Half of alpha is reserved for the full n; the looks at the first 100, 200, 400, ... draws share the other half
equally. Each look computes an ordinary bound on its own share of alpha; by the union bound the chance that any of
them is wrong is at most alpha, so the best bound so far is valid at all looks at once, whenever one stops.

An audited run must then audit by independent coins of one fixed probability, so that the audited positions
among the first n are a uniform sample of them, for every n.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from scipy import special

from srs_core.smoothing.intervals import check_alpha, check_size, clopper_pearson_lower, clopper_pearson_upper
from srs_core.smoothing.joint import joint_lower, joint_upper

__all__ = ["FIRST_LOOK", "Answer", "AnytimeBound", "Look", "Running", "look_schedule", "robust_at"]

FIRST_LOOK = 100


class Look(NamedTuple):
    """A moment at which a running certification may be judged, and its share of alpha."""

    n: int
    alpha: float


class Running(NamedTuple):
    """The best bounds on p_A after the first n draws: each holds, at all looks together, but for alpha."""

    n: int
    lower: float
    upper: float


class Answer(StrEnum):
    """What a sequential test says so far."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


def look_schedule(n: int, alpha: float) -> tuple[Look, ...]:
    """Return the looks of a run of n draws, the full n last; their alphas sum to alpha.

    A run of at most 100 draws has no early look, and its only look has all of alpha.
    """
    n = check_size("n", n)
    check_alpha(alpha)
    early = []
    size = FIRST_LOOK
    while size < n:
        early.append(size)
        size *= 2
    if not early:
        return (Look(n, alpha),)
    return (*(Look(size, alpha / 2 / len(early)) for size in early), Look(n, alpha / 2))


class AnytimeBound:
    """The best lower and upper bound on p_A so far, each valid at all looks together with confidence 1 - alpha.

    Report the counts of the first n draws at each n of `schedule`, in order; a look may be left out, which only
    wastes its share of alpha. `lower` and `upper` together enclose p_A with confidence 1 - 2 alpha.
    """

    def __init__(self, n: int, alpha: float) -> None:
        self.alpha = alpha
        self.schedule = look_schedule(n, alpha)
        self.history: list[Running] = []

    @property
    def lower(self) -> float:
        """The largest lower bound so far; 0 before the first look."""
        return self.history[-1].lower if self.history else 0.0

    @property
    def upper(self) -> float:
        """The smallest upper bound so far; 1 before the first look."""
        return self.history[-1].upper if self.history else 1.0

    @property
    def next_look(self) -> Look | None:
        """The next look to report, or None after the last."""
        seen = self.history[-1].n if self.history else 0
        return next((look for look in self.schedule if look.n > seen), None)

    def look(self, n: int, lower: Callable[[float], float], upper: Callable[[float], float] = lambda _: 1.0) -> Running:
        """Report a look by its bounds as functions of alpha, for any estimator that holds; return the best so far."""
        due = [look for look in self.schedule if look.n > (self.history[-1].n if self.history else 0)]
        share = next((look.alpha for look in due if look.n == n), None)
        if share is None:
            allowed = ", ".join(str(look.n) for look in due) or "none, the last has been reported"
            raise ValueError(f"n = {n} is not a look to report now; those to come are: {allowed}.")
        best = Running(n, max(self.lower, lower(share)), min(self.upper, upper(share)))
        self.history.append(best)
        return best

    def look_votes(self, n: int, votes: int) -> Running:
        """Report that the standard model itself voted c in `votes` of the first n draws (plain smoothing)."""
        return self.look(
            n,
            lambda share: clopper_pearson_lower(votes, n, share),
            lambda share: clopper_pearson_upper(votes, n, share),
        )

    def look_audited(
        self, n: int, votes: int, audited: int, mismatched: int, audited_others: int, recovered: int
    ) -> Running:
        """Report the first n draws of an audited proxy, with the counts of `joint_lower`; audited by coins."""
        counts = (votes, n, audited, mismatched, audited_others, recovered)
        return self.look(n, lambda share: joint_lower(*counts, share), lambda share: joint_upper(*counts, share))


def robust_at(bound: AnytimeBound, radius: float, sigma: float) -> Answer:
    """Answer "is it robust at this radius?" by the first look that could, with error probability at most alpha.

    YES: p_A > Phi(radius / sigma), so the smoothed standard model answers c on the whole ball. NO: p_A is below
    that, so no number of draws would certify this radius for c; an attack within it may or may not exist. Only
    one of the two can be wrong for a given picture, hence alpha is not halved.
    """
    if not radius >= 0.0:
        raise ValueError(f"radius = {radius} is not a radius: give 0 or a positive number.")
    if not 0.0 < sigma < float("inf"):
        raise ValueError(f"sigma = {sigma} is not a noise level: give a positive number.")
    needed = float(special.ndtr(radius / sigma))
    for _, lower, upper in bound.history:
        if lower > needed:
            return Answer.YES
        if upper < needed:
            return Answer.NO
    return Answer.UNDECIDED

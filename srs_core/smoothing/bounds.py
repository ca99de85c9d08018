"""The statistics of a certificate: from counts of votes to a lower bound on p_A, and from that to a radius.

p_A is the chance that the standard model answers class c on the noisy picture. `clopper_pearson_lower` serves
plain smoothing, where the standard model itself votes; `joint_lower` (the default), `exact_lower` and
`paper_lower` serve a fast proxy's votes, audited at random. Numbers only: nothing here knows a model.

All audited estimators ask the same of the run: the standard label of a noisy picture depends on that picture
alone; c was chosen from other draws; the audited positions were drawn uniformly over all positions and
independently of the results; and the audited picture is the one the proxy saw. They ask nothing of the proxy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal

from scipy import special

from srs_core.smoothing.intervals import (
    check_alpha,
    check_count,
    check_size,
    clopper_pearson_lower,
    clopper_pearson_upper,
    mismatch_upper,
    predict_abstains,
    top_two_p_value,
)
from srs_core.smoothing.joint import AuditedGroup, critical_value, joint_bound, joint_lower, joint_upper

__all__ = [
    "BOUNDS",
    "AuditedGroup",
    "certified_radius",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "critical_value",
    "cutoff_lower",
    "cutoff_radius",
    "exact_lower",
    "format_radius",
    "joint_bound",
    "joint_lower",
    "joint_upper",
    "mismatch_upper",
    "paper_lower",
    "predict_abstains",
    "published_lower",
    "smallest_audit",
    "smallest_n",
    "top_two_p_value",
]

BOUNDS = ("rs", "joint", "exact", "paper")
"""What `cutoff_radius` and its neighbours know: plain smoothing, and the estimators that hold."""


def paper_lower(votes: int, n: int, audited: int, mismatched: int, alpha: float) -> float:
    """Return the paper's lower bound on p_A from proxy votes and a random audit (estimator `paper`).

    P(bound > p_A) <= alpha: half of alpha for the share of votes that the standard model confirms, half for the
    vote count itself. It takes the audit for a sample with replacement, which errs on the safe side, and gives
    no credit for what the proxy missed.

    Args:
        votes: proxy votes for c (N_A).
        n: all draws (N).
        audited: audited among the votes (n2, in the paper N2).
        mismatched: of these, not confirmed by the standard model (h, in the paper N2 - N1).
        alpha: the chance of a wrong bound.
    """
    _check_votes(votes, n, audited, mismatched, alpha)
    confirmed_share = clopper_pearson_lower(audited - mismatched, audited, alpha / 2)
    return clopper_pearson_lower(votes * confirmed_share, n, alpha / 2)


def exact_lower(votes: int, n: int, audited: int, mismatched: int, recovered: int, alpha: float) -> float:
    """Return a lower bound on p_A that counts the audit as drawn without replacement (estimator `exact`).

    P(bound > p_A) <= alpha: with chance 1 - alpha/2 at most `mismatch_upper` of the votes are wrong; then at
    least votes - that + recovered standard labels are c, and Clopper-Pearson with the other alpha/2 does the rest.

    Args:
        votes: proxy votes for c (N_A).
        n: all draws (N).
        audited: audited among the votes (n2).
        mismatched: of these, standard label not c (h).
        recovered: audited among the other draws whose standard label is c after all (g).
        alpha: the chance of a wrong bound.
    """
    _check_votes(votes, n, audited, mismatched, alpha)
    recovered = check_count("recovered", recovered, n - votes, "n - votes")
    wrong = mismatch_upper(votes, audited, mismatched, alpha / 2)
    return clopper_pearson_lower(votes - wrong + recovered, n, alpha / 2)


def published_lower(votes: int, n: int, audited: int, mismatched: int, alpha: float) -> float:
    """Return what the published implementation computes, for teaching only: this bounds nothing.

    It scales both counts, votes and n, by the confirmed share, so the vote share does not fall however many votes
    the audit refutes. With 10,000 draws, an audit of 1,000 and alpha 0.001 it claims more than p_A in 72 to 100 %
    of simulated runs (p_A from 0.5 to 0.99) once 2 % of the draws, or all that can, are wrongly called c.
    """
    _check_votes(votes, n, audited, mismatched, alpha)
    confirmed_share = clopper_pearson_lower(audited - mismatched, audited, alpha / 2)
    return clopper_pearson_lower(votes * confirmed_share, n * confirmed_share, alpha / 2)


def _check_votes(votes: int, n: int, audited: int, mismatched: int, alpha: float) -> None:
    check_alpha(alpha)
    n = check_size("n", n)
    votes = check_count("votes", votes, n, "n")
    audited = check_count("audited", audited, votes, "votes")
    check_count("mismatched", mismatched, audited, "audited")


def certified_radius(p_lower: float, sigma: float) -> float:
    """Return the L2 radius sigma * Phi^-1(p_lower) on which the answer cannot change; 0 means abstain.

    If p_A >= p_lower > 1/2, the smoothed classifier answers c everywhere closer than this to the picture (Cohen
    et al. 2019, Theorem 1, with all other classes together). At p_lower <= 1/2 nothing is certified.
    """
    _check_sigma(sigma)
    if not 0.0 <= p_lower <= 1.0:
        raise ValueError(f"p_lower = {p_lower} is not a probability: give a number from 0 to 1.")
    return sigma * float(special.ndtri(p_lower)) if p_lower > 0.5 else 0.0


def format_radius(radius: float, digits: int = 3) -> str:
    """Return the radius as text with this many decimals, rounded down: what is printed is never too much."""
    if not radius >= 0.0:
        raise ValueError(f"radius = {radius} is not a radius: give 0 or a positive number.")
    if math.isinf(radius):
        return "inf"
    # From the shortest text that means this float, so that 0.3 stays 0.300.
    rounded = Decimal(repr(float(radius))).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_DOWN)
    return f"{rounded:f}"


def cutoff_lower(n: int, alpha: float, estimator: str = "rs", audit: int = 0, votes: int | None = None) -> float:
    """Return the lower bound on p_A when so many draws vote c and the audit confirms them.

    As much of the audit as can falls on votes for c, and finds no mismatch. With all n votes, which is what
    `votes=None` means, no outcome of a run gives more.
    """
    n = check_size("n", n)
    votes = n if votes is None else check_count("votes", votes, n, "n")
    if estimator == "rs":
        return clopper_pearson_lower(votes, n, alpha)
    audit = check_count("audit", audit, n, "n")
    audited = min(audit, votes)
    if estimator == "paper":
        return paper_lower(votes, n, audited, 0, alpha)
    if estimator == "exact":
        return exact_lower(votes, n, audited, 0, 0, alpha)
    if estimator == "joint":
        return joint_lower(votes, n, audited, 0, audit - audited, 0, alpha)
    raise ValueError(f"estimator = {estimator!r} is not known here: choose one of {', '.join(BOUNDS)}.")


def cutoff_radius(
    n: int, alpha: float, sigma: float, estimator: str = "rs", audit: int = 0, share: float = 1.0
) -> float:
    """Return the largest radius that n draws at this alpha, and an audit of this size, can certify.

    `share` is the share of draws that vote for c, all confirmed by the audit. For "rs" the audit does not matter.
    0 means that not even this outcome certifies anything.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share = {share} is not a share: give a number from 0 to 1.")
    _check_sigma(sigma)
    return certified_radius(cutoff_lower(n, alpha, estimator, audit, votes=round(share * n)), sigma)


def smallest_n(alpha: float, estimator: str = "rs") -> int:
    """Return the smallest n that can certify anything: all votes agree and, if need be, all are audited."""
    return _first(lambda n: cutoff_lower(n, alpha, estimator, audit=n) > 0.5)


def smallest_audit(n: int, alpha: float, estimator: str = "joint") -> int | None:
    """Return the smallest audit with which n draws can certify anything, or None if not even all n suffice."""
    if cutoff_lower(n, alpha, estimator, audit=n) <= 0.5:
        return None
    return _first(lambda audit: cutoff_lower(n, alpha, estimator, audit=min(audit, n)) > 0.5)


def _first(enough: Callable[[int], bool]) -> int:
    """The smallest whole number from 1 that is enough, if all larger ones are too."""
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check_sigma(sigma: float) -> None:
    if not 0.0 < sigma < math.inf:
        raise ValueError(f"sigma = {sigma} is not a noise level: give a positive number.")

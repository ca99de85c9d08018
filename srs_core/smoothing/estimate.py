"""From counts to a bound: the one place that knows which estimator belongs to which certificate."""

from srs_core.smoothing.bounds import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    cutoff_lower,
    exact_lower,
    joint_lower,
    joint_upper,
    mismatch_upper,
    paper_lower,
    smallest_audit,
    smallest_n,
)
from srs_core.smoothing.certificate import AuditCounts
from srs_core.smoothing.settings import Settings

__all__ = ["RS_ESTIMATOR", "check_feasible", "lower_bound", "mismatch_bound", "upper_bound"]

RS_ESTIMATOR = "clopper-pearson"


def lower_bound(estimator: str, n: int, votes: int, counts: AuditCounts | None, alpha: float) -> float:
    """A lower bound on p_A that holds with probability 1 - alpha, from votes for the class among n draws.

    Without audit counts the votes are the standard model's own. With them `votes` is not looked at: the counts
    say all that a proxy's votes are worth.
    """
    if counts is None:
        return clopper_pearson_lower(votes, n, alpha)
    if estimator == "paper":
        return paper_lower(counts.votes, n, counts.audited, counts.mismatched, alpha)
    if estimator == "exact":
        return exact_lower(counts.votes, n, counts.audited, counts.mismatched, counts.recovered, alpha)
    if estimator == "joint":
        return joint_lower(
            counts.votes,
            n,
            counts.audited,
            counts.mismatched,
            counts.audited_others,
            counts.recovered,
            alpha,
            counts.census,
            counts.census_hits,
        )
    raise ValueError(f"estimator is {estimator!r}; there is no certificate by that name.")


def upper_bound(n: int, votes: int, counts: AuditCounts | None, alpha: float) -> float:
    """An upper bound on p_A that holds with probability 1 - alpha, whatever the estimator of the lower one."""
    if counts is None:
        return clopper_pearson_upper(votes, n, alpha)
    return joint_upper(
        counts.votes, n, counts.audited, counts.mismatched, counts.audited_others, counts.recovered, alpha
    )


def mismatch_bound(estimator: str, counts: AuditCounts, alpha: float) -> float:
    """A bound on the share of proxy votes for the class that the standard model would not confirm.

    It is `p_m` with a bar in the paper, at the paper's level alpha / 2. The estimator `paper` takes the audit for
    draws with replacement; the others count it as it is, without.
    """
    if counts.votes == 0:
        return 1.0
    if estimator == "paper":
        return 1.0 - clopper_pearson_lower(counts.audited - counts.mismatched, counts.audited, alpha / 2)
    return mismatch_upper(counts.votes, counts.audited, counts.mismatched, alpha / 2) / counts.votes


def check_feasible(settings: Settings) -> None:
    """Refuse settings that could not certify anything even if all votes agreed, and say what could."""
    alpha = settings.alpha / 2 if settings.watched else settings.alpha
    bound = settings.estimator if settings.audited else "rs"
    if cutoff_lower(settings.n, alpha, bound, audit=settings.audit) > 0.5:
        return
    least = smallest_n(alpha, bound)
    if settings.n < least:
        raise ValueError(
            f"n is {settings.n}; at alpha = {settings.alpha} no certificate is possible with fewer than "
            f"{least} votes, even if all agree. Take more votes or a larger alpha."
        )
    raise ValueError(
        f"audit is {settings.audit}; with n = {settings.n} and alpha = {settings.alpha} no certificate is possible "
        f"with an audit of fewer than {smallest_audit(settings.n, alpha, bound)}, even if all votes are confirmed."
    )

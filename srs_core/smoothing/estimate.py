"""From counts to a bound: the one place that knows which estimator belongs to which certificate."""

from srs_core.smoothing.bounds import (
    certified_radius,
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
from srs_core.smoothing.certificate import AuditCounts, Certificate
from srs_core.smoothing.settings import Settings

__all__ = ["RS_ESTIMATOR", "check_feasible", "lower_bound", "mismatch_bound", "upper_bound", "verify"]

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


def verify(certificate: Certificate) -> list[str]:
    """Recompute the bound and the radius from the counts; an empty list says that all agrees.

    Otherwise each entry is a sentence about one disagreement. The counts themselves cannot be checked without
    running the model again, with the same settings and seed.
    """
    c = certificate
    wrong = []
    if c.looks:
        spent = sum(look.alpha for look in c.looks)
        if spent > c.alpha * (1 + 1e-12):
            wrong.append(f"The looks spend {spent:.3g} of error probability, more than alpha = {c.alpha:g}.")
        bounds = []
        for look in c.looks:
            bounds.append(lower_bound(c.estimator, look.n, look.votes, look.counts, look.alpha))
            if not _close(bounds[-1], look.p_a_lower):
                wrong.append(f"The look at {look.n} votes says {look.p_a_lower}; its counts give {bounds[-1]}.")
        p_lower = max(bounds)
    else:
        p_lower = lower_bound(c.estimator, c.n, c.votes[c.class_index], c.counts, c.alpha)
    radius = certified_radius(p_lower, c.sigma)
    if not _close(p_lower, c.p_a_lower):
        wrong.append(f"The bound on p_A is stated as {c.p_a_lower}; the counts give {p_lower}.")
    if not _close(radius, c.radius):
        wrong.append(f"The radius is stated as {c.radius}; the counts give {radius}.")
    if c.abstained != (radius == 0.0):
        wrong.append(f"The certificate says abstained = {c.abstained}; a radius of {radius} says otherwise.")
    if sum(c.votes) != c.n:
        wrong.append(f"The votes sum to {sum(c.votes)}, not to n = {c.n}.")
    if c.counts is not None and c.counts.census == 0 and c.counts.votes != c.votes[c.class_index]:
        wrong.append(f"The audit speaks of {c.counts.votes} votes; the tally has {c.votes[c.class_index]}.")
    return wrong


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9

"""A certificate checked again: do its counts make sense, and do its bound and radius follow from them?"""

from collections.abc import Iterator

from scipy import special

from srs_core.smoothing.bounds import certified_radius
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.estimate import RS_ESTIMATOR, lower_bound, mismatch_bound, upper_bound

__all__ = ["verify"]


def verify(certificate: Certificate) -> list[str]:
    """Recompute the bound and the radius from the counts; an empty list says that all agrees.

    Otherwise each entry is a sentence about one disagreement. The counts themselves cannot be checked without
    running the model again, with the same settings and seed.
    """
    try:
        # Bounds of counts that cannot be would say nothing.
        return list(_impossible(certificate)) or list(_disagreements(certificate))
    except (ValueError, TypeError, AttributeError) as error:
        return [f"The certificate cannot be recomputed: {error}"]


def _impossible(c: Certificate) -> Iterator[str]:
    """What no run could have counted."""
    if not 0 <= c.class_index < len(c.votes):
        yield f"The class is number {c.class_index}; there are votes for {len(c.votes)} classes."
        return
    if any(votes < 0 for votes in (*c.votes, *c.selection_votes)):
        yield "Some class has fewer than 0 votes."
    if sum(c.votes) != c.n or c.n > c.planned_n:
        yield f"The votes sum to {sum(c.votes)}, not to n = {c.n} of at most {c.planned_n}."
    if sum(c.selection_votes) != c.n0 or c.selection_votes[c.class_index] < max(c.selection_votes):
        yield "The selection draws did not choose this class."
    if (c.counts is None) != (c.method == "rs") or (c.counts is None) != (c.estimator == RS_ESTIMATOR):
        yield f"Votes by {c.method} with the estimator {c.estimator} {'need' if c.counts is None else 'have no'} audit."
    elif c.counts is not None:
        k = c.counts
        checked = k.audited + k.audited_others + k.census
        if not k.census and k.votes != c.votes[c.class_index]:
            yield f"The audit speaks of {k.votes} votes; the tally has {c.votes[c.class_index]}."
        if k.census and (c.estimator != "joint" or c.looks):
            yield f"The estimator {c.estimator} does not know a census."
        # A picture of the census may have been drawn at random as well; a watched run audits by coins.
        if not c.looks and not (checked <= c.audit if k.census else checked == c.audit):
            yield f"The audit checked {checked} votes, not {c.audit}."
    elif c.audit:
        yield f"Plain smoothing has no audit, but {c.audit} votes are said to be audited."
    if c.looks:
        sizes = [look.n for look in c.looks]
        if sizes != sorted(set(sizes)) or sizes[-1] != c.n:
            yield f"The looks are at {sizes} votes; they must rise to n = {c.n}."
        if c.looks[-1].votes != c.votes[c.class_index] or c.looks[-1].counts != c.counts:
            yield "The last look saw other counts than the certificate states."
        if any((look.counts is None) != (c.counts is None) for look in c.looks):
            yield "Some looks were audited and some not."
        spent = sum(look.alpha for look in c.looks)
        if spent > c.alpha * (1 + 1e-12):
            yield f"The looks spend {spent:.3g} of error probability, more than alpha = {c.alpha:g}."
    elif c.n != c.planned_n or c.robust_at is not None:
        yield "A run that may end early is judged at looks, but there are none."


def _disagreements(c: Certificate) -> Iterator[str]:
    """What does not follow from the counts."""
    if c.looks:
        bounds = [lower_bound(c.estimator, look.n, look.votes, look.counts, look.alpha) for look in c.looks]
        for look, bound in zip(c.looks, bounds, strict=True):
            if not _close(bound, look.p_a_lower):
                yield f"The look at {look.n} votes says {look.p_a_lower}; its counts give {bound}."
        p_lower = max(bounds)
    else:
        p_lower = lower_bound(c.estimator, c.n, c.votes[c.class_index], c.counts, c.alpha)
    radius = certified_radius(p_lower, c.sigma)
    if not _close(p_lower, c.p_a_lower):
        yield f"The bound on p_A is stated as {c.p_a_lower}; the counts give {p_lower}."
    if not _close(radius, c.radius):
        yield f"The radius is stated as {c.radius}; the counts give {radius}."
    if c.abstained != (radius == 0.0):
        yield f"The certificate says abstained = {c.abstained}; a radius of {radius} says otherwise."
    mismatches = None if c.counts is None else mismatch_bound(c.estimator, c.counts, c.alpha)
    if (c.mismatch_bound is None) != (mismatches is None) or not _close(c.mismatch_bound or 0.0, mismatches or 0.0):
        yield f"Wrong votes are stated to be at most {c.mismatch_bound}; the counts give {mismatches}."
    answer = _robust(c, p_lower)
    if c.robust is not answer:
        yield f"The answer at the radius {c.robust_at} is stated as {c.robust}; the counts give {answer}."


def _robust(c: Certificate, p_lower: float) -> bool | None:
    """Whether the looks say that p_A lies above (True) or below (False) what the radius asked about needs."""
    if c.robust_at is None:
        return None
    needed = float(special.ndtr(c.robust_at / c.sigma))
    if p_lower > needed:
        return True
    uppers = (upper_bound(look.n, look.votes, look.counts, look.alpha) for look in c.looks)
    return False if min(uppers) < needed else None


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9

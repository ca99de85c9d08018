"""A certificate that was touched is found out, also when bound and radius were computed anew to fit."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from torch import Tensor

from srs_core.smoothing.bounds import certified_radius, clopper_pearson_lower
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.estimate import lower_bound
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify
from srs_core.smoothing.verify import verify

SMALL = Settings(sigma=0.5, n=600, n0=50, audit=150, batch_size=64, reference_steps=25, warm_up_steps=25, tol=1e-4)


@pytest.fixture
def serialized(make_tiny: Callable[[], object], picture: Tensor) -> Certificate:
    certificate = certify(make_tiny(), picture, SMALL)
    assert not certificate.abstained
    assert verify(certificate) == []
    return certificate


def refit(certificate: Certificate, p_lower: float) -> Certificate:
    """State another bound, with the radius that belongs to it."""
    return replace(certificate, p_a_lower=p_lower, radius=certified_radius(p_lower, certificate.sigma), abstained=False)


def test_what_does_not_follow_from_the_counts_is_found(serialized: Certificate) -> None:
    c = serialized
    assert c.counts is not None
    assert c.mismatch_bound is not None
    for changed in (
        replace(c, radius=c.radius + 0.01),
        replace(c, radius=float("nan")),
        replace(c, p_a_lower=c.p_a_lower + 0.001),
        replace(c, abstained=True),
        replace(c, counts=replace(c.counts, mismatched=c.counts.mismatched + 5)),
        replace(c, mismatch_bound=c.mismatch_bound / 2),
        replace(c, mismatch_bound=None),
        replace(c, robust=True),
        replace(c, sigma=2 * c.sigma),
        replace(c, alpha=c.alpha / 2),
    ):
        assert verify(changed) != []


def test_an_audit_cannot_be_left_out(serialized: Certificate) -> None:
    # The proxy's votes taken for the standard model's own: the bound fits, but nobody has checked them.
    c = serialized
    unchecked = clopper_pearson_lower(c.votes[c.class_index], 600, 0.001)
    bare = refit(replace(c, counts=None, mismatch_bound=None), unchecked)
    for forged in (bare, replace(bare, estimator="clopper-pearson"), replace(bare, method="rs")):
        assert "audit" in " ".join(verify(forged))
    plain = replace(bare, method="rs", estimator="clopper-pearson")
    assert "150 votes are said to be audited" in " ".join(verify(plain))


@pytest.mark.parametrize(
    "change",
    [
        {"audited": 600, "audited_others": 0},  # more was checked than the audit's size
        {"audited_others": -50},
        {"mismatched": -10},
        {"recovered": 10_000},
        {"census": 300, "census_hits": 300},
        {"votes": 600},
    ],
    ids=str,
)
def test_counts_that_no_audit_gives_are_found(serialized: Certificate, change: dict[str, int]) -> None:
    assert serialized.counts is not None
    counts = replace(serialized.counts, **change)
    forged = replace(serialized, counts=counts)
    with suppress(ValueError):  # where the bound itself refuses such counts, `verify` must say so and not break
        forged = refit(forged, lower_bound("joint", 600, 0, counts, 0.001))
    assert verify(forged) != []


def test_votes_that_no_run_gives_are_found(serialized: Certificate) -> None:
    c = serialized
    top = c.class_index
    hidden: dict[str, Any] = {"votes": tuple(600 if i == top else 0 for i in range(4))}
    for forged in (
        replace(c, **hidden),
        replace(c, votes=tuple(605 if i == top else v - 5 for i, v in enumerate((0, 0, 0, 0)))),
        replace(c, class_index=top - len(c.votes)),  # Python would count from the end
        replace(c, class_index=99),
        replace(c, class_index=(top + 1) % 4),
        replace(c, n=500),
        replace(c, n=600, planned_n=10_000),  # stopped where it suited
        replace(c, selection_votes=(0, 0, 0, 0)),
    ):
        assert verify(forged) != []


def test_looks_that_were_chosen_afterwards_are_found(make_tiny: Callable[[], object], picture: Tensor) -> None:
    c = certify(make_tiny(), picture, SMALL.with_(anytime=True))
    assert len(c.looks) == 4
    assert verify(c) == []
    assert c.counts is not None
    all_alpha = lower_bound(c.estimator, c.n, 0, c.counts, c.alpha)
    last = replace(c.looks[-1], alpha=c.alpha, p_a_lower=all_alpha)
    for forged in (
        refit(replace(c, looks=(*c.looks[:-1], last)), max(all_alpha, *(look.p_a_lower for look in c.looks))),
        refit(replace(c, looks=()), all_alpha),  # the audit was by coins, so its size gives it away
        replace(c, looks=c.looks[:-1]),
        replace(c, looks=(*c.looks[1:], c.looks[0])),
        replace(c, looks=(*c.looks[:-1], replace(c.looks[-1], counts=None))),
    ):
        assert verify(forged) != []


def test_the_answer_to_a_question_must_follow(make_tiny: Callable[[], object], picture: Tensor) -> None:
    plain = SMALL.with_(method="rs", steps=25, robust_at=0.001)
    c = certify(make_tiny(), picture, plain)
    assert c.robust is True
    assert verify(c) == []
    assert verify(replace(c, robust_at=5.0)) != []
    assert verify(replace(c, robust=False)) != []
    assert verify(replace(c, looks=())) != []

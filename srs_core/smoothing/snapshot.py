"""What a running certification shows of itself after every batch."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from srs_core.smoothing.bounds import certified_radius
from srs_core.smoothing.certificate import AuditCounts, Certificate
from srs_core.smoothing.estimate import lower_bound
from srs_core.smoothing.settings import Settings

__all__ = ["Phase", "ResidualSummary", "Snapshot"]

Phase = Literal["selection", "voting", "audit", "done"]


@dataclass(frozen=True)
class ResidualSummary:
    """Relative residuals of the latest batch after each step: the median and the 10 % and 90 % quantiles."""

    low: tuple[float, ...]
    median: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Snapshot:
    """Where a certification stands; only the last snapshot carries the certificate.

    `p_a_estimate` is the plain share of votes so far; `lower_estimate` and `radius_estimate` are what the final
    bound would say if this were all the data: honest as a forecast, not valid to stop at. `anytime_lower` is
    valid at every moment, and None unless the settings asked for it (and the first look has come).
    `batch_labels` are the labels of the latest batch, in the order of their positions.
    """

    settings: Settings
    phase: Phase
    class_index: int | None
    votes: tuple[int, ...]
    selection_votes: tuple[int, ...]
    done: int
    total: int
    counts: AuditCounts | None
    audit_total: int
    anytime_lower: float | None
    residuals: ResidualSummary
    evaluations: int
    seconds: float
    seconds_left: float | None
    batch_labels: tuple[int, ...]
    certificate: Certificate | None = None

    @property
    def method(self) -> str:
        """`rs` or `srs`."""
        return self.settings.method

    @property
    def label(self) -> str:
        """The paper's name for the setting, such as SRS-MDEQ-3A."""
        return self.settings.label

    @property
    def audited(self) -> int:
        """How many votes the standard model has checked so far."""
        c = self.counts
        return 0 if c is None else c.audited + c.audited_others + c.census

    @property
    def mismatched(self) -> int:
        """How many checked votes for the class were not confirmed."""
        return 0 if self.counts is None else self.counts.mismatched

    @property
    def p_a_estimate(self) -> float | None:
        """The share of the votes so far that went to the class: an estimate."""
        return self.votes[self.class_index] / self.done if self.class_index is not None and self.done else None

    @cached_property
    def lower_estimate(self) -> float | None:
        """What the final bound would say if this were all the data: a forecast."""
        if self.class_index is None or not self.done:
            return None
        estimator = self.settings.estimator
        return lower_bound(estimator, self.done, self.votes[self.class_index], self.counts, self.settings.alpha)

    @property
    def radius_estimate(self) -> float | None:
        """The radius that belongs to `lower_estimate`: a forecast."""
        lower = self.lower_estimate
        return None if lower is None else certified_radius(lower, self.settings.sigma)

    @property
    def anytime_radius(self) -> float | None:
        """The radius that belongs to `anytime_lower`: valid now."""
        return None if self.anytime_lower is None else certified_radius(self.anytime_lower, self.settings.sigma)

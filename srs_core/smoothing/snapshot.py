"""What a running certification shows of itself after every batch."""

from dataclasses import dataclass
from typing import Literal

from srs_core.smoothing.certificate import Certificate

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

    `p_a_estimate` is the plain share of votes so far, and `lower_estimate` and `radius_estimate` are what the final
    bound would say if this were all the data: honest as a forecast, not valid to stop at. `anytime_lower` is
    valid at every moment, and None unless the settings asked for it (and the first look has come).
    """

    method: str
    label: str
    phase: Phase
    class_index: int | None
    votes: tuple[int, ...]
    selection_votes: tuple[int, ...]
    done: int
    total: int
    p_a_estimate: float | None
    lower_estimate: float | None
    radius_estimate: float | None
    anytime_lower: float | None
    anytime_radius: float | None
    audited: int
    audit_total: int
    mismatched: int
    residuals: ResidualSummary
    evaluations: int
    seconds: float
    seconds_left: float | None
    batch_labels: tuple[int, ...]
    certificate: Certificate | None = None

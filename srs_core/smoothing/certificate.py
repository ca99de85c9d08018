"""The certificate: everything that is needed to read it, keep it and check it again."""

import json
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

__all__ = ["AuditCounts", "Certificate", "LookRecord"]


@dataclass(frozen=True)
class AuditCounts:
    """What the audit saw, in the words of the bounds.

    `votes` are the proxy's votes for the class outside the census, of which `audited` were checked and
    `mismatched` not confirmed; of the other votes `audited_others` were checked and `recovered` turned out to be
    the class after all. The census checked `census` pictures completely and found `census_hits`.
    """

    votes: int
    audited: int
    mismatched: int
    audited_others: int
    recovered: int
    census: int = 0
    census_hits: int = 0


@dataclass(frozen=True)
class LookRecord:
    """A look at the first `n` votes: the counts it saw, the error probability it spent, the bound it gave."""

    n: int
    alpha: float
    votes: int
    counts: AuditCounts | None
    p_a_lower: float


@dataclass(frozen=True)
class Certificate:
    """With probability at least 1 - alpha, the smoothed standard model answers `class_index` on the whole ball.

    The ball has the L2 `radius`, in units of the pixel range [0, 1], around the picture; the probability is over
    the noise and the audit. An abstaining certificate (`abstained`, radius 0) claims nothing. `n` votes were
    counted; that is less than `planned_n` only when the question `robust_at` was answered early.
    """

    method: str
    model: str
    model_hash: str
    picture_hash: str
    class_index: int
    class_name: str
    abstained: bool
    radius: float
    p_a_lower: float
    votes: tuple[int, ...]
    selection_votes: tuple[int, ...]
    counts: AuditCounts | None
    mismatch_bound: float | None
    looks: tuple[LookRecord, ...]
    robust_at: float | None
    robust: bool | None
    sigma: float
    alpha: float
    n: int
    planned_n: int
    n0: int
    audit: int
    estimator: str
    solver: str
    steps: int
    start: str | None
    warm_up_solver: str | None
    warm_up_steps: int | None
    restart_every: int | None
    reference_solver: str
    reference_steps: int
    tol: float
    batch_size: int
    seed: int
    evaluations: int
    evaluations_by_phase: dict[str, int]
    seconds: float
    device: str
    versions: dict[str, str]
    created: str
    proxy_precision: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def to_json(self, indent: int | None = 2) -> str:
        """One JSON document."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """A certificate from plain values; missing or unknown keys are named."""
        known = {field.name for field in fields(cls)}
        needed = {field.name for field in fields(cls) if field.default is MISSING}
        missing, extra = sorted(needed - set(values)), sorted(set(values) - known)
        if missing or extra:
            raise ValueError(f"This is not a certificate: missing keys {missing}, unknown keys {extra}.")
        values = dict(values)
        values["votes"] = tuple(values["votes"])
        values["selection_votes"] = tuple(values["selection_votes"])
        values["counts"] = _counts(values["counts"])
        values["looks"] = tuple(LookRecord(**{**look, "counts": _counts(look["counts"])}) for look in values["looks"])
        return cls(**values)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """The certificate that `to_json` wrote."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"This is not a certificate: it is not JSON ({error}).") from error
        if not isinstance(values, dict):
            raise ValueError("This is not a certificate: the JSON document is not an object.")
        return cls.from_dict(values)


def _counts(values: dict[str, int] | None) -> AuditCounts | None:
    return None if values is None else AuditCounts(**values)

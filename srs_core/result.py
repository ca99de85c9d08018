"""A finished run as one value: what the page shows, the report prints and the history keeps."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from PIL import Image

from srs_core.history import History, Run
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.compare import EqualCost, Measured
from srs_core.smoothing.snapshot import ResidualSummary

__all__ = ["Result", "certificate_table"]


@dataclass(frozen=True)
class Result:
    """One picture's certificates: the plain, the serialized, or both with what was measured between them.

    `picture` is the PNG that the model saw, `residuals` the last batch's by method, `run` its id in the history.
    """

    picture: bytes
    picture_name: str
    certificates: tuple[Certificate, ...]
    classes: tuple[str, ...]
    residuals: Mapping[str, ResidualSummary]
    measured: Measured | None = None
    run: str | None = None

    @property
    def values(self) -> int:
        """How many numbers the picture has: three colours for each pixel."""
        with Image.open(io.BytesIO(self.picture)) as image:
            return 3 * image.width * image.height

    def of_method(self, method: str) -> Certificate | None:
        """The certificate of `rs` or `srs`, if there is one."""
        return next((c for c in self.certificates if c.method == method), None)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the picture, as plain values ready for JSON."""
        return {
            "picture": self.picture_name,
            "certificates": [certificate.to_dict() for certificate in self.certificates],
            "measured": None if self.measured is None else asdict(self.measured),
        }

    def save(self, history: History) -> str:
        """Keep the result in a history and return the run's id there."""
        details = {
            "classes": list(self.classes),
            "residuals": {method: asdict(summary) for method, summary in self.residuals.items()},
            "measured": None if self.measured is None else asdict(self.measured),
        }
        return history.add(self.certificates, self.picture, self.picture_name, details)

    @classmethod
    def from_run(cls, run: Run) -> "Result":
        """The result that `save` kept."""
        measured = run.details["measured"]
        if measured is not None:
            measured = Measured(**{**measured, "equal_cost": EqualCost(**measured["equal_cost"])})
        residuals = {
            method: ResidualSummary(**{key: tuple(values) for key, values in summary.items()})
            for method, summary in run.details["residuals"].items()
        }
        return cls(
            picture=run.picture,
            picture_name=run.picture_name,
            certificates=run.certificates,
            classes=tuple(run.details["classes"]),
            residuals=residuals,
            measured=measured,
            run=run.id,
        )


def certificate_table(certificates: Iterable[tuple[str, Certificate]]) -> pd.DataFrame:
    """Certificates, each with its picture's name, as a table of plain columns."""
    rows = []
    for picture, certificate in certificates:
        row = {"picture": picture, **certificate.to_dict()}
        row["votes"] = " ".join(map(str, certificate.votes))
        row["selection_votes"] = " ".join(map(str, certificate.selection_votes))
        counts = row.pop("counts") or {}
        row.update({f"audit_{name}": value for name, value in counts.items()})
        for name in ("looks", "versions", "evaluations_by_phase"):
            row.pop(name)
        rows.append(row)
    return pd.DataFrame(rows)

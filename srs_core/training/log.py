"""The run's log: means over some steps, one line of CSV each."""

import csv
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["LOG_FILE", "Meter", "append_row", "forget_rows_after"]

LOG_FILE = "log.csv"


@dataclass
class Meter:
    """Sums since the last line of the log."""

    steps: int = 0
    loss: float = 0.0
    accuracy: float = 0.0
    residual: float = 0.0
    jacobian: float = 0.0
    jacobian_steps: int = 0

    def add(self, loss: float, accuracy: float, residual: float, jacobian: float | None) -> None:
        """Count one step."""
        self.steps += 1
        self.loss += loss
        self.accuracy += accuracy
        self.residual += residual
        if jacobian is not None:
            self.jacobian += jacobian
            self.jacobian_steps += 1

    def means(self) -> dict[str, float | str]:
        """The means of what was counted; the Jacobian's is empty when no step measured it."""
        n = max(1, self.steps)
        jacobian = round(self.jacobian / self.jacobian_steps, 5) if self.jacobian_steps else ""
        return {
            "loss": round(self.loss / n, 5),
            "accuracy": round(self.accuracy / n, 5),
            "residual": round(self.residual / n, 5),
            "jacobian": jacobian,
        }

    def to_dict(self) -> dict[str, Any]:
        """The sums as plain values, for the state file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Meter":
        """Read the sums back."""
        return cls(**values)


def append_row(folder: Path, row: dict[str, Any]) -> None:
    """Add one line to the run's log, and the header when the log is new."""
    path = folder / LOG_FILE
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def forget_rows_after(folder: Path, step: int) -> None:
    """Drop the lines beyond a step, which a resumed run will write again."""
    path = folder / LOG_FILE
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or [])
        rows = [row for row in reader if int(row["step"]) <= step]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)

"""A checkpoint's card: what the weights are, how they were made, and what they score."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from srs_core.mdeq.variants import VARIANTS

__all__ = ["Card", "CheckpointError"]


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message is a sentence for the user."""


@dataclass(frozen=True)
class Card:
    """The .json file beside a checkpoint's .safetensors file.

    `training` says exactly how the weights were made (command, data, epochs, seed, ...), `measured` what they
    score and how that was measured, `sha256` is the weights file's own hash.
    """

    name: str
    variant: str
    sigma: float | None
    classes: tuple[str, ...]
    normalisation: dict[str, tuple[float, ...]]
    sha256: str
    training: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def write(self, path: Path) -> None:
        """Write the card."""
        path.write_text(json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Card":
        """Read a card, or say in one sentence why it is none."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise CheckpointError(
                f"The checkpoint has no card: {path} is missing. Put the card beside the weights."
            ) from None
        except (OSError, ValueError) as error:
            raise CheckpointError(f"The card {path} cannot be read: {error}.") from error
        required = {f.name for f in fields(cls)} - {"training", "measured"}
        if not isinstance(values, dict) or not required <= set(values):
            raise CheckpointError(f"The card {path} is not complete; it needs {', '.join(sorted(required))}.")
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        if known["variant"] not in VARIANTS:
            raise CheckpointError(
                f"The card {path} names the variant {known['variant']!r}; known are {', '.join(VARIANTS)}."
            )
        try:
            known["classes"] = tuple(str(name) for name in known["classes"])
            known["normalisation"] = {key: tuple(map(float, known["normalisation"][key])) for key in ("mean", "std")}
            known["sigma"] = None if known["sigma"] is None else float(known["sigma"])
        except (TypeError, ValueError, KeyError) as error:
            raise CheckpointError(f"The card {path} holds a value of the wrong kind ({error}).") from error
        return cls(**known)

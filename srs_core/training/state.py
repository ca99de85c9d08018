"""The whole state of a run in one small file: written atomically, read without running any code in it."""

from pathlib import Path
from typing import Any

import torch

from srs_core.files import write_whole

__all__ = ["STATE_FILE", "read_state", "write_state"]

STATE_FILE = "state.pt"
FORMAT = 1


def write_state(folder: Path, state: dict[str, Any]) -> None:
    """Replace the run's state file; whenever the machine stops, either the old or the new one is there."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / STATE_FILE, lambda file: torch.save({"format": FORMAT, **state}, file))


def read_state(folder: Path) -> dict[str, Any]:
    """Read a run's state back onto the CPU, or say in one sentence why that cannot be done."""
    path = folder / STATE_FILE
    if not path.is_file():
        raise ValueError(f"There is no run to resume in {folder}: {path} is missing. Leave --resume out to begin.")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged file
        raise ValueError(f"The training state {path} cannot be read: {error}") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"The training state {path} has another format than this version's ({FORMAT}).")
    return state

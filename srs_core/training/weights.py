"""Weights to begin from: those of a checkpoint, of another run, or of the authors' files."""

from pathlib import Path

from torch import Tensor

from srs_core.mdeq.checkpoints import fill, load_training_form
from srs_core.mdeq.network import MDEQ
from srs_core.mdeq.reference import read_reference_state
from srs_core.training.state import STATE_FILE, read_state

__all__ = ["load_weights"]


def load_weights(model: MDEQ, source: str | Path) -> None:
    """Fill a model from a checkpoint's name or path, a run's folder (its averaged weights) or a .pth.tar file."""
    path = Path(source)
    state: dict[str, Tensor]
    if (path / STATE_FILE).is_file():
        state = read_state(path)["average"]
    elif path.name.endswith((".pth", ".pth.tar")):
        state = read_reference_state(path)
    else:
        state = load_training_form(source)[0].state_dict()
    fill(model, state, str(source))

"""The one place that imports torchvision, so that it also works beside a CPU-only torch.

The published torchvision wheel is built for CUDA. Beside a CPU-only torch its compiled operators cannot be
loaded, and `import torchvision` stops at two operators whose schemas it expects to find. Stating those
schemas is enough for `transforms.v2`, `datasets` and `models`; the compiled operators themselves (`ops.nms`,
`io.read_image`) stay unavailable, and nothing here uses them.
"""

from __future__ import annotations

import importlib
import sys
import threading
from types import ModuleType

__all__ = ["torchvision"]

_MISSING_OPERATORS = ("nms", "qnms")
_lock = threading.Lock()


def torchvision() -> ModuleType:
    """Return torchvision, with `datasets` and `transforms.v2` ready to use, imported on the first call."""
    with _lock:
        try:
            module = importlib.import_module("torchvision")
        except RuntimeError as error:
            if "operator torchvision::" not in str(error):
                raise
            _state_missing_schemas()
            module = importlib.import_module("torchvision")
        importlib.import_module("torchvision.datasets")
        importlib.import_module("torchvision.transforms.v2")
    return module


def _state_missing_schemas() -> None:
    """Define the operators that torchvision's import asks for, and forget its half-done import."""
    import torch

    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    for operator in _MISSING_OPERATORS:
        # torch keeps what is defined this way for as long as the process lives.
        schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define(f"torchvision::{operator}", schema)

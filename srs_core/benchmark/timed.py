"""A model under the clock, and the memory that a process has needed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from srs_core.mdeq.tuning import synchronize
from srs_core.model import Model, in_precision

__all__ = ["Clock", "TimedModel", "forget_peak", "peak_megabytes"]

FORGET_PEAK = "5"
"""What Linux wants written into clear_refs to begin a new peak; see the manual page proc_pid_clear_refs(5)."""


@dataclass
class Clock:
    """Seconds that a model has spent in f (`step`), and before and after it (`inject`, `classify`)."""

    step: float = 0.0
    inject: float = 0.0
    classify: float = 0.0

    @property
    def total(self) -> float:
        """All that the network itself took."""
        return self.step + self.inject + self.classify


class TimedModel:
    """A model that answers as before and looks at the clock: what a run takes beyond this was spent around it."""

    def __init__(self, model: Model, device: torch.device, clock: Clock | None = None) -> None:
        self._model = model
        self._device = device
        self.clock = clock or Clock()

    def __getattr__(self, name: str) -> Any:
        """Names, hash and whatever else certificates tell about the model."""
        return getattr(self._model, name)

    def inject(self, x: Tensor) -> Any:
        """What the pictures contribute to every step."""
        return self._timed("inject", lambda: self._model.inject(x))

    def initial(self, x: Tensor) -> Any:
        """The cold start of the pictures' states."""
        return self._model.initial(x)

    def step(self, z: Any, injection: Any) -> Any:
        """One evaluation of f."""
        return self._timed("step", lambda: self._model.step(z, injection))

    def classify(self, z: Any) -> Tensor:
        """Logits of states."""
        logits: Tensor = self._timed("classify", lambda: self._model.classify(z))
        return logits

    def in_precision(self, precision: str) -> "TimedModel":
        """The model in another precision, under the same clock."""
        return TimedModel(in_precision(self._model, precision), self._device, self.clock)

    def _timed(self, part: str, work: Callable[[], Any]) -> Any:
        synchronize(self._device)
        begin = time.perf_counter()
        result = work()
        synchronize(self._device)
        setattr(self.clock, part, getattr(self.clock, part) + time.perf_counter() - begin)
        return result


def forget_peak() -> None:
    """Begin a new peak of memory where the system can; elsewhere the old one stays a bound from above."""
    try:
        Path("/proc/self/clear_refs").write_text(FORGET_PEAK)
    except OSError:
        return


def peak_megabytes() -> float | None:
    """The most memory that this process held at one time, in megabytes; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6

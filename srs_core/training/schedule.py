"""How far a run has come, and the learning rate that belongs there.

A run's progress goes from 0 to 1. It is counted in steps when the budget is epochs, and in seconds when
the budget is time; everything else (learning rate, phase, solver depth) follows from the progress alone.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from srs_core.training.settings import TrainingSettings

__all__ = ["Plan", "learning_rate", "solve_depth"]


@dataclass(frozen=True)
class Plan:
    """The budget of a run: so many steps or so many seconds, from a start where `done` was reached.

    A fresh run starts at nothing done. A resumed run that is given a new budget goes on from the
    progress it had and spends the rest of the schedule on the rest of the new budget, so that the
    learning rate never jumps.
    """

    unit: str
    total: float
    start: float = 0.0
    done: float = 0.0

    def __post_init__(self) -> None:
        if self.unit not in ("steps", "seconds"):
            raise ValueError(f"A plan counts steps or seconds, not {self.unit!r}.")
        if not self.total > self.start:
            raise ValueError(
                f"The budget ends after {self.total:g} {self.unit}, but {self.start:g} are already spent; "
                "give a larger one."
            )

    def progress(self, steps: int, seconds: float) -> float:
        """The share of the schedule that lies behind after so many steps and seconds of training."""
        spent = steps if self.unit == "steps" else seconds
        share = (spent - self.start) / (self.total - self.start)
        return min(1.0, self.done + (1.0 - self.done) * max(0.0, share))

    def replanned(self, unit: str, total: float, steps: int, seconds: float) -> "Plan":
        """The plan that goes on from here with another budget."""
        spent = steps if unit == "steps" else seconds
        return Plan(unit, total, start=spent, done=self.progress(steps, seconds))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for the state file."""
        return asdict(self)


def learning_rate(settings: TrainingSettings, progress: float) -> float:
    """The learning rate at this progress: a linear rise (one-cycle only), then half a cosine to zero."""
    rise = settings.rise if settings.schedule == "one-cycle" else 0.0
    if progress < rise:
        # A twentieth at the very start: Adam's first steps are as long as its rate, whatever the gradient.
        return settings.learning_rate * (0.05 + 0.95 * progress / rise)
    share = (progress - rise) / (1.0 - rise) if rise < 1.0 else 1.0
    return settings.learning_rate * 0.5 * (1.0 + math.cos(math.pi * share))


def solve_depth(settings: TrainingSettings, progress: float) -> int:
    """How many steps without gradient the equilibrium phase takes here, before its random jitter."""
    depth = settings.solve_steps + (settings.solve_steps_end - settings.solve_steps) * progress
    return round(depth)

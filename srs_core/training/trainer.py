"""One training run: its model, optimiser and counters, one step at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

from srs_core.data import Arrays
from srs_core.mdeq.network import MDEQ
from srs_core.training.augment import batch_order, to_float
from srs_core.training.averaging import WeightAverage
from srs_core.training.distributed import Team
from srs_core.training.log import Meter
from srs_core.training.network import TrainedNetwork
from srs_core.training.objective import Objective, Outcome
from srs_core.training.optimizer import make_optimizer
from srs_core.training.schedule import Plan, learning_rate
from srs_core.training.settings import TrainingSettings
from srs_core.training.state import write_state

__all__ = ["NotFiniteError", "StepReport", "Trainer"]


class NotFiniteError(ValueError):
    """The loss or its gradient is not a number any more; the last good state is still there."""


@dataclass(frozen=True)
class StepReport:
    """What one training step gave; accuracy is that on the step's own noisy pictures."""

    step: int
    epoch: float
    progress: float
    learning_rate: float
    loss: float
    accuracy: float
    residual: float
    jacobian: float | None
    seconds: float


class Trainer:
    """A run that can be stopped and resumed at any step with the same result as if it had not been.

    All randomness of a step follows from the seed and the step's number, so the state needs no generator.
    `clock` gives seconds; only differences count. `origin` says where data and first weights came from.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        plan: Plan,
        data: Arrays,
        model: MDEQ,
        *,
        device: torch.device,
        clock: Callable[[], float],
        origin: dict[str, Any] | None = None,
        compiled: bool = False,
        team: Team | None = None,
    ) -> None:
        self.team = team or Team()
        if len(data.images) < settings.pictures_per_step:
            raise ValueError(
                f"The data has {len(data.images)} pictures, fewer than the {settings.pictures_per_step} of one batch; "
                "give more data or a smaller --batch-size."
            )
        if settings.pictures_per_step % self.team.size:
            raise ValueError(
                f"A batch has {settings.pictures_per_step} pictures, which {self.team.size} processes cannot share "
                "evenly; choose another --batch-size."
            )
        if int(data.labels.max()) >= model.classifier.out_features:
            raise ValueError(
                f"The data has labels up to {int(data.labels.max())}, but the model knows "
                f"{model.classifier.out_features} classes; give the data that the run was begun with."
            )
        if settings.mixed_precision and device.type != "cuda":
            raise ValueError(f"--mixed-precision needs a CUDA device; this run is on {device.type}. Leave it out.")
        self.settings = settings
        self.plan = plan
        self.data = data
        self.origin = origin or {}
        self.device = device
        self.model = model.to(device).train()
        self.objective = Objective(TrainedNetwork(self.model, compiled=compiled), settings)
        self.optimizer = make_optimizer(self.model, settings)
        self.average = WeightAverage(self.model, settings.ema_decay)
        self.meter = Meter()
        self.step = 0
        self.seconds = 0.0
        self.finite = True
        self._clock = clock
        self._last_tick = clock()

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in one pass over the data."""
        return len(self.data.images) // self.settings.pictures_per_step

    @property
    def progress(self) -> float:
        """The share of the schedule that lies behind."""
        return self.plan.progress(self.step, self.seconds)

    def train_step(self) -> StepReport:
        """Draw a batch, go one step down its loss, and move the clock."""
        s, progress = self.settings, self.progress
        rate = learning_rate(s, progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        pictures, labels = self._batch()
        torch.manual_seed(((s.seed * 1_000_003 + self.step) * 4099 + self.team.rank) % 2**63)
        outcome = self.objective(pictures, labels, progress)
        self._descend(outcome.loss)
        self._tick()
        self.step += 1
        return self._report(outcome, progress, rate)

    def state_dict(self) -> dict[str, Any]:
        """Everything that a later `load_state_dict` needs to go on exactly from here."""
        return {
            "settings": self.settings.to_dict(),
            "plan": self.plan.to_dict(),
            "origin": self.origin,
            "step": self.step,
            "seconds": self.seconds,
            "classes": self.model.classifier.out_features,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.values,
            "average_updates": self.average.updates,
            "meter": self.meter.to_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to a saved moment of this run."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for key, value in state["average"].items():
            self.average.values[key].copy_(value)
        self.average.updates = state["average_updates"]
        self.meter = Meter.from_dict(state["meter"])
        self.origin = state["origin"]
        self.step, self.seconds = state["step"], state["seconds"]

    def save(self, folder: Path) -> None:
        """Write the state file of this moment; in a team, the first process does.

        Weights that are not finite are never written over good ones.
        """
        broken = [name for name, value in self.model.state_dict().items() if not bool(torch.isfinite(value).all())]
        if broken:
            self._fail(f"Step {self.step} left weights that are not finite ({broken[0]}).")
        if self.team.leads:
            write_state(folder, self.state_dict())

    def _batch(self) -> tuple[Tensor, Tensor]:
        epoch, position = divmod(self.step, self.steps_per_epoch)
        order = batch_order(len(self.data.images), epoch, self.settings.seed)
        whole = self.settings.pictures_per_step
        mine = whole // self.team.size
        first = position * whole + self.team.rank * mine
        chosen = order[first : first + mine]
        return to_float(self.data.images[chosen], self.device), self.data.labels[chosen].to(self.device)

    def _descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.team.average_gradients(self.model)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        # A loss that is not finite has a gradient that is not finite, in every process of a team.
        if not torch.isfinite(norm):
            self._fail(f"Step {self.step + 1} gave a loss of {loss.item():g} and a gradient of length {norm.item():g}.")
        self.optimizer.step()
        self.average.update(self.model)

    def _fail(self, what: str) -> NoReturn:
        self.finite = False
        raise NotFiniteError(
            f"{what} Training stops here and the last good state is kept: resume it with a smaller --learning-rate."
        )

    def _tick(self) -> None:
        now = self._clock()
        self.seconds = self.team.agree(self.seconds + now - self._last_tick, self.device)
        self._last_tick = now

    def _report(self, outcome: Outcome, progress: float, rate: float) -> StepReport:
        loss, accuracy, residual = self.team.mean(
            torch.stack([outcome.loss.detach(), outcome.accuracy, outcome.residual])
        ).tolist()
        jacobian = None if outcome.jacobian is None else float(outcome.jacobian.detach())
        self.meter.add(loss, accuracy, residual, jacobian)
        return StepReport(
            step=self.step,
            epoch=self.step / self.steps_per_epoch,
            progress=progress,
            learning_rate=rate,
            loss=loss,
            accuracy=accuracy,
            residual=residual,
            jacobian=jacobian,
            seconds=self.seconds,
        )

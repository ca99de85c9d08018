"""A run in a folder: begun or resumed, saved every few minutes, logged, and stopped in good order."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from srs_core.data import Arrays
from srs_core.mdeq.network import MDEQ
from srs_core.training.distributed import Team
from srs_core.training.log import LOG_FILE, Meter, append_row, forget_rows_after
from srs_core.training.schedule import Plan
from srs_core.training.settings import TrainingSettings
from srs_core.training.state import STATE_FILE, read_state
from srs_core.training.trainer import StepReport, Trainer
from srs_core.training.weights import load_weights

__all__ = ["begin", "resume", "run", "stored_settings"]

FIXED = ("variant", "seed", "batch_size", "noise_draws", "adversarial_draws", "optimizer")
"""Settings that a resumed run cannot change: its saved state or its place in the data depends on them."""


def begin(
    settings: TrainingSettings,
    data: Arrays,
    classes: int,
    folder: Path,
    *,
    data_name: str = "unnamed",
    epochs: float | None = None,
    minutes: float | None = None,
    init_from: str | Path | None = None,
    device: torch.device | str = "cpu",
    compiled: bool = False,
    team: Team | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Trainer:
    """A new run with a budget of epochs or of minutes; a folder that holds a run already is refused."""
    if (folder / STATE_FILE).exists():
        raise ValueError(f"{folder} already holds a run. Give --resume to go on with it, or another --out.")
    unit, total = _budget(epochs, minutes, data, settings)
    torch.manual_seed(settings.seed)
    model = MDEQ(settings.variant, dropout=settings.dropout, num_classes=classes)
    if init_from is not None:
        load_weights(model, init_from)
    where = torch.device(device)
    trainer = Trainer(
        settings,
        Plan(unit, total),
        data,
        model,
        device=where,
        clock=clock,
        compiled=compiled,
        team=team,
        origin={
            "data": data_name,
            "pictures": len(data.images),
            "init_from": None if init_from is None else str(init_from),
        },
    )
    folder.mkdir(parents=True, exist_ok=True)
    if trainer.team.leads:
        (folder / LOG_FILE).unlink(missing_ok=True)
    trainer.save(folder)
    return trainer


def stored_settings(folder: Path, changes: Mapping[str, Any]) -> TrainingSettings:
    """The settings with which the run in a folder would be resumed."""
    return _changed(read_state(folder), changes)


def resume(
    data: Arrays,
    folder: Path,
    *,
    changes: Mapping[str, Any] | None = None,
    epochs: float | None = None,
    minutes: float | None = None,
    device: torch.device | str = "cpu",
    compiled: bool = False,
    team: Team | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Trainer:
    """The run in a folder, exactly where its state was saved.

    `epochs` or `minutes` give it another budget, counted from the run's beginning. `changes` are other
    settings for the rest of the run.
    """
    state = read_state(folder)
    settings = _changed(state, changes or {})
    plan = Plan(**state["plan"])
    if epochs is not None or minutes is not None:
        unit, total = _budget(epochs, minutes, data, settings)
        plan = plan.replanned(unit, total, state["step"], state["seconds"])
    model = MDEQ(settings.variant, dropout=settings.dropout, num_classes=state["classes"])
    where = torch.device(device)
    trainer = Trainer(settings, plan, data, model, device=where, clock=clock, compiled=compiled, team=team)
    trainer.load_state_dict(state)
    if trainer.team.leads:
        forget_rows_after(folder, trainer.step)
    return trainer


def run(
    trainer: Trainer,
    folder: Path,
    *,
    save_seconds: float = 120.0,
    log_steps: int = 50,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[StepReport]:
    """Train until the budget is spent or `stop` says so, with a log and regular saves, one report a step.

    Whoever stops asking for reports leaves a saved state as well. A step that is not finite raises
    `NotFiniteError` and leaves the last saved state as it is.
    """
    saved = trainer.seconds
    try:
        while trainer.progress < 1.0 and not trainer.team.any(stop(), trainer.device):
            report = trainer.train_step()
            if trainer.step % log_steps == 0:
                _log(trainer, folder, report)
            if trainer.seconds - saved >= save_seconds:
                trainer.save(folder)
                saved = trainer.seconds
            yield report
    finally:
        if trainer.finite:
            trainer.save(folder)


def _log(trainer: Trainer, folder: Path, report: StepReport) -> None:
    row = {
        "step": report.step,
        "epoch": round(report.epoch, 4),
        "progress": round(report.progress, 5),
        "learning_rate": f"{report.learning_rate:.4g}",
        **trainer.meter.means(),
        "seconds": round(report.seconds, 1),
    }
    if trainer.team.leads:
        append_row(folder, row)
    trainer.meter = Meter()


def _budget(epochs: float | None, minutes: float | None, data: Arrays, settings: TrainingSettings) -> tuple[str, float]:
    if (epochs is None) == (minutes is None):
        raise ValueError("Give the budget once: either --epochs or --time-limit.")
    if minutes is not None:
        if not minutes > 0.0:
            raise ValueError(f"--time-limit is {minutes:g}; it must be above 0 minutes.")
        return "seconds", 60.0 * minutes
    if epochs is None or not epochs > 0.0:
        raise ValueError(f"--epochs is {epochs:g}; it must be above 0.")
    return "steps", max(1, round(epochs * (len(data.images) // settings.pictures_per_step)))


def _changed(state: dict[str, Any], changes: Mapping[str, Any]) -> TrainingSettings:
    settings = TrainingSettings.from_dict(state["settings"])
    for name in FIXED:
        if name in changes and changes[name] != getattr(settings, name):
            raise ValueError(
                f"The run was begun with {name} {getattr(settings, name)}; resuming cannot make it {changes[name]}. "
                "Begin another run with --init-from this one's folder."
            )
    return replace(settings, **changes)

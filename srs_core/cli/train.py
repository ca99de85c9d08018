"""The command `train`."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from srs_core.cli.app import app


@app.command()
def train(
    data: Annotated[str, typer.Option(help="x")],
    out: Annotated[Path, typer.Option(help="x")],
    variant: str = "small",
    sigma: float = 0.25,
    epochs: float | None = None,
    time_limit: float | None = None,
    resume: bool = False,
    init_from: str | None = None,
    seed: int = 0,
    batch_size: int = 64,
    learning_rate: float = 2e-3,
    weight_decay: float = 0.0,
    rise: float = 0.2,
    unrolled: float = 0.1,
    solve_steps: int = 4,
    solve_steps_end: int = 6,
    solve_jitter: int = 2,
    tail_steps: int = 2,
    jacobian_weight: float = 0.5,
    jacobian_frequency: float = 0.05,
    ema_decay: float = 0.999,
    label_smoothing: float = 0.0,
    compiled: Annotated[bool, typer.Option("--compile")] = False,
) -> None:
    """Train."""
    from srs_core.data import load_dataset
    from srs_core.training import run as runs
    from srs_core.training.settings import TrainingSettings

    dataset = load_dataset(data, "train")
    if resume:
        trainer = runs.resume(dataset.arrays(), out, epochs=epochs, minutes=time_limit, compiled=compiled)
    else:
        settings = TrainingSettings(
            variant=variant,
            sigma=sigma,
            seed=seed,
            batch_size=batch_size,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            rise=rise,
            unrolled=unrolled,
            solve_steps=solve_steps,
            solve_steps_end=solve_steps_end,
            solve_jitter=solve_jitter,
            tail_steps=tail_steps,
            jacobian_weight=jacobian_weight,
            jacobian_frequency=jacobian_frequency,
            ema_decay=ema_decay,
            label_smoothing=label_smoothing,
        )
        trainer = runs.begin(
            settings,
            dataset.arrays(),
            len(dataset.class_names),
            out,
            epochs=epochs,
            minutes=time_limit,
            init_from=init_from,
            compiled=compiled,
        )
    stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    steps = runs.run(trainer, out)
    for _ in steps:
        if stopped:
            steps.close()
            raise KeyboardInterrupt

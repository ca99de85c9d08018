"""The command `train`."""

import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from srs_core.cli.app import app, errors
from srs_core.training.settings import GRADIENTS, OPTIMIZERS, SCHEDULES, TrainingSettings

DEFAULTS = TrainingSettings()


def _setting(name: str, text: str, panel: str, flag: str | None = None) -> Any:
    """An option that is None unless given, so that --resume can tell what the user wants changed."""
    flags = [flag] if flag else []
    return typer.Option(None, *flags, help=text, show_default=str(getattr(DEFAULTS, name)), rich_help_panel=panel)


def _chosen(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


SCHEDULE, SOLVE, LOSS, NOISE = "Optimiser and schedule", "Equilibrium", "Regularisation", "Noise and attacks"


@app.command()
def train(
    data: Annotated[str, typer.Option(help="cifar10, an .npz with x_train and y_train, or a folder of pictures.")],
    out: Annotated[Path, typer.Option(help="The run's folder: state.pt to resume from, log.csv to look at.")],
    epochs: Annotated[float | None, typer.Option(help="Budget: passes over the data.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Budget: minutes of training. The learning rate reaches its end when the time does."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the run in --out, exactly where it was saved. Options given again change the rest of it.",
        ),
    ] = False,
    init_from: Annotated[
        str | None,
        typer.Option(
            help="Begin with other weights: a model's name, a .safetensors or .pth.tar file, or a run's folder."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps. With torchrun: one GPU a process.")] = "auto",
    compiled: Annotated[
        bool, typer.Option("--compile", help="Compile the network first: minutes now, faster steps later.")
    ] = False,
    variant: str | None = _setting("variant", "The network's size: small, large or imagenet.", "Model"),
    seed: int | None = _setting("seed", "Same seed, same machine: same weights.", "Model"),
    dropout: float | None = _setting("dropout", "Variational dropout inside f.", "Model"),
    sigma: float | None = _setting("sigma", "The noise's deviation; certify with the same one.", NOISE),
    noise_draws: int | None = _setting("noise_draws", "Noise draws of each picture in a batch.", NOISE),
    adversarial: float | None = _setting(
        "adversarial", "SmoothAdv: train on pictures attacked within this L2 distance (0: off; usual: 0.5).", NOISE
    ),
    adversarial_steps: int | None = _setting("adversarial_steps", "Steps of the attack.", NOISE),
    adversarial_draws: int | None = _setting("adversarial_draws", "Noise draws the attack looks at.", NOISE),
    batch_size: int | None = _setting("batch_size", "Noisy pictures a step, over all processes.", SCHEDULE),
    optimizer: str | None = _setting("optimizer", f"{_chosen(OPTIMIZERS)}.", SCHEDULE),
    learning_rate: float | None = _setting("learning_rate", "The schedule's highest learning rate.", SCHEDULE),
    schedule: str | None = _setting(
        "schedule", f"{_chosen(SCHEDULES)}: with a rise before the fall, or without.", SCHEDULE
    ),
    rise: float | None = _setting("rise", "The share of the budget in which one-cycle's rate rises.", SCHEDULE),
    momentum: float | None = _setting("momentum", "Of SGD.", SCHEDULE),
    weight_decay: float | None = _setting("weight_decay", "Decoupled, on convolution weights only.", SCHEDULE),
    clip: float | None = _setting("clip", "Longer gradients are cut to this length.", SCHEDULE),
    mixed_precision: bool | None = typer.Option(
        None,
        "--mixed-precision/--full-precision",
        help="Compute in bfloat16 on a CUDA GPU.",
        show_default="full",
        rich_help_panel=SCHEDULE,
    ),
    unrolled: float | None = _setting(
        "unrolled", "First phase: the share of the budget in which f is unrolled instead of solved.", SOLVE
    ),
    unrolled_steps: int | None = _setting("unrolled_steps", "Steps of f in the first phase.", SOLVE),
    solve_steps: int | None = _setting(
        "solve_steps", "Second phase: steps of f without gradient, at the beginning.", SOLVE
    ),
    solve_steps_end: int | None = _setting("solve_steps_end", "The same at the end of the run.", SOLVE),
    solve_jitter: int | None = _setting(
        "solve_jitter", "Random change of that number each step, so that no depth is special.", SOLVE
    ),
    gradient: str | None = _setting(
        "gradient", f"{_chosen(GRADIENTS)}: through the last steps, or through the fixed point.", SOLVE
    ),
    tail_steps: int | None = _setting("tail_steps", "Last steps of f with gradient (tail).", SOLVE),
    backward_steps: int | None = _setting("backward_steps", "Iterations for the gradient (implicit).", SOLVE),
    jacobian_weight: float | None = _setting(
        "jacobian_weight", "Keeps f's Jacobian small; a larger weight makes f converge in fewer steps.", LOSS
    ),
    jacobian_frequency: float | None = _setting("jacobian_frequency", "The share of steps that do so.", LOSS),
    consistency: float | None = _setting(
        "consistency", "Weight of the disagreement between a picture's noise draws (usual: 10, 2 draws).", LOSS
    ),
    consistency_entropy: float | None = _setting(
        "consistency_entropy", "Weight of the entropy of the draws' mean prediction.", LOSS
    ),
    label_smoothing: float | None = _setting("label_smoothing", "Share of the label given to all classes.", LOSS),
    ema_decay: float | None = _setting("ema_decay", "Of the moving average of weights that is exported.", LOSS),
) -> None:
    """Train a model on noisy pictures, in a folder from which it can be resumed at any time.

    First f is unrolled a few times, which is cheap; then its fixed point is approached without gradient and
    differentiated at its end, with a Jacobian term that makes the fixed point exist. The state is saved every
    two minutes; Ctrl-C saves first and exits with 130; a loss that is not a number stops the run and keeps the
    last good state.

    **Examples**

    `python -m srs_core train --data cifar10 --sigma 0.25 --epochs 30 --out runs/small-0.25`

    `python -m srs_core train --data cifar10 --sigma 0.5 --time-limit 60 --unrolled 0
    --init-from runs/small-0.25 --out runs/small-0.5`

    `python -m srs_core train --data cifar10 --out runs/small-0.25 --resume`

    `torchrun --nproc-per-node 4 -m srs_core train --variant large --data cifar10 --epochs 120 --batch-size 256
    --mixed-precision --out runs/large-0.25`

    When it is done: `python -m srs_core export runs/small-0.25 --name my-model --data cifar10`
    """
    given = {
        name: value
        for name, value in locals().items()
        if name in TrainingSettings.__dataclass_fields__ and value is not None
    }
    from srs_core.data import load_dataset
    from srs_core.device import pick_device
    from srs_core.mdeq.variants import find_variant
    from srs_core.training import run as runs
    from srs_core.training.distributed import join_team

    if resume and init_from:
        raise ValueError("--resume and --init-from exclude each other: the run has its own weights already.")
    settings = runs.stored_settings(out, given) if resume else TrainingSettings(**given)
    picture = find_variant(settings.variant).image_size
    dataset = load_dataset(data, "train", size=(picture, picture))
    with join_team(pick_device(device)) as (team, where):
        if resume:
            trainer = runs.resume(
                dataset.arrays(),
                out,
                changes=given,
                epochs=epochs,
                minutes=time_limit,
                device=where,
                compiled=compiled,
                team=team,
            )
        else:
            trainer = runs.begin(
                settings,
                dataset.arrays(),
                len(dataset.class_names),
                out,
                data_name=Path(data).name,
                epochs=epochs,
                minutes=time_limit,
                init_from=init_from,
                device=where,
                compiled=compiled,
                team=team,
            )
        stopped = _stop_on_signals()
        with _bar(visible=team.leads) as bar:
            task = bar.add_task("training", total=1.0, figures="")
            for report in runs.run(trainer, out, stop=stopped):
                figures = (
                    f"epoch {report.epoch:.2f} · loss {report.loss:.3f} · noisy accuracy {100 * report.accuracy:.0f} %"
                )
                bar.update(task, completed=report.progress, figures=f"{figures} · residual {report.residual:.3f}")
    if trainer.progress < 1.0:
        errors.print(f"Stopped at step {trainer.step}; the state is saved. Go on with --out {out} --resume.")
        raise KeyboardInterrupt
    if team.leads:
        errors.print(
            f"Done: {trainer.step} steps, {trainer.step / trainer.steps_per_epoch:.1f} epochs, "
            f"{trainer.seconds / 60:.0f} minutes. Next: python -m srs_core export {out} --name NAME --data {data}"
        )


def _stop_on_signals() -> Callable[[], bool]:
    """From now on Ctrl-C and a polite kill only raise a flag; the second one ends the process at once."""
    raised = False

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal raised
        raised = True
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    return lambda: raised


def _bar(*, visible: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
        console=errors,
        transient=True,
        disable=not (visible and errors.is_terminal),
    )

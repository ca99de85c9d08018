"""The command `export`."""

from pathlib import Path
from typing import Annotated

import typer

from srs_core.cli.app import app, errors, progress_bar


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="The folder that `train --out` wrote; the run need not be finished.")],
    name: Annotated[str, typer.Option(help="The model's name, under which `certify --model` will find it.")],
    data: Annotated[str, typer.Option(help="The test set: cifar10, an .npz with x_test and y_test, or a folder.")],
    notes: Annotated[str | None, typer.Option(help="A sentence to add to the card.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Make a model of a training run: measure its averaged weights on the test set, then keep them with a card.

    The card states the noisy test accuracy, the accuracy and residual after 1 to 30 cold steps, and how often a
    warm start of 1 or 3 steps gives another label than 30 cold ones.
    """
    from srs_core.data import load_dataset
    from srs_core.device import pick_device
    from srs_core.training.export import export as export_run

    test = load_dataset(data, "test")
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=100)
        card = export_run(
            run,
            name,
            test,
            device=str(pick_device(device)),
            notes=notes,
            progress=lambda share: bar.update(task, completed=round(100 * share)),
        )
    errors.print(
        f"Kept as {name}: noisy test accuracy {100 * card.measured['noisy_accuracy']:.2f} % at sigma {card.sigma:g}. "
        f"Try: python -m srs_core certify PICTURE --model {name}"
    )

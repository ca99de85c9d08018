"""`models` and `import-checkpoint`: what there is to certify with."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from srs_core.cli.app import app, errors, print_json

if TYPE_CHECKING:
    from srs_core.mdeq.cards import Card


@app.command()
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")] = False,
) -> None:
    """List the models there are: name, size, noise level, and what their cards say was measured.

    The cards, beside the weights in the checkpoint folder, also tell how each model was trained; --json prints them.
    """
    from srs_core.mdeq.checkpoints import available_models, checkpoint_folder
    from srs_core.words import plain_number

    cards = available_models()
    if as_json:
        print_json([card.to_dict() for card in cards])
        return
    if not cards:
        errors.print(f"There is no checkpoint in {checkpoint_folder()}. Train one, or import one.", style="yellow")
        return
    name = Column("name", no_wrap=True)
    # Without lines between the columns all of it fits 80 characters, long names included.
    headers = (name, "size", "noise", "accuracy under noise", "residual after 30 steps")
    table = Table(*headers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    certified = any("certified" in card.measured for card in cards)
    if certified:
        table.add_column("certified at 0.25")
    for card in cards:
        accuracy = card.measured.get("noisy_accuracy")
        residuals = {entry["steps"]: entry["residual"] for entry in card.measured.get("cold", [])}
        table.add_row(
            card.name,
            card.variant,
            "not stated" if card.sigma is None else f"{card.sigma:g}",
            "not measured" if accuracy is None else f"{100 * accuracy:.1f} %",
            plain_number(residuals[30], 1) if 30 in residuals else "not measured",
            *([_certified(card)] if certified else []),
        )
    Console().print(table)


def _certified(card: "Card") -> str:
    """The certified accuracy at radius 0.25 of each method, with the most steps it was measured with."""
    entries = sorted(card.measured.get("certified", []), key=lambda entry: (entry["method"], entry["steps"]))
    best = {entry["method"].upper(): entry["certified_accuracy"]["0.25"] for entry in entries}
    return "\n".join(f"{method} {100 * share:.0f} %" for method, share in best.items()) or "not measured"


@app.command("import-checkpoint")
def import_checkpoint(
    path: Annotated[Path, typer.Argument(help="A .pth.tar file written by the authors' training code.")],
    variant: Annotated[str, typer.Option(help="The network's size: small, large or imagenet.")],
    sigma: Annotated[float | None, typer.Option(help="The noise level that it was trained with.")] = None,
    name: Annotated[str | None, typer.Option(help="The name to keep it under (default: the file's).")] = None,
) -> None:
    """Convert a checkpoint of the reference implementation; its pickle is never executed."""
    from srs_core.mdeq.checkpoints import checkpoint_folder
    from srs_core.mdeq.reference import import_reference

    model = import_reference(path, variant, sigma=sigma, name=name, folder=checkpoint_folder(), device="cpu")
    errors.print(f"Kept as {model.name} (weights {model.hash}). Try: certify PICTURE --model {model.name}")

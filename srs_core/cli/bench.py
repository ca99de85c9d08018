"""The command `bench`: how fast this machine is, and how much of it the model uses."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from srs_core.cli.app import app, errors, print_json, progress_bar
from srs_core.cli.options import Device, Json

if TYPE_CHECKING:
    from srs_core.benchmark import Benchmark


@app.command()
def bench(
    variant: Annotated[str, typer.Option(help="The network's size: small, large or imagenet.")] = "small",
    batch_size: Annotated[
        int | None, typer.Option(help="Pictures evaluated together. Default: chosen by a short measurement.")
    ] = None,
    plain_batch_size: Annotated[int, typer.Option(help="The same for the training form beside it.")] = 400,
    repeats: Annotated[int, typer.Option(help="Rounds; each times every alternative once, and medians count.")] = 15,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Measure an evaluation of f: the inference form, the training form, and the machine's matrix products."""
    from srs_core.benchmark import benchmark_stream
    from srs_core.device import pick_device
    from srs_core.mdeq.variants import find_variant

    latest: Benchmark | None = None
    with progress_bar() as progress:
        rounds = progress.add_task("Measuring", total=repeats)
        for latest in benchmark_stream(
            find_variant(variant), pick_device(device), batch_size, plain_batch_size, repeats
        ):
            progress.update(rounds, completed=latest.repeats)
    assert latest is not None
    if as_json:
        print_json(latest.to_dict())
    else:
        _show(latest)


def _show(result: "Benchmark") -> None:
    evaluation = result.evaluation
    table = Table("one evaluation of f", "batch", "ms per picture", "GFLOP/s", "share of peak")
    for name, batch, ms in (
        ("training form", result.plain_batch_size, evaluation.plain_ms_per_sample),
        ("inference form", result.batch_size, evaluation.ms_per_sample),
    ):
        rate = result.flops_per_evaluation / ms / 1e6
        table.add_row(name, str(batch), f"{ms:.3f}", f"{rate:.1f}", f"{100 * rate / result.matmul_gflops:.0f} %")
    Console().print(table)
    form = "compiled for this processor" if result.compiled else "by torch"
    errors.print(
        f"{result.variant} on {result.device} with {result.threads} threads: the inference form "
        f"({form}) is {evaluation.ratio:.2f} times as fast. "
        f"An evaluation is {result.flops_per_evaluation / 1e6:.1f} MFLOP; matrix products reach "
        f"{result.matmul_gflops:.0f} GFLOP/s. Once per picture come stem and head: "
        f"{evaluation.inject_ms_per_sample:.3f} and {evaluation.classify_ms_per_sample:.3f} ms.",
        highlight=False,
    )

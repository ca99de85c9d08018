"""The command `bench`: how fast this machine certifies, and how much of it the model uses."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

from srs_core.cli import options
from srs_core.cli.app import app, errors, progress_bar

if TYPE_CHECKING:
    from srs_core.benchmark.evaluation import Benchmark
    from srs_core.benchmark.runs import Record
    from srs_core.mdeq.variants import Variant

QUICK = {"n": 1_000, "audit": 100, "repeats": 5}


@app.command()
def bench(
    model: options.ModelName = None,
    picture: Annotated[str, typer.Option(help="What is certified: a file, or gallery:INDEX.")] = "gallery:333",
    n: Annotated[int, typer.Option("--n", help="Votes of the headline; the other runs take fractions of it.")] = 10_000,
    audit: Annotated[int, typer.Option(help="Votes of serialized runs that the standard model checks.")] = 400,
    quick: Annotated[bool, typer.Option("--quick", help="1,000 votes and fewer repeats: half a minute.")] = False,
    variant: Annotated[
        str | None,
        typer.Option(help="Only time evaluations, of an untrained network: small, large or imagenet."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Pictures evaluated together. Default: chosen by a short measurement.")
    ] = None,
    plain_batch_size: Annotated[int, typer.Option(help="The same for the training form beside it.")] = 400,
    repeats: Annotated[int, typer.Option(help="Rounds; each times every alternative once, and medians count.")] = 15,
    device: options.Device = "auto",
    as_json: options.Json = False,
    out: options.Out = None,
) -> None:
    """Measure an evaluation of f, then whole certifications: plain and serialized, by solver, steps, votes and batch.

    With the default settings it takes about four minutes on two free cores. Ratios come from runs that take turns in
    one process. A file given with --out that lies in `benchmarks/` is shown on the dashboard's Speed page.
    """
    from srs_core.benchmark.files import benchmark_document
    from srs_core.device import pick_device
    from srs_core.mdeq.variants import find_variant

    if quick:
        n, audit, repeats = QUICK["n"], QUICK["audit"], QUICK["repeats"]
    records: tuple[Record, ...] = ()
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0
    settings: dict[str, Any] = {"n": n, "audit": audit, "repeats": repeats, "load_before": load}
    if variant is not None:
        result = _evaluations(find_variant(variant), pick_device(device), batch_size, plain_batch_size, repeats)
        settings = {"repeats": repeats, "load_before": load}
    else:
        network = options.pick_model(model, device)
        image = options.open_picture(picture, network, "crop")
        settings = {"model": network.name, "picture": picture, "sigma": options.pick_sigma(None, network), **settings}
        result = _evaluations(network.variant, pick_device(device), batch_size, plain_batch_size, repeats)
        records = _certifications(network, image, settings)
    options.deliver(benchmark_document(result, records, settings), as_json, out)
    if not as_json:
        _show_evaluation(result)
        _show_runs(records)


def _evaluations(
    variant: "Variant", device: Any, batch_size: int | None, plain_batch_size: int, repeats: int
) -> "Benchmark":
    from srs_core.benchmark.evaluation import benchmark_stream

    latest: Benchmark | None = None
    with progress_bar() as progress:
        rounds = progress.add_task("Measuring evaluations of f", total=repeats)
        for latest in benchmark_stream(variant, device, batch_size, plain_batch_size, repeats):
            progress.update(rounds, completed=latest.repeats)
    assert latest is not None
    return latest


def _certifications(network: Any, image: Any, settings: dict[str, Any]) -> "tuple[Record, ...]":
    from srs_core.benchmark.evaluation import in_bfloat16
    from srs_core.benchmark.plan import benchmark_groups
    from srs_core.benchmark.runs import runs_stream

    cheaper = "bfloat16" if in_bfloat16(network) else None
    groups = benchmark_groups(settings["sigma"], settings["n"], settings["audit"], cheaper)
    records: tuple[Record, ...] = ()
    with progress_bar() as progress:
        task = progress.add_task("Certifying", total=None)
        for state in runs_stream(network, image, groups):
            progress.update(task, completed=state.evaluations, total=max(state.total, state.evaluations))
            records = state.records
    return records


def _show_evaluation(result: "Benchmark") -> None:
    evaluation = result.evaluation
    table = Table("one evaluation of f", "batch", "ms per picture", "GFLOP/s", "share of peak")
    for name, batch, ms in (
        ("training form", result.plain_batch_size, evaluation.plain_ms_per_sample),
        ("inference form", result.batch_size, evaluation.ms_per_sample),
        ("in bfloat16", result.batch_size, evaluation.bfloat16_ms_per_sample),
    ):
        if ms is not None:
            rate = result.flops_per_evaluation / ms / 1e6
            table.add_row(name, str(batch), f"{ms:.3f}", f"{rate:.1f}", f"{100 * rate / result.matmul_gflops:.0f} %")
    Console().print(table)
    form = "compiled for this processor" if result.compiled else "by torch"
    errors.print(
        f"{result.variant} on {result.device} with {result.threads} threads: the inference form "
        f"({form}) is {evaluation.ratio:.2f} times as fast. "
        f"An evaluation is {result.flops_per_evaluation / 1e6:.1f} MFLOP; matrix products in float32 reach "
        f"{result.matmul_gflops:.0f} GFLOP/s. Once per picture come stem and head: "
        f"{evaluation.inject_ms_per_sample:.3f} and {evaluation.classify_ms_per_sample:.3f} ms.",
        highlight=False,
    )


def _show_runs(records: "tuple[Record, ...]") -> None:
    from srs_core.benchmark.plan import GROUPS

    for group, title in GROUPS.items():
        rows = [record for record in records if record.group == group]
        if not rows:
            continue
        columns = ("run", "votes", "evals", "s", "gain", "radius", "lost", "equal", "out")
        table = Table(
            *(Column(name, no_wrap=True) for name in columns),
            title=title[0].upper() + title[1:],
            box=box.SIMPLE_HEAD,
            collapse_padding=True,
            pad_edge=False,
        )
        for row in rows:
            name = f"batch {row.batch_size}" if group == "batches" else row.label
            table.add_row(name, f"{row.n:,}", f"{row.evaluations:,}", *_judged(row))
        Console().print(table)
    if records:
        Console().print(
            "Gain: how many times faster than plain smoothing (RS) on the same noise. Lost: the share of its "
            "radius. Equal: the radius of plain smoothing with this run's evaluations; where it is larger, speed was "
            "not worth it. Out: the share of the time spent neither in the network's layer nor in its two ends."
        )


def _judged(row: "Record") -> tuple[str, ...]:
    from srs_core.smoothing.bounds import format_radius

    faster = "" if row.speed_up_seconds is None else f"{row.speed_up_seconds:.1f}"
    lost = "" if row.relative_radius_difference is None else f"{100 * row.relative_radius_difference:.0f} %"
    equal = "" if row.equal_cost is None else format_radius(row.equal_cost.radius)
    return f"{row.seconds:.1f}", faster, format_radius(row.radius), lost, equal, f"{100 * row.outside_share:.0f} %"

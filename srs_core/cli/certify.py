"""`certify` and `compare`: one picture, one certificate or several side by side."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import TaskID
from rich.table import Table

from srs_core.cli import options
from srs_core.cli.app import app, errors, progress_bar

if TYPE_CHECKING:
    from srs_core.smoothing.certificate import Certificate
    from srs_core.smoothing.compare import Comparison, Race
    from srs_core.smoothing.snapshot import Snapshot


@app.command()
def certify(
    picture: options.Picture,
    model: options.ModelName = None,
    method: Annotated[str, typer.Option(help="srs (serialized), rs (plain) or auto (a pilot decides).")] = "srs",
    solver: Annotated[str, typer.Option(help="naive, anderson or broyden.")] = "anderson",
    steps: Annotated[int | None, typer.Option(help="Solver steps a vote. Default: 3 for srs, 30 for rs.")] = None,
    sigma: options.Sigma = None,
    n: options.N = 10_000,
    n0: options.N0 = 100,
    audit: options.Audit = None,
    census: options.Census = 0,
    alpha: options.Alpha = 0.001,
    batch_size: options.BatchSize = None,
    start: options.Start = "previous",
    restart_every: options.Restart = None,
    proxy_precision: options.ProxyPrecision = "float32",
    reference_steps: options.ReferenceSteps = 30,
    estimator: options.Estimator = "joint",
    anytime: Annotated[bool, typer.Option(help="Give bounds that hold while the run goes on.")] = False,
    robust_at: Annotated[
        float | None, typer.Option(help="Only ask whether it is robust at this radius; stops when answered.")
    ] = None,
    seed: options.Seed = 0,
    fit: options.Fit = "crop",
    device: options.Device = "auto",
    as_json: options.Json = False,
    out: options.Out = None,
) -> None:
    """Certify a picture: how far can it be disturbed before the smoothed model's answer can change?

    The radius is in L2 norm, with pixel values from 0 to 1. It holds with probability 1 - alpha for the *standard*
    model (a cold solve with --reference-steps steps) under Gaussian noise; abstaining is a result too.

    Example: python -m srs_core certify gallery:0 --method srs --steps 3 --n 2000
    """
    from srs_core.smoothing.settings import Settings
    from srs_core.smoothing.stream import certify_stream

    settings = Settings(
        method=method,
        sigma=options.sigma_or_any(sigma),
        solver=solver,
        steps=steps,
        n=n,
        n0=n0,
        audit=options.default_audit(n, audit),
        census=census,
        alpha=alpha,
        batch_size=batch_size,
        start=start,
        restart_every=restart_every,
        proxy_precision=proxy_precision,
        reference_steps=reference_steps,
        estimator=estimator,
        anytime=anytime,
        robust_at=robust_at,
        seed=seed,
    )
    network = options.pick_model(model, device)
    image = options.open_picture(picture, network, fit)
    settings = settings.with_(sigma=options.pick_sigma(sigma, network))
    last = _watch(certify_stream(network, image, settings))
    certificate = last.certificate
    assert certificate is not None
    options.deliver(certificate.to_dict(), as_json, out)
    if not as_json:
        _print_certificate(certificate, image.numel())


@app.command()
def compare(
    picture: options.Picture,
    model: options.ModelName = None,
    solver: Annotated[list[str] | None, typer.Option(help="Repeat for several. Default: all three.")] = None,
    steps: Annotated[list[int] | None, typer.Option(help="Repeat for several. Default: 1 and 3.")] = None,
    sigma: options.Sigma = None,
    n: options.N = 2_000,
    n0: options.N0 = 100,
    audit: options.Audit = None,
    census: options.Census = 0,
    alpha: options.Alpha = 0.001,
    batch_size: options.BatchSize = None,
    start: options.Start = "previous",
    restart_every: options.Restart = None,
    proxy_precision: options.ProxyPrecision = "float32",
    reference_steps: options.ReferenceSteps = 30,
    estimator: options.Estimator = "joint",
    seed: options.Seed = 0,
    fit: options.Fit = "crop",
    device: options.Device = "auto",
    as_json: options.Json = False,
    out: options.Out = None,
) -> None:
    """Run plain and serialized smoothing on the same noise and hold them against each other.

    *True mismatch* is the share of fast votes that the standard model does not share, known here because both ran on
    the same noisy pictures; the *mismatch bound* is what the audit could prove about it. *Equal cost* is the radius
    of plain smoothing with as many evaluations of f as the serialized run spent: where it is larger, plain wins.
    """
    from srs_core.smoothing.compare import compare_stream
    from srs_core.smoothing.settings import SOLVER_NAMES, Settings

    shared = Settings(
        sigma=options.sigma_or_any(sigma),
        n=n,
        n0=n0,
        audit=options.default_audit(n, audit),
        census=census,
        alpha=alpha,
        batch_size=batch_size,
        start=start,
        restart_every=restart_every,
        proxy_precision=proxy_precision,
        reference_steps=reference_steps,
        estimator=estimator,
        seed=seed,
    )
    each = [shared.with_(solver=s, steps=count) for count in steps or (1, 3) for s in solver or SOLVER_NAMES]
    network = options.pick_model(model, device)
    image = options.open_picture(picture, network, fit)
    noise = options.pick_sigma(sigma, network)
    settings = [one.with_(sigma=noise) for one in each]
    comparison = _watch_race(compare_stream(network, image, settings))
    options.deliver(comparison.to_dict(), as_json, out)
    if not as_json:
        _print_comparison(comparison)


def _watch(stream: Iterable["Snapshot"]) -> "Snapshot":
    """Follow a certification on a progress bar; an interrupt shows the votes so far, marked as no certificate."""
    from srs_core.smoothing.bounds import format_radius

    snapshot = None
    try:
        with progress_bar() as bar:
            task = bar.add_task("selecting the class", total=None)
            for snapshot in stream:
                radius = snapshot.radius_estimate
                text = "" if radius is None else f", radius so far about {format_radius(radius)}"
                bar.update(task, description=f"voting{text}", completed=snapshot.done, total=snapshot.total)
    except KeyboardInterrupt:
        votes = () if snapshot is None else snapshot.votes
        errors.print(f"Interrupted. This is no certificate: votes so far by class {list(votes)}.", style="yellow")
        raise
    assert snapshot is not None
    return snapshot


def _watch_race(stream: Iterable["Race"]) -> "Comparison":
    race = None
    try:
        with progress_bar() as bar:
            tasks: list[TaskID] = []
            for race in stream:
                for i, snapshot in enumerate(race.snapshots):
                    if len(tasks) <= i:
                        tasks.append(bar.add_task("waiting", total=None))
                    if snapshot is not None:
                        bar.update(tasks[i], description=snapshot.label, completed=snapshot.done, total=snapshot.total)
    except KeyboardInterrupt:
        for snapshot in () if race is None else race.snapshots:
            if snapshot is not None:
                errors.print(f"{snapshot.label}: votes so far by class {list(snapshot.votes)}.", style="yellow")
        errors.print("Interrupted. These votes are no certificate.", style="yellow")
        raise
    assert race is not None
    assert race.comparison is not None
    return race.comparison


def _print_certificate(certificate: "Certificate", values: int) -> None:
    from srs_core.words import claim, facts

    table = Table(show_header=False)
    for fact in facts(certificate):
        table.add_row(fact.label, fact.value)
    console = Console()
    console.print(table)
    console.print(claim(certificate, values), highlight=False)


def _print_comparison(comparison: "Comparison") -> None:
    from srs_core.smoothing.bounds import format_radius

    table = Table("run", "answer", "radius", "wrong votes: true, bound", "evaluations", "seconds", "equal cost")
    rs = comparison.rs
    table.add_row(f"RS {rs.steps} {rs.solver}", _answer(rs), format_radius(rs.radius), "", *_price(rs), "")
    for c, m in zip(comparison.srs, comparison.measured, strict=True):
        winner = "plain" if m.equal_cost.plain_wins else "nobody" if c.abstained else "serialized"
        table.add_row(
            f"SRS {c.steps} {c.solver}",
            _answer(c),
            format_radius(c.radius),
            f"{_percent(m.true_mismatch)}, {_percent(c.mismatch_bound)}",
            *_price(c),
            f"{format_radius(m.equal_cost.radius)} {winner}",
        )
    console = Console()
    console.print(table)
    console.print("Equal cost: the radius of plain RS for the same number of evaluations, and who certifies more.")


def _answer(certificate: "Certificate") -> str:
    return "abstains" if certificate.abstained else certificate.class_name


def _price(certificate: "Certificate") -> tuple[str, str]:
    return f"{certificate.evaluations:,}", f"{certificate.seconds:.1f}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"

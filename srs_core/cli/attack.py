"""`attack`: try to change the smoothed model's answer inside and outside of a certificate."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from srs_core.cli import options
from srs_core.cli.app import app, errors, progress_bar

if TYPE_CHECKING:
    from torch import Tensor

    from srs_core.attacks.result import AttackResult, AttackSnapshot
    from srs_core.attacks.settings import AttackSettings
    from srs_core.attacks.target import Target
    from srs_core.smoothing.certificate import Certificate
    from srs_core.smoothing.settings import Settings


@app.command()
def attack(
    picture: options.Picture,
    radius: Annotated[
        list[float] | None, typer.Option(help="How far the attack may go, in L2 norm. Repeat for several.")
    ] = None,
    smallest: Annotated[
        float | None, typer.Option(help="Look for the smallest radius at which the attack wins, up to this one.")
    ] = None,
    model: options.ModelName = None,
    samples: Annotated[
        int, typer.Option(help="Noise draws that the attack averages over (1, 4, 8, 16, ...); 0 attacks without noise.")
    ] = 16,
    steps: Annotated[int, typer.Option(help="Gradient steps of a search.")] = 20,
    step: Annotated[float, typer.Option(help="Length of a step, as a share of the radius.")] = 0.1,
    restarts: Annotated[int, typer.Option(help="Further searches from random points inside the radius.")] = 0,
    method: Annotated[
        str, typer.Option(help="How the picture is certified first: srs (serialized) or rs (plain).")
    ] = "srs",
    sigma: options.Sigma = None,
    n: Annotated[
        int, typer.Option("--n", help="Votes for the certificate, and for the verdict on each attack.")
    ] = 1_000,
    n0: options.N0 = 100,
    audit: options.Audit = None,
    alpha: Annotated[
        float, typer.Option(help="The probability with which the certificate, and each verdict, may be wrong.")
    ] = 0.001,
    batch_size: options.BatchSize = None,
    reference_steps: options.ReferenceSteps = 30,
    seed: options.Seed = 0,
    fit: options.Fit = "crop",
    device: options.Device = "auto",
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write the attacked pictures to this .npz file, as floats (a PNG would round).",
            callback=options.writable,
        ),
    ] = None,
    as_json: options.Json = False,
    out: options.Out = None,
) -> None:
    """Attack a picture: certify it, then search for a nearby picture that is answered differently.

    The search climbs the gradient of the smoothed model's loss (Smooth-PGD with --samples noise draws; plain PGD
    with 0) and never leaves the radius or the pixel range [0, 1]. The answer on the attacked picture is decided by a
    vote of its own with fresh noise: *changed*, *same* or *undecided*. Inside the certified radius it should never be
    *changed*; outside, an attack that fails proves nothing, because a stronger one might win.

    Example: python -m srs_core attack gallery:0 --radius 0.25 --radius 1 --samples 16 --n 500
    """
    from srs_core.attacks.settings import AttackSettings
    from srs_core.smoothing.settings import Settings

    radii = list(radius or [])
    if not radii and smallest is None:
        raise ValueError("No radius is given; say how far the attack may go with --radius, or look with --smallest.")
    for value in [*radii, *([] if smallest is None else [smallest])]:
        if not 0 < value < float("inf"):
            raise ValueError(f"radius is {value}; it must be a positive number.")
    certifying = Settings(
        method=method,
        sigma=options.sigma_or_any(sigma),
        n=n,
        n0=n0,
        audit=options.default_audit(n, audit),
        alpha=alpha,
        batch_size=batch_size,
        reference_steps=reference_steps,
        steps=reference_steps if method == "rs" else None,
        seed=seed,
    )
    attacking = AttackSettings.against(
        certifying, samples=samples, steps=steps, step=step, restarts=restarts, n=n, batch_size=batch_size
    )
    target = _target(model, device)
    network: Any = target.answer
    image = options.open_picture(picture, network, fit)
    noise = options.pick_sigma(sigma, network)
    certificate, answer, results = _run(
        target, image, certifying.with_(sigma=noise), attacking.with_(sigma=noise), radii, smallest
    )
    if save is not None:
        _save(save, image, results)
    options.deliver(_document(certificate, answer, results, network.classes), as_json, out)
    if not as_json:
        _print(certificate, answer, results, network.classes)


def _target(name: str | None, device: str) -> "Target":
    from srs_core.attacks.target import load_target

    return load_target(options.pick_name(name), device)


def _run(
    target: "Target",
    image: "Tensor",
    certifying: "Settings",
    attacking: "AttackSettings",
    radii: list[float],
    smallest: float | None,
) -> "tuple[Certificate, int | None, list[AttackResult]]":
    """Certify, then attack at each radius, then hunt for the smallest; one bar for each.

    Also returns the answer that was attacked; None when there was none to attack.
    """
    from srs_core.attacks.clean import answer_to_change
    from srs_core.attacks.smallest import smallest_radius_stream
    from srs_core.attacks.stream import attack_stream
    from srs_core.smoothing.stream import certify_stream

    results: list[AttackResult] = []
    try:
        with progress_bar() as bar:
            task = bar.add_task("certifying", total=None)
            certificate = None
            for snapshot in certify_stream(target.answer, image, certifying):
                bar.update(task, completed=snapshot.done, total=snapshot.total)
                certificate = snapshot.certificate
            assert certificate is not None
            label = answer_to_change(target, image, certificate, attacking)
            if label is None:
                return certificate, None, results
            for radius in radii:
                results += _watch(bar, attack_stream(target, image, label, radius, attacking))
            if smallest is not None and smallest > certificate.radius:
                hunt = smallest_radius_stream(target, image, label, attacking, low=certificate.radius, high=smallest)
                results += _watch(bar, (state.current for state in hunt))
    except KeyboardInterrupt:
        told = ", ".join(f"{result.outcome} at {result.radius:g}" for result in results) or "none"
        errors.print(f"Interrupted. Attacks finished so far: {told}.", style="yellow")
        raise
    return certificate, label, results


def _watch(bar: Progress, stream: "Iterator[AttackSnapshot]") -> "Iterator[AttackResult]":
    """Follow one attack after the other on a bar each."""
    task = None
    for snapshot in stream:
        if task is None:
            task = bar.add_task("", total=snapshot.total)
        doing = "searching" if snapshot.phase == "search" else "voting"
        text = f"radius {snapshot.radius:.3g}: {doing}, {snapshot.share:.0%} of the draws still agree"
        bar.update(task, description=text, completed=snapshot.done, total=snapshot.total)
        if snapshot.result is not None:
            task = None
            yield snapshot.result


def _save(path: Path, image: "Tensor", results: "Sequence[AttackResult]") -> None:
    import numpy as np

    attacked = np.stack([result.attacked.numpy() for result in results]) if results else np.zeros((0, *image.shape))
    radii = np.array([result.radius for result in results])
    with path.open("wb") as stream:  # a path alone would get .npz appended to whatever name the user chose
        np.savez(stream, picture=image.numpy(), attacked=attacked, radius=radii)


def _document(
    certificate: "Certificate", answer: int | None, results: "Sequence[AttackResult]", classes: Sequence[str]
) -> dict[str, Any]:
    from srs_core.attacks.words import class_name, contradicts

    attacks = [
        {
            **result.to_dict(),
            "answer_name": None if result.answer is None else class_name(classes, result.answer),
            "inside_certificate": result.distance < certificate.radius,
            "contradicts_certificate": contradicts(result, certificate),
        }
        for result in results
    ]
    won = [result.distance for result in results if result.outcome == "changed"]
    return {
        "certificate": certificate.to_dict(),
        "clean_answer": answer,
        "attacks": attacks,
        "smallest_winning_radius": min(won, default=None),
    }


def _print(
    certificate: "Certificate", answer: int | None, results: "Sequence[AttackResult]", classes: Sequence[str]
) -> None:
    from srs_core.attacks.clean import NOT_ESTABLISHED
    from srs_core.attacks.words import class_name, contradicts, distance_up, verdict
    from srs_core.words import claim

    console = Console()
    console.print(f"Before: {claim(certificate)}", highlight=False)
    if answer is None:
        console.print(NOT_ESTABLISHED)
        return
    if certificate.abstained:
        console.print(f"A vote of its own established the answer “{class_name(classes, answer)}”, which is attacked.")
    if not results:
        console.print(
            "The certificate reaches further than the attack was allowed to go: there is nothing to hunt for."
        )
        return
    table = Table("radius", "distance", "outcome", "answer", "votes for it", "votes for the original answer", "seconds")
    for result in results:
        leader = max(range(len(result.votes)), key=result.votes.__getitem__)
        table.add_row(
            f"{result.radius:.4g}",
            distance_up(result.distance),
            result.outcome,
            "cannot tell" if result.answer is None else class_name(classes, result.answer),
            f"{result.votes[leader]:,} of {sum(result.votes):,}",
            f"{result.votes[result.label]:,}",
            f"{result.seconds:.1f}",
        )
    console.print(table)
    for result in results:
        style = "red" if contradicts(result, certificate) else None
        console.print(verdict(result, certificate, classes), highlight=False, style=style)
    won = [result.distance for result in results if result.outcome == "changed"]
    if len(results) > 1:
        told = f"The smallest distance at which an attack won: {distance_up(min(won))}." if won else "No attack won."
        console.print(told, highlight=False)

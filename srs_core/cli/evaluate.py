"""`evaluate`: certify a test set, in files that survive a crash, on this machine or on a Ray cluster."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from srs_core.cli import options
from srs_core.cli.app import app, command_line, errors, print_json, progress_bar
from srs_core.cli.evaluate_attack import ATTACK_RADII, Attacked, Attacks

if TYPE_CHECKING:
    from srs_core.evaluate.run import Progress, Worker

Many = "Repeat for several."


@app.command()
def evaluate(
    out: Annotated[Path, typer.Option(help="The result file, such as results.tsv; several settings get a file each.")],
    config: Annotated[Path | None, typer.Option(help="A settings file, such as one of ablations/*.json.")] = None,
    model: Annotated[list[str] | None, typer.Option(help=f"A name from `models`, or a path. {Many}")] = None,
    data: Annotated[str | None, typer.Option(help="cifar10, gallery, an .npz file, or a folder of classes.")] = None,
    every: Annotated[int | None, typer.Option(help="Take every k-th picture; 20 is usual for CIFAR-10.")] = None,
    first: Annotated[int | None, typer.Option(help="The position of the first picture taken.")] = None,
    stop: Annotated[int | None, typer.Option(help="The position before which to stop.")] = None,
    method: Annotated[list[str] | None, typer.Option(help=f"rs, srs or auto. {Many} Default: srs.")] = None,
    solver: Annotated[list[str] | None, typer.Option(help=f"naive, anderson or broyden. {Many}")] = None,
    steps: Annotated[list[int] | None, typer.Option(help=f"Solver steps a vote. {Many}")] = None,
    sigma: options.Sigma = None,
    n: Annotated[int | None, typer.Option("--n", help="Votes for each picture. Default: 10,000.")] = None,
    n0: Annotated[int | None, typer.Option("--n0", help="Selection draws. Default: 100.")] = None,
    audit: options.Audit = None,
    census: Annotated[int | None, typer.Option(help="Part of the audit spent on the least sure votes.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Error probability of each certificate. Default: 0.001.")] = None,
    batch_size: options.BatchSize = None,
    start: Annotated[str | None, typer.Option(help="Warm start: previous, mean, clean or zero.")] = None,
    restart_every: options.Restart = None,
    proxy_precision: Annotated[str | None, typer.Option(help="Of the fast votes: float32 or bfloat16.")] = None,
    reference_steps: Annotated[int | None, typer.Option(help="Steps of the standard model. Default: 30.")] = None,
    estimator: Annotated[str | None, typer.Option(help="joint (tightest), exact or paper.")] = None,
    seed: Annotated[int | None, typer.Option(help="Each picture's noise derives from this and its index.")] = None,
    device: options.Device = "auto",
    threads: Annotated[int | None, typer.Option(help="Threads of each process. Default: all here, 1 on Ray.")] = None,
    ray: Annotated[
        str | None, typer.Option(help="local (start a cluster here), auto (find one), or an address.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Pictures in work at once on Ray. Default: as fit.")] = None,
    keep_pictures: Annotated[bool, typer.Option(help="Keep the pictures beside the results, to be shown.")] = False,
    attack: Annotated[
        list[int] | None,
        typer.Option(help=f"Then attack every picture, with so many noise draws (0: plain PGD). {Many}"),
    ] = None,
    attack_radius: Annotated[
        list[float] | None, typer.Option(help=f"How far attacks may go. {Many} Default: 0.25, 0.5, ..., 1.5.")
    ] = None,
    attack_n: Annotated[int, typer.Option(help="Votes that decide the answer on each attacked picture.")] = 1_000,
    as_json: options.Json = False,
) -> None:
    """Certify many pictures under one or more settings, all on the same noise, one result file for each setting.

    The files are tab-separated, with the columns *idx label predict radius correct time* first. Start the same command
    again to continue after an interruption; at most the pictures in work are lost. With several methods, --solver and
    --steps are those of srs; rs is then the standard model, against which srs is measured. Several settings write
    results-SRS-MDEQ-3A.tsv and so on, several models results-MODEL-....tsv. Each file has a .json beside it that says
    how it was made. With --attack the certified pictures are attacked, into results-attacks.tsv: accuracy under attack
    and the share of attacks that won, on certified and on other pictures.

    Example: python -m srs_core evaluate --data cifar10 --every 20 --method rs --method srs --steps 1 --steps 3
    --out results.tsv
    """
    from srs_core.data import load_dataset
    from srs_core.evaluate import pictures
    from srs_core.evaluate.plan import Evaluation
    from srs_core.evaluate.run import evaluate_stream, result_paths
    from srs_core.evaluate.settings_file import SettingsFile, check_not_set, parts_of, read_settings_file

    file = SettingsFile() if config is None else read_settings_file(config)
    given = {
        "sigma": sigma,
        "n": n,
        "n0": n0,
        "audit": audit,
        "census": census,
        "alpha": alpha,
        "batch_size": batch_size,
        "start": start,
        "restart_every": restart_every,
        "proxy_precision": proxy_precision,
        "reference_steps": reference_steps,
        "estimator": estimator,
        "seed": seed,
    }
    check_not_set(given, file.settings)
    common = {**file.common, **{name: value for name, value in given.items() if value is not None}}
    if "n" in common and "audit" not in common:
        common["audit"] = options.default_audit(common["n"], None)
    if file.settings and (method or solver or steps):
        raise ValueError("The settings file says which methods, solvers and steps to run; leave these options out.")
    settings = file.settings or tuple(_settings(method or ["srs"], solver or ["anderson"], list(steps or [])))
    parts_of(common, settings, sigma=options.sigma_or_any(sigma))
    spec = data or file.data
    if spec is None:
        raise ValueError("No dataset is named; give one with --data: cifar10, gallery, an .npz file or a folder.")
    selection = file.selection
    changed = {key: value for key, value in (("every", every), ("first", first), ("stop", stop)) if value is not None}
    selection = type(selection)(**{**vars(selection), **changed})
    attacks = Attacks(tuple(attack or ()), tuple(attack_radius or ATTACK_RADII), attack_n)
    if ray is not None and device != "auto":
        raise ValueError(
            f"device is {device!r}, but on Ray each worker takes what the cluster has; leave --device out."
        )
    worker = _worker(ray, workers, threads)
    names: Sequence[str | None] = model or file.models or (None,)
    written: list[Path] = []
    attacked: list[Attacked] = []
    for name in names:
        network = options.pick_model(name, "cpu" if ray else device)
        size = (network.variant.image_size, network.variant.image_size)
        dataset = selection.of(load_dataset(spec, size=size, classes=network.classes or None))
        parts = parts_of(common, settings, sigma=common.get("sigma") or options.pick_sigma(None, network))
        evaluation = Evaluation(network, dataset, selection, parts)
        paths = result_paths(evaluation, out, network.name if len(names) > 1 else "")
        run = {"command": command_line(), "ray": ray, **({"threads": threads or 1} if ray else {})}
        stream = evaluate_stream(evaluation, paths, worker, run)
        begun = [next(stream)]  # other settings are refused here, before they replace the pictures kept
        if keep_pictures:
            pictures.keep_pictures(dataset, out)
        _watch(chain(begun, stream), network.name)
        written.extend(paths.values())
        if attacks.samples:
            attacked += attacks.run(options.pick_name(name), device, evaluation, paths)
    _deliver(written, attacked, as_json)


def _settings(methods: list[str], solvers: list[str], steps: list[int]) -> Iterable[dict[str, Any]]:
    """One entry for each combination; beside other methods, rs stands for the standard model and takes neither."""
    for method in methods:
        if method == "rs" and len(methods) > 1:
            yield {"method": "rs"}
            continue
        counts: Sequence[int | None] = steps or (None,)
        yield from ({"method": method, "solver": s, "steps": count} for count in counts for s in solvers)


def _worker(ray: str | None, workers: int | None, threads: int | None) -> "Worker":
    """Where pictures are certified; threads are set here for a local run, and by each worker on Ray."""
    import torch

    from srs_core.evaluate.on_ray import Cluster
    from srs_core.evaluate.run import here

    if ray is not None:
        return Cluster(ray, workers, 1 if threads is None else threads)
    if workers is not None:
        raise ValueError(f"workers is {workers}, but they work on Ray only; add --ray local.")
    if threads is not None:
        if threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1.")
        torch.set_num_threads(threads)
    return here


def _watch(stream: Iterable["Progress"], title: str) -> None:
    """Follow an evaluation on a progress bar; an interrupt says how to go on."""
    progress = None
    try:
        with progress_bar() as bar:
            task = None
            for progress in stream:
                if task is None:
                    task = bar.add_task(title, total=progress.total, completed=progress.found)
                bar.update(task, completed=progress.done + progress.fraction)
    except KeyboardInterrupt:
        if progress is not None:
            errors.print(
                f"Interrupted after {progress.done} of {progress.total} pictures. Give the same command to continue.",
                style="yellow",
            )
        raise


def _deliver(paths: list[Path], attacked: list[Attacked], as_json: bool) -> None:
    from srs_core.evaluate.results import read_results
    from srs_core.evaluate.summary_table import summarise, text_table

    results = [read_results(path) for path in paths]
    table = summarise(results)
    if as_json:
        attacks = {
            "attacks": [record for each in attacked for record in each.records()],
            "contradictions": sum(each.contradictions for each in attacked),
        }
        print_json(
            {"files": [str(path) for path in paths], "summary": table.records(), **(attacks if attacked else {})}
        )
        return
    typer.echo(text_table(table), nl=False)
    for path in paths:
        errors.print(f"Wrote {path}", highlight=False)
    for each in attacked:
        each.show()

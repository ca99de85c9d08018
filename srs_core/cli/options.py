"""Options that several commands share, and the way from them to a picture, a model and settings."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from srs_core.cli.app import print_json

if TYPE_CHECKING:
    from torch import Tensor

    from srs_core.mdeq.inference import InferenceMDEQ

__all__ = [
    "N0",
    "Alpha",
    "Audit",
    "BatchSize",
    "Census",
    "Device",
    "Estimator",
    "Fit",
    "Json",
    "ModelName",
    "N",
    "Out",
    "Picture",
    "ProxyPrecision",
    "ReferenceSteps",
    "Restart",
    "Seed",
    "Sigma",
    "Start",
    "default_audit",
    "deliver",
    "open_picture",
    "pick_model",
    "pick_name",
    "pick_sigma",
    "sigma_or_any",
    "writable",
]


def writable(path: Path | None) -> Path | None:
    """The path as given, or an error at once: hours later, when there is a result to write, it would be lost."""
    if path is not None and not path.absolute().parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}.")
    if path is not None and path.is_dir():
        raise ValueError(f"{path} cannot be written: it is a folder. Give the name of a file.")
    return path


Picture = Annotated[str, typer.Argument(help="A picture file, or gallery:INDEX for a picture of the sample gallery.")]
ModelName = Annotated[
    str | None, typer.Option("--model", help="A name from `models`, or a .safetensors path. Default: the first one.")
]
Device = Annotated[str, typer.Option(help="auto (CUDA, else Apple MPS, else CPU), cpu, cuda, cuda:1 or mps.")]
Fit = Annotated[str, typer.Option(help="How the picture meets the model's size: crop (centre) or letterbox.")]
Sigma = Annotated[
    float | None, typer.Option(help="Noise level, in units of the pixel range [0, 1]. Default: the model's own.")
]
N = Annotated[int, typer.Option("--n", help="Votes: noisy copies of the picture that are counted.")]
N0 = Annotated[int, typer.Option("--n0", help="Selection draws, which choose the class and are not counted.")]
Audit = Annotated[
    int | None,
    typer.Option(help="Votes that the standard model checks, at random. Default: a fifth of n, at most 1,000."),
]
Census = Annotated[int, typer.Option(help="Part of the audit spent on the votes that the proxy was least sure of.")]
Alpha = Annotated[float, typer.Option(help="The probability with which the certificate may be wrong.")]
BatchSize = Annotated[int | None, typer.Option(help="Noisy copies solved together. Default: 64, on CUDA 512.")]
Start = Annotated[str, typer.Option(help="Where a warm start begins: previous, mean, clean or zero.")]
Restart = Annotated[int | None, typer.Option(help="Warm the chain up again every so many batches.")]
ProxyPrecision = Annotated[
    str, typer.Option(help="What the fast votes compute in: float32, or bfloat16 where the hardware gains by it.")
]
ReferenceSteps = Annotated[int, typer.Option(help="Steps of the standard model, whose smoothing is certified.")]
Estimator = Annotated[str, typer.Option(help="From counts to a bound: joint (tightest), exact or paper.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same noise, the same audit, the same certificate.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]
Out = Annotated[Path | None, typer.Option(help="Also write the JSON document to this file.", callback=writable)]

MOST_AUDITED = 1_000


def default_audit(n: int, audit: int | None) -> int:
    """The audit's size: as given, else a fifth of the votes and at most a thousand."""
    return audit if audit is not None else max(min(n // 5, MOST_AUDITED), 1)


def pick_model(name: str | None, device: str) -> "InferenceMDEQ":
    """The model of that name, or the first there is."""
    from srs_core.mdeq.checkpoints import load_model

    return load_model(pick_name(name), device)


def pick_name(name: str | None) -> str:
    """The name as given, else that of the model to begin with."""
    from srs_core.mdeq.checkpoints import available_models, default_first

    if name is not None:
        return name
    cards = available_models()
    if not cards:
        raise ValueError("There is no model yet: train one, or bring one with import-checkpoint.")
    return default_first(cards)[0].name


def sigma_or_any(sigma: float | None) -> float:
    """A noise level to check the other options with, before the model that has its own is loaded."""
    return 1.0 if sigma is None else sigma


def pick_sigma(sigma: float | None, model: "InferenceMDEQ") -> float:
    """The noise level: as given, else the one the model was trained with."""
    if sigma is not None:
        return sigma
    if model.sigma is None:
        raise ValueError(f"The card of {model.name} states no noise level; give one with --sigma.")
    return model.sigma


def open_picture(picture: str, model: "InferenceMDEQ", fit: str) -> "Tensor":
    """The picture as the model sees it: a file, or a picture of the sample gallery by its index."""
    from typing import get_args

    from srs_core.data import gallery
    from srs_core.images import Fit, load_image

    fits: dict[str, Fit] = {name: name for name in get_args(Fit)}
    if fit not in fits:
        raise ValueError(f"fit is {fit!r}; choose one of {', '.join(fits)}.")
    if picture.startswith("gallery:"):
        pictures = {str(sample.index): sample.image for sample in gallery()}
        index = picture.removeprefix("gallery:")
        if index not in pictures:
            raise ValueError(f"The gallery has no picture {index!r}; it has {', '.join(pictures)}.")
        return pictures[index]
    size = model.variant.image_size
    return load_image(picture, (size, size), fit=fits[fit]).tensor


def deliver(document: dict[str, Any], as_json: bool, out: Path | None) -> None:
    """Write the JSON document to a file, and print it, where that is asked for."""
    if out is not None:
        out.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        print_json(document)

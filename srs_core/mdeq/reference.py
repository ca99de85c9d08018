"""Reading checkpoints that the authors' code wrote (.pth.tar), without ever running what is inside."""

import warnings
from pathlib import Path

import torch
from torch import Tensor

from srs_core.data import CIFAR10_CLASSES
from srs_core.device import pick_device
from srs_core.mdeq.cards import Card, CheckpointError
from srs_core.mdeq.checkpoints import fill, save_checkpoint
from srs_core.mdeq.inference import InferenceMDEQ, for_inference
from srs_core.mdeq.network import MDEQ
from srs_core.mdeq.variants import Variant, find_variant

__all__ = ["import_reference", "read_reference_state"]


def import_reference(
    path: str | Path,
    variant: str,
    *,
    sigma: float | None = None,
    name: str | None = None,
    classes: tuple[str, ...] | None = None,
    folder: Path | None = None,
    device: str = "auto",
) -> InferenceMDEQ:
    """A model from the authors' checkpoint: a bare state dict, or a dict that holds one under `state_dict`.

    A `module.` prefix (from multi-GPU training) is dropped. Only tensors are read; a pickle that wants to
    run code is refused. With `folder`, the model is also kept there in our format.
    """
    path = Path(path)
    if sigma is not None and not 0 <= sigma < float("inf"):
        raise CheckpointError(f"sigma is {sigma}; a noise level is a number from 0.")
    shape = find_variant(variant)
    state = read_reference_state(path)
    network = MDEQ(shape)
    fill(network, state, str(path))
    network.eval()
    card = Card(
        name=name or path.name.removesuffix(".tar").removesuffix(".pth"),
        variant=shape.name,
        sigma=sigma,
        classes=classes or _default_classes(shape),
        normalisation={"mean": shape.mean, "std": shape.std},
        sha256="",
        training={"imported_from": path.name},
    )
    if folder is not None:
        card = Card.read(save_checkpoint(network, card, folder).with_suffix(".json"))
    return for_inference(network, card).to(pick_device(device))


def read_reference_state(path: Path) -> dict[str, Tensor]:
    """The tensors of an authors' file by name, without running any code in it."""
    try:
        with warnings.catch_warnings():
            # Torch remarks on unusual pickles; what matters to the user is whether the tensors come out.
            warnings.simplefilter("ignore")
            content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise CheckpointError(f"There is no file {path}.") from None
    except Exception as error:  # torch raises many kinds for a damaged file
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(
            f"{path} is not a readable checkpoint, or it holds more than tensors and was refused: {reason}"
        ) from error
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise CheckpointError(f"{path} holds no state dict: a mapping from names to tensors was expected.")
    return {str(key).removeprefix("module."): value for key, value in content.items()}


def _default_classes(variant: Variant) -> tuple[str, ...]:
    if variant.num_classes == len(CIFAR10_CLASSES):
        return tuple(CIFAR10_CLASSES)
    return tuple(f"class {i}" for i in range(variant.num_classes))

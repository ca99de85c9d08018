"""Checkpoints: weights in .safetensors, a card in .json, and the way from a name to a model."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from srs_core.device import pick_device
from srs_core.mdeq.cards import Card, CheckpointError
from srs_core.mdeq.inference import InferenceMDEQ, for_inference
from srs_core.mdeq.network import MDEQ

__all__ = [
    "available_models",
    "card_path",
    "checkpoint_folder",
    "default_first",
    "fill",
    "load_model",
    "load_training_form",
    "save_checkpoint",
]

DEFAULT_MODEL = "cifar10-small-0.25"


def checkpoint_folder() -> Path:
    """Where checkpoints live: the folder that SRS_CHECKPOINTS names, else `checkpoints/` beside the package."""
    named = os.environ.get("SRS_CHECKPOINTS")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "checkpoints"


def available_models() -> list[Card]:
    """The cards of all checkpoints there are, by name; a file that is no card is passed over."""
    cards = []
    for weights in sorted(checkpoint_folder().glob("*.safetensors"), key=lambda path: path.stem):
        try:
            cards.append(Card.read(weights.with_suffix(".json")))
        except CheckpointError:
            continue
    return cards


def default_first(cards: Sequence[Card]) -> list[Card]:
    """The same cards with the model to begin with in front: a middling noise level, if it is there."""
    return sorted(cards, key=lambda card: card.name != DEFAULT_MODEL)


def load_model(name_or_path: str | Path, device: str = "auto") -> InferenceMDEQ:
    """A model ready to certify, by its name in the checkpoint folder or by the path of its weights."""
    network, card = load_training_form(name_or_path)
    model = for_inference(network, card)
    return model.to(pick_device(device))


def load_training_form(name_or_path: str | Path) -> tuple[MDEQ, Card]:
    """The network in the form in which it is trained, on the CPU, with its card; every claim is checked."""
    path = _find(name_or_path)
    card = Card.read(path.with_suffix(".json"))
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != card.sha256:
        raise CheckpointError(
            f"The weights {path} are not the ones their card describes (the SHA-256 differs). "
            "Get both files again from where they came."
        )
    try:
        state = load_tensors(content)
    except SafetensorError as error:
        raise CheckpointError(f"The weights {path} are damaged: {error}.") from error
    network = MDEQ(card.variant, num_classes=len(card.classes))
    fill(network, state, str(path))
    return network.eval(), card


def card_path(name_or_path: str | Path) -> Path:
    """Where the card of a model is, by the model's name or the path of its weights."""
    return _find(name_or_path).with_suffix(".json")


def save_checkpoint(network: MDEQ, card: Card, folder: Path | None = None) -> Path:
    """Write weights and card under the card's name, the card last; returns the path of the weights."""
    if not card.name or card.name != Path(card.name).name:
        raise CheckpointError(f"A model cannot be called {card.name!r}: give a name that can be a file's, no path.")
    folder = checkpoint_folder() if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    content = save_tensors({key: tensor.detach().cpu().contiguous() for key, tensor in network.state_dict().items()})
    path = folder / f"{card.name}.safetensors"
    path.write_bytes(content)
    replace(card, sha256=hashlib.sha256(content).hexdigest()).write(path.with_suffix(".json"))
    return path


def fill(network: MDEQ, state: dict[str, Tensor], source: str) -> None:
    """Load a state dict completely, or say in one sentence what does not fit."""
    expected = {key: tuple(tensor.shape) for key, tensor in network.state_dict().items()}
    given = {key: tuple(tensor.shape) for key, tensor in state.items()}
    if expected != given:
        missing = sorted(set(expected) - set(given))
        extra = sorted(set(given) - set(expected))
        wrong = sorted(key for key in set(expected) & set(given) if expected[key] != given[key])
        raise CheckpointError(
            f"{source} does not hold the weights of the variant {network.variant.name!r}: "
            f"{_some('missing', missing)}, {_some('unknown', extra)}, {_some('of another shape', wrong)}."
        )
    broken = sorted(key for key, tensor in state.items() if not bool(torch.isfinite(tensor).all()))
    if broken:
        raise CheckpointError(f"{source} holds values that are not finite: {_some('affected', broken)}.")
    network.load_state_dict(state)


def _some(what: str, keys: list[str]) -> str:
    examples = f" ({', '.join(keys[:3])}{', ...' if len(keys) > 3 else ''})" if keys else ""
    return f"{len(keys)} tensors {what}{examples}"


def _find(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.suffix == ".safetensors" or path.parent != Path():
        if not path.is_file():
            raise CheckpointError(f"There is no checkpoint at {path}.")
        return path
    found = checkpoint_folder() / f"{name_or_path}.safetensors"
    if not found.is_file():
        names = ", ".join(card.name for card in available_models()) or "none yet"
        raise CheckpointError(f"There is no model named {str(name_or_path)!r}. Available models: {names}.")
    return found

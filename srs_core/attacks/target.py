"""A model under attack: one form with gradients to search with, one fast form to answer with."""

from dataclasses import dataclass
from pathlib import Path

import torch

from srs_core.device import pick_device
from srs_core.mdeq.checkpoints import load_training_form
from srs_core.mdeq.inference import for_inference
from srs_core.mdeq.network import MDEQ
from srs_core.model import Model

__all__ = ["Target", "as_target", "load_target"]


@dataclass(frozen=True)
class Target:
    """The same weights twice: `search` can be differentiated, `answer` is what is certified and asked for verdicts."""

    search: Model
    answer: Model


def load_target(name_or_path: str | Path, device: str = "auto") -> Target:
    """A checkpoint ready to be attacked, by its name in the checkpoint folder or by the path of its weights."""
    network, card = load_training_form(name_or_path)
    place = pick_device(device)
    answer = for_inference(network, card).to(place)
    # Only pictures are differentiated: gradients of the weights would cost as much again, for nothing.
    network.requires_grad_(False).to(place).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return Target(network, answer)


def as_target(model: Model | Target) -> Target:
    """The model in both forms; a model that is not an MDEQ answers in the form in which it is searched."""
    if isinstance(model, Target):
        target = model
    else:
        target = Target(model, for_inference(model)) if isinstance(model, MDEQ) else Target(model, model)
    if getattr(target.search, "training", False):
        raise ValueError(
            "The model is in training mode, in which answers depend on the rest of the batch; call model.eval() first."
        )
    return target

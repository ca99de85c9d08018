"""What certification asks of a model; MDEQ is one, a user's own deep equilibrium model can be another."""

from itertools import chain
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

__all__ = ["Model", "device_of", "in_precision"]


@runtime_checkable
class Model(Protocol):
    """A deep equilibrium model as solvers and certification know it: four methods.

    States and injections are tensors, or tuples of tensors, with the batch first. Pictures are in [0, 1];
    noise is added to them before the model's own normalisation. Optional attributes make certificates tell
    more: `name`, `hash` and `classes` (a list of class names). A model that can compute in another precision
    says so with a method `in_precision(name)` that returns the faster model.
    """

    def inject(self, x: Tensor) -> Any:
        """What the pictures x [B, 3, H, W] contribute to every step."""

    def initial(self, x: Tensor) -> Any:
        """The cold start of the pictures' states."""

    def step(self, z: Any, injection: Any) -> Any:
        """One evaluation of f."""

    def classify(self, z: Any) -> Tensor:
        """Logits [B, classes] of states."""


def device_of(model: Model, image: Tensor) -> torch.device:
    """Where the model's tensors live; a model without tensors works where the picture is."""
    if isinstance(model, nn.Module):
        for tensor in chain(model.parameters(), model.buffers()):
            return tensor.device
    return image.device


def in_precision(model: Model, precision: str) -> Model:
    """The model in a cheaper precision, good enough for votes that the model itself audits."""
    if precision == "float32":
        return model
    change = getattr(model, "in_precision", None)
    if change is None:
        raise ValueError(
            f"proxy_precision is {precision!r}, but the model {type(model).__name__} has no method in_precision; "
            "choose 'float32'."
        )
    faster: Model = change(precision)
    return faster

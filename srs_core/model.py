"""What certification asks of a model; MDEQ is one, a user's own deep equilibrium model can be another."""

from itertools import chain
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

__all__ = ["Model", "device_of"]


@runtime_checkable
class Model(Protocol):
    """A deep equilibrium model as solvers and certification know it: four methods.

    States and injections are tensors, or tuples of tensors, with the batch first. Pictures are in [0, 1];
    noise is added to them before the model's own normalisation. Optional attributes make certificates tell
    more: `name`, `hash` and `classes` (a list of class names).
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

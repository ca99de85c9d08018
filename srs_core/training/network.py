"""The network as the training loop calls it: laid out and, if asked for, compiled for speed."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from srs_core.mdeq.layer import State
from srs_core.mdeq.network import MDEQ

__all__ = ["TrainedNetwork"]

Layer = Callable[[State, Tensor, State | None], State]


class TrainedNetwork:
    """The parts of an MDEQ that a training step uses, in channels-last layout.

    Compiling takes minutes at the start of a run and makes every later step cheaper.
    """

    def __init__(self, model: MDEQ, *, compiled: bool = False) -> None:
        # Channels last: the convolutions of few channels that MDEQ is made of run faster so.
        self.model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.inject: Callable[[Tensor], Tensor] = model.inject
        self.classify: Callable[[State], Tensor] = model.classify
        self.step: Layer = model.fullstage
        self.plain_step: Layer = model.fullstage
        """f once more, never compiled: only so can it be differentiated twice."""
        if compiled:
            self.inject = cast("Callable[[Tensor], Tensor]", torch.compile(model.inject))
            self.classify = cast("Callable[[State], Tensor]", torch.compile(model.classify))
            self.step = cast("Layer", torch.compile(model.fullstage.forward))

    def initial(self, x: Tensor) -> State:
        """The cold start, in the network's layout."""
        return tuple(part.contiguous(memory_format=torch.channels_last) for part in self.model.initial(x))

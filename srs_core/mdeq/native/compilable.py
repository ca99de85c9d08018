"""A part of the model that runs as compiled code where it can, and by torch where it cannot."""

from typing import Literal

import torch
from torch import Tensor, nn

from srs_core.mdeq.native.kernel import Kernel, Shape, find_kernel
from srs_core.mdeq.native.packing import LANES, affordable

__all__ = ["Compilable", "Compile"]

Compile = Literal["auto"] | bool


class Compilable(nn.Module):
    """A module with a compiled twin: the file `source`.cpp beside this one.

    Subclasses call `prepare` when their weights are there, say which shapes go in and out for a finest branch of
    some height and width, and ask `run_compiled` first, which answers None where torch has to do the work.
    """

    source: str
    stream: Tensor | None

    def __init__(self, channels: tuple[int, ...], compile: Compile) -> None:
        super().__init__()
        if compile not in ("auto", True, False):
            raise ValueError(f"compile is {compile!r}; choose 'auto', True or False.")
        self.channels = channels
        self.compile_mode = compile

    def prepare(self, parts: list[Tensor]) -> None:
        """Keep the weights as one stream, unless they are too many to be worth it."""
        stream = torch.cat(parts) if affordable(self) else None
        self.register_buffer("stream", stream, persistent=False)

    def shapes(self, height: int, width: int) -> tuple[list[Shape], list[Shape]]:
        """The shapes of one sample's inputs and outputs."""
        raise NotImplementedError

    def constants(self) -> dict[str, str]:
        """What the compiled code must know beside the branches."""
        return {}

    def branch_shapes(self, height: int, width: int) -> list[Shape]:
        """The shape of one sample's state in every branch."""
        return [(c, height >> i, width >> i) for i, c in enumerate(self.channels)]

    def kernel(self, height: int, width: int) -> Kernel | None:
        """The compiled code for this size, as long as the weights are where and what it can read."""
        stream = self.stream
        if not self.compile_mode or stream is None or stream.device.type != "cpu" or stream.dtype != torch.float32:
            return None
        halvings = len(self.channels) - 1
        coarsest = width >> halvings
        if (height >> halvings) << halvings != height or coarsest << halvings != width:
            return None
        if coarsest % 2 and any(c % LANES for c in self.channels):
            return None
        branches = {"CHANNELS": ",".join(map(str, self.channels)), "HEIGHT": str(height), "WIDTH": str(width)}
        inputs, outputs = self.shapes(height, width)
        constants = tuple(sorted((branches | self.constants()).items()))
        return find_kernel(self.source, constants, tuple(inputs), tuple(outputs))

    def run_compiled(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """The outputs for a batch; None, or an error if the user insists, where there is no compiled code."""
        kernel = self.kernel(inputs[0].shape[2], inputs[0].shape[3])
        if kernel is not None and kernel.accepts(inputs):
            assert self.stream is not None
            return kernel(inputs, self.stream)
        if self.compile_mode is True:
            raise RuntimeError(
                f"compile is True, but the {self.source} cannot run as compiled code for this input; choose 'auto' "
                "to let torch evaluate it then (the log says what is missing)."
            )
        return None

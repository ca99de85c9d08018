"""A part of the model that runs as compiled code where it can, and by torch where it cannot."""

import copy
import logging
from typing import Literal, Self

import torch
from torch import Tensor, nn

from srs_core.mdeq.native.kernel import Kernel, Shape, find_kernel
from srs_core.mdeq.native.packing import LANES, Precision, affordable

__all__ = ["Compilable", "Compile"]

log = logging.getLogger(__name__)

Compile = Literal["auto"] | bool

TOLERANCES: dict[Precision, float] = {"float32": 1e-2, "bfloat16": 0.2}
"""Beyond each format's rounding, which norms of random values enlarge, and below what a wrong program would show."""


class Compilable(nn.Module):
    """A module with a compiled twin: the file `source`.cpp beside this one.

    Subclasses call `prepare` when their weights are there, list them as the compiled code reads them, say which shapes
    go in and out for a finest branch of some height and width, and do the same by torch. Compiled code is used only
    after it has given torch's answer on random inputs, because a certificate must not hang on an untried compiler.
    """

    source: str
    memory_format = torch.channels_last
    stream: Tensor | None
    precision: Precision = "float32"

    def __init__(self, channels: tuple[int, ...], compile: Compile) -> None:
        super().__init__()
        if compile not in ("auto", True, False):
            raise ValueError(f"compile is {compile!r}; choose 'auto', True or False.")
        self.channels = channels
        self.compile_mode = compile
        self._trusted: dict[tuple[int, int], bool] = {}

    def prepare(self) -> None:
        """Keep the weights as one stream, unless they are too many to be worth it."""
        stream = torch.cat(self.packed()) if affordable(self) else None
        self.register_buffer("stream", stream, persistent=False)

    def in_precision(self, precision: Precision) -> Self:
        """A twin whose convolutions multiply numbers of this format; it runs compiled or not at all."""
        twin = copy.deepcopy(self)
        twin.precision = precision
        twin.compile_mode = bool(self.compile_mode)
        twin._trusted = {}
        twin.prepare()
        return twin

    def packed(self) -> list[Tensor]:
        """The weights in the order and format in which the compiled code reads them."""
        raise NotImplementedError

    def shapes(self, height: int, width: int) -> tuple[list[Shape], list[Shape]]:
        """The shapes of one sample's inputs and outputs."""
        raise NotImplementedError

    def by_torch(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The outputs for a batch, computed by torch."""
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
        branches["BFLOAT16"] = str(int(self.precision == "bfloat16"))
        inputs, outputs = self.shapes(height, width)
        constants = tuple(sorted((branches | self.constants()).items()))
        kernel = find_kernel(self.source, constants, tuple(inputs), tuple(outputs))
        if kernel is not None and (height, width) not in self._trusted:
            self._trusted[height, width] = self._agrees_with_torch(kernel, stream)
        return kernel if kernel is not None and self._trusted[height, width] else None

    def _agrees_with_torch(self, kernel: Kernel, stream: Tensor) -> bool:
        generator = torch.Generator().manual_seed(0)
        inputs = tuple(
            torch.randn(2, *shape, generator=generator).contiguous(memory_format=self.memory_format)
            for shape in kernel.inputs
        )
        pairs = zip(kernel(inputs, stream), self.by_torch(inputs), strict=True)
        tolerance = TOLERANCES[self.precision]
        agrees = all(torch.allclose(a, b, atol=tolerance, rtol=tolerance, equal_nan=True) for a, b in pairs)
        if not agrees:
            log.warning("The compiled %s does not give torch's answer, so torch evaluates it.", self.source)
        return agrees

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The outputs for a batch: compiled where possible; elsewhere by torch, or an error if the user insists."""
        inputs = tuple(part.contiguous(memory_format=self.memory_format) for part in inputs)
        kernel = self.kernel(inputs[0].shape[2], inputs[0].shape[3])
        if kernel is not None and kernel.accepts(inputs):
            assert self.stream is not None
            return kernel(inputs, self.stream)
        if self.compile_mode is True:
            raise RuntimeError(
                f"The {self.source} must run as compiled code (compile is True, or its precision asks for it) and "
                "cannot for this input; the log says what is missing. Choose compile='auto' and float32 to let torch "
                "evaluate it then."
            )
        return self.by_torch(inputs)

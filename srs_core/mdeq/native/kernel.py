"""The compiled layer f, called from Python: weights in, states in, states out."""

import ctypes
import functools
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor, nn

from srs_core.mdeq.layer import State
from srs_core.mdeq.native.build import BuildError, build

__all__ = ["Kernel", "find_kernel", "pack"]

log = logging.getLogger(__name__)

LANES = 16
"""Floats that the C++ side computes at once; with fewer channels, two pixels share a vector."""

PARAMETERS = 1_000_000
"""Beyond this a layer's weights no longer stay in a core's cache, and torch's batched way is faster."""

SAMPLES_PER_THREAD = 4


class Kernel:
    """One evaluation of f in machine code, for one shape of state.

    Samples are computed one by one, so that a sample's value is the same to the last bit in any batch.
    """

    def __init__(self, channels: tuple[int, ...], height: int, width: int) -> None:
        self.shapes = [(c, height >> i, width >> i) for i, c in enumerate(channels)]
        constants = {"CHANNELS": ",".join(map(str, channels)), "HEIGHT": str(height), "WIDTH": str(width)}
        library = build(Path(__file__).with_name("layer.cpp"), constants)
        try:
            self._function = ctypes.CDLL(str(library)).mdeq_layer
        except (OSError, AttributeError) as error:
            raise BuildError(f"{library} cannot be loaded ({error}); delete it to compile it anew.") from error
        pointer = ctypes.c_void_p
        self._function.argtypes = [pointer, pointer, pointer, pointer, ctypes.c_int64, pointer]
        self._function.restype = None

    def accepts(self, z: State, injection: Tensor) -> bool:
        """Whether these are states and injections of one batch, of this kernel's shape, on the CPU."""
        batch = injection.shape[0]
        return [part.shape for part in (*z, injection)] == [
            (batch, *shape) for shape in (*self.shapes, self.shapes[0])
        ] and all(part.dtype == torch.float32 and part.device.type == "cpu" for part in (*z, injection))

    def __call__(self, z: State, injection: Tensor, parameters: Tensor) -> State:
        """f(z, injection) with the parameters that `pack` made, on as many threads as torch would use."""
        given = [part.contiguous(memory_format=torch.channels_last) for part in (*z, injection)]
        out = tuple(torch.empty_like(part) for part in given[:-1])
        samples = injection.shape[0]
        pointers = ctypes.c_void_p * len(z)
        states = pointers(*(part.data_ptr() for part in given[:-1]))
        results = pointers(*(part.data_ptr() for part in out))
        taken = ctypes.c_int64(0)

        def work() -> None:
            self._function(
                states,
                given[-1].data_ptr(),
                results,
                parameters.data_ptr(),
                samples,
                ctypes.byref(taken),
            )

        helpers = min(torch.get_num_threads(), samples // SAMPLES_PER_THREAD) - 1
        running = [_pool(os.getpid()).submit(work) for _ in range(helpers)]
        work()
        for future in running:
            future.result()
        return out


@functools.cache
def _pool(_process: int) -> ThreadPoolExecutor:
    # A forked process has none of its parent's threads, hence one pool per process id.
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="mdeq-layer")


@functools.cache
def find_kernel(channels: tuple[int, ...], height: int, width: int) -> Kernel | None:
    """The kernel for states of this shape, or None where there can be none; a log record says why."""
    halvings = len(channels) - 1
    coarsest = width >> halvings
    if (height >> halvings) << halvings != height or coarsest << halvings != width:
        return None
    if coarsest % 2 and any(c % LANES for c in channels):
        return None
    try:
        return Kernel(channels, height, width)
    except BuildError as error:
        log.warning("The layer is evaluated by torch, which is slower, because: %s", error)
        return None


def pack(layer: nn.Module) -> Tensor | None:
    """A layer's parameters as the stream that a kernel reads; None if they are too many to be worth it.

    The layer must declare its convolutions and norms in the order in which it uses them.
    """
    if sum(parameter.numel() for parameter in layer.parameters()) > PARAMETERS:
        return None
    stream: list[Tensor] = []
    for module in layer.modules():
        if isinstance(module, nn.Conv2d):
            stream.append(_pack_weight(module.weight, module.stride[0]))
        elif isinstance(module, nn.GroupNorm):
            stream += [module.weight, module.bias]
    return torch.cat([part.detach().flatten() for part in stream])


def _pack_weight(weight: Tensor, stride: int) -> Tensor:
    """A weight as [row, column, input, output]; doubled and shifted where two pixels share a vector."""
    outputs, inputs, size, _ = weight.shape
    pixels = 2 if outputs % LANES else 1
    packed = weight.new_zeros(size, size + (pixels - 1) * stride, inputs, pixels * outputs)
    for pixel in range(pixels):
        column, output = pixel * stride, pixel * outputs
        packed[:, column : column + size, :, output : output + outputs] = weight.permute(2, 3, 1, 0)
    return packed

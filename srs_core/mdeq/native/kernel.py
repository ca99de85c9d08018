"""Compiled code that maps tensors to tensors, sample by sample, on all cores."""

import ctypes
import functools
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

from srs_core.mdeq.native.build import BuildError, build

__all__ = ["Kernel", "Shape", "find_kernel"]

log = logging.getLogger(__name__)

Shape = tuple[int, ...]

SAMPLES_PER_THREAD = 4

PROCESSOR = "AVX512"
"""On narrower vectors the compiled code was measured to be slower than torch by far."""


class Kernel:
    """One of this folder's C++ files in machine code, for inputs of certain shapes.

    Samples are computed one by one, so that a sample's value is the same to the last bit in any batch.
    """

    def __init__(self, name: str, constants: dict[str, str], inputs: list[Shape], outputs: list[Shape]) -> None:
        self.inputs, self.outputs = inputs, outputs
        library = build(Path(__file__).with_name(f"{name}.cpp"), constants)
        try:
            self._run = ctypes.CDLL(str(library)).run
        except (OSError, AttributeError) as error:
            raise BuildError(f"{library} cannot be loaded ({error}); delete it to compile it anew.") from error
        pointer = ctypes.c_void_p
        self._run.argtypes = [pointer, pointer, pointer, ctypes.c_int64, pointer]
        self._run.restype = None

    def accepts(self, inputs: tuple[Tensor, ...]) -> bool:
        """Whether these are one batch, of this kernel's shapes, in single precision, on the CPU."""
        batch = inputs[0].shape[:1]
        return [part.shape for part in inputs] == [batch + shape for shape in self.inputs] and all(
            part.dtype == torch.float32 and part.device.type == "cpu" for part in inputs
        )

    def __call__(self, inputs: tuple[Tensor, ...], parameters: Tensor) -> tuple[Tensor, ...]:
        """The outputs for inputs in the kernel's memory order, on as many threads as torch would use."""
        samples = inputs[0].shape[0]
        outputs = tuple(torch.empty(samples, *shape, memory_format=_memory_format(shape)) for shape in self.outputs)
        sources = (ctypes.c_void_p * len(inputs))(*(part.data_ptr() for part in inputs))
        targets = (ctypes.c_void_p * len(outputs))(*(part.data_ptr() for part in outputs))
        taken = ctypes.c_int64(0)

        def work() -> None:
            self._run(sources, targets, parameters.data_ptr(), samples, ctypes.byref(taken))

        helpers = min(torch.get_num_threads(), samples // SAMPLES_PER_THREAD) - 1
        running = [_pool(os.getpid()).submit(work) for _ in range(helpers)]
        work()
        for future in running:
            # One that has not begun, because other callers keep the pool busy, has nothing left to do.
            if not future.cancel():
                future.result()
        return outputs


def _memory_format(shape: Shape) -> torch.memory_format:
    return torch.channels_last if len(shape) == 3 else torch.contiguous_format


@functools.cache
def _pool(_process: int) -> ThreadPoolExecutor:
    # A forked process has none of its parent's threads, hence one pool per process id.
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="mdeq")


@functools.cache
def find_kernel(
    name: str, constants: tuple[tuple[str, str], ...], inputs: tuple[Shape, ...], outputs: tuple[Shape, ...]
) -> Kernel | None:
    """The kernel of this name, constants and shapes, or None where it cannot be; then a log record says why."""
    capability = torch.backends.cpu.get_cpu_capability()
    if capability != PROCESSOR:
        log.info(
            "The %s is evaluated by torch: compiled code needs %s, this processor has %s.", name, PROCESSOR, capability
        )
        return None
    try:
        return Kernel(name, dict(constants), list(inputs), list(outputs))
    except BuildError as error:
        log.warning("The %s is evaluated by torch, which is slower, because: %s", name, error)
        return None

"""How fast f is evaluated here: the inference form beside the training form and the machine's own limit."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from srs_core.mdeq.inference import InferenceMDEQ, for_inference
from srs_core.mdeq.network import MDEQ
from srs_core.mdeq.tuning import preferred_batch_size, synchronize
from srs_core.mdeq.variants import Variant
from srs_core.model import Model, in_precision

__all__ = ["Benchmark", "Evaluation", "benchmark_stream", "in_bfloat16", "layer_flops"]

MATRIX = 1536
PLAIN_BATCH = 400
"""The published implementation's batch, with which the training form is measured."""


@dataclass(frozen=True)
class Evaluation:
    """What one evaluation of f costs for one picture, in milliseconds: medians over interleaved repeats.

    `peak_share` is the share of the matrix-multiply rate that the inference form reaches, `ratio` how many
    times faster than the training form (`plain`) it is. Stem (`inject`) and head (`classify`) are paid
    once per picture, not once per step. `bfloat16` is what quick votes may compute in; None where that gains nothing.
    """

    ms_per_sample: float
    plain_ms_per_sample: float
    ratio: float
    peak_share: float
    inject_ms_per_sample: float
    classify_ms_per_sample: float
    bfloat16_ms_per_sample: float | None = None


@dataclass(frozen=True)
class Benchmark:
    """A finished measurement, with all that is needed to repeat it."""

    device: str
    threads: int
    torch: str
    variant: str
    batch_size: int
    plain_batch_size: int
    repeats: int
    compiled: bool
    flops_per_evaluation: int
    matmul_gflops: float
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """The measurement as JSON can hold it; `runs` is for certifications that were timed beside it."""
        return {**asdict(self), "runs": []}


def layer_flops(variant: Variant) -> int:
    """Floating-point operations of the convolutions in one evaluation of f on one picture."""
    with torch.device("meta"):
        model = MDEQ(variant)
        x = torch.empty(1, 3, variant.image_size, variant.image_size)
    injection, z = model.inject(x), model.initial(x)
    with FlopCounterMode(display=False) as counter:
        model.step(z, injection)
    return int(counter.get_total_flops())


def benchmark_stream(
    variant: Variant,
    device: torch.device,
    batch_size: int | None = None,
    plain_batch_size: int = PLAIN_BATCH,
    repeats: int = 15,
) -> Iterator[Benchmark]:
    """Measure, and yield after each round what the rounds so far have shown.

    A round times every alternative once, so that whatever else the machine does meets all of them alike. A
    `batch_size` of None is chosen by measurement.
    """
    for name, value in (("batch_size", batch_size), ("plain_batch_size", plain_batch_size), ("repeats", repeats)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1.")
    plain = MDEQ(variant).eval().to(device)
    fast = for_inference(plain)
    batch_size = batch_size or preferred_batch_size(fast, device)
    flops = layer_flops(variant)
    tasks = _tasks(plain, fast, device, batch_size, plain_batch_size)
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        _seconds(task, device)
    for done in range(1, repeats + 1):
        for name, task in tasks.items():
            times[name].append(_seconds(task, device))
        seconds = {name: median(values) for name, values in times.items()}
        matmul = 2 * MATRIX**3 / seconds["matmul"]
        step, plain_step = seconds["step"] / batch_size, seconds["plain"] / plain_batch_size
        yield Benchmark(
            device=str(device),
            threads=torch.get_num_threads(),
            torch=torch.__version__,
            variant=variant.name,
            batch_size=batch_size,
            plain_batch_size=plain_batch_size,
            repeats=done,
            compiled=fast.compiled,
            flops_per_evaluation=flops,
            matmul_gflops=matmul / 1e9,
            evaluation=Evaluation(
                ms_per_sample=1e3 * step,
                plain_ms_per_sample=1e3 * plain_step,
                ratio=plain_step / step,
                peak_share=flops / step / matmul,
                inject_ms_per_sample=1e3 * seconds["inject"] / batch_size,
                classify_ms_per_sample=1e3 * seconds["classify"] / batch_size,
                bfloat16_ms_per_sample=1e3 * seconds["bfloat16"] / batch_size if "bfloat16" in seconds else None,
            ),
        )


def _tasks(
    plain: MDEQ, fast: InferenceMDEQ, device: torch.device, batch_size: int, plain_batch_size: int
) -> dict[str, Callable[[], object]]:
    size = plain.variant.image_size
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(MATRIX, MATRIX, generator=generator).to(device) / math.sqrt(MATRIX)
    x = torch.rand(batch_size, 3, size, size, generator=generator).to(device)
    x_plain = torch.rand(plain_batch_size, 3, size, size, generator=generator).to(device)
    with torch.no_grad():
        injection, z = fast.inject(x), fast.initial(x)
        injection_plain, z_plain = plain.inject(x_plain), plain.initial(x_plain)
        # One step away from zero, where states look like states.
        z, z_plain = fast.step(z, injection), plain.step(z_plain, injection_plain)
    tasks: dict[str, Callable[[], object]] = {
        "matmul": lambda: matrix @ matrix,
        "plain": lambda: plain.step(z_plain, injection_plain),
        "step": lambda: fast.step(z, injection),
        "inject": lambda: fast.inject(x),
        "classify": lambda: fast.classify(z),
    }
    cheaper = in_bfloat16(fast)
    if cheaper is not None:
        tasks["bfloat16"] = lambda: cheaper.step(z, injection)
    return tasks


def in_bfloat16(model: Model) -> Model | None:
    """The model in bfloat16, or None where that cannot be or gains nothing."""
    try:
        return in_precision(model, "bfloat16")
    except ValueError:
        return None


def _seconds(task: Callable[[], object], device: torch.device) -> float:
    synchronize(device)
    begin = time.perf_counter()
    with torch.no_grad():
        task()
    synchronize(device)
    return time.perf_counter() - begin

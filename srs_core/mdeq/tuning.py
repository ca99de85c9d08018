"""How many pictures to solve together: a short measurement on the device at hand."""

import time

import torch

from srs_core.mdeq.inference import InferenceMDEQ

__all__ = ["preferred_batch_size", "synchronize"]

CANDIDATES = (16, 32, 64, 128, 256, 512)
SECONDS = 0.6
NEAR_ENOUGH = 1.05

_remembered: dict[tuple[object, ...], int] = {}


def preferred_batch_size(model: InferenceMDEQ, device: torch.device | None = None) -> int:
    """The smallest batch whose evaluations of f are within five percent of the fastest, per picture.

    It is measured once per process for each variant and device, in well under a second after the first
    evaluation of f. `device` is the model's own unless given.
    """
    device = device or model.stem.mean.device
    key = (model.variant, str(device), model.stem.mean.dtype, torch.get_num_threads())
    if key not in _remembered:
        _remembered[key] = _measure(model, device)
    return _remembered[key]


def _measure(model: InferenceMDEQ, device: torch.device) -> int:
    size = model.variant.image_size
    seconds: dict[int, float] = {}
    spent = 0.0
    for batch in CANDIDATES:
        x = torch.zeros(batch, 3, size, size, device=device, dtype=model.stem.mean.dtype)
        injection, z = model.inject(x), model.initial(x)
        times = [_timed_step(model, z, injection, device) for _ in range(3)]
        seconds[batch] = min(times[1:]) / batch
        spent += sum(times)
        # The next candidate has twice the pictures.
        if spent + 2 * sum(times) > SECONDS:
            break
    fastest = min(seconds.values())
    return min(batch for batch, each in seconds.items() if each <= NEAR_ENOUGH * fastest)


def _timed_step(
    model: InferenceMDEQ, z: tuple[torch.Tensor, ...], injection: torch.Tensor, device: torch.device
) -> float:
    synchronize(device)
    begin = time.perf_counter()
    model.step(z, injection)
    synchronize(device)
    return time.perf_counter() - begin


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has done what it was asked to; the CPU has, always."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()

"""What a model's card must state: its noisy accuracy, how deep its equilibrium is, what a warm start saves."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from srs_core.data import Arrays
from srs_core.mdeq.inference import InferenceMDEQ
from srs_core.mdeq.layer import State
from srs_core.solvers import solve
from srs_core.training.augment import to_float

__all__ = ["measure"]

COLD_STEPS = (1, 2, 3, 5, 8, 10, 30)
WARM_STEPS = (1, 3)
REFERENCE_STEPS = 30
WARM_PICTURES = 500
WARM_DRAWS = 4
SOLVER = "anderson"


@dataclass(frozen=True)
class _Moment:
    """A batch after so many solver steps: its labels, and its residuals there."""

    labels: Tensor
    residuals: Tensor


@torch.no_grad()
def measure(
    model: InferenceMDEQ,
    test: Arrays,
    sigma: float,
    *,
    seed: int = 0,
    batch_size: int = 250,
    progress: Callable[[float], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure a model on a test set with one noise draw a picture, and warm starts on a part of it.

    Steps are Anderson steps, all of them spent; a residual is ||f(z) - z|| / ||f(z)|| after the steps, and
    disagreement is the share of labels that differ from those of 30 cold steps.
    """
    noise = torch.Generator().manual_seed(seed)
    right = dict.fromkeys(COLD_STEPS, 0)
    differ = dict.fromkeys(COLD_STEPS, 0)
    residual = dict.fromkeys(COLD_STEPS, 0.0)
    count = len(test.images)
    for start, pictures, labels in _batches(model, test, batch_size):
        moments = _cold(model, _noisy(pictures, sigma, noise))
        reference = moments[REFERENCE_STEPS].labels
        for steps, moment in moments.items():
            right[steps] += int((moment.labels == labels).sum())
            differ[steps] += int((moment.labels != reference).sum())
            residual[steps] += float(moment.residuals.sum())
        progress(0.8 * (start + len(pictures)) / count)
    warm, compared = _warm_disagreement(model, test, sigma, noise, batch_size)
    progress(1.0)
    return {
        "noisy_accuracy": right[REFERENCE_STEPS] / count,
        "pictures": count,
        "noise_draws": 1,
        "noise_seed": seed,
        "solver": SOLVER,
        "steps": REFERENCE_STEPS,
        "cold": [
            {
                "steps": steps,
                "accuracy": right[steps] / count,
                "residual": residual[steps] / count,
                "disagreement": differ[steps] / count,
            }
            for steps in COLD_STEPS
        ],
        "warm": [{"steps": steps, "disagreement": share, "labels": compared} for steps, share in warm.items()],
    }


def _cold(model: InferenceMDEQ, x: Tensor) -> dict[int, _Moment]:
    """The batch after each of the interesting numbers of steps, from one cold solve.

    A solver's s-th step starts from what s - 1 steps give, so one solve passes all shorter ones.
    """
    seen: dict[int, Tensor] = {}
    calls = 0

    def watched(z: State, injection: Tensor) -> State:
        nonlocal calls
        if calls in COLD_STEPS:
            seen[calls] = model.classify(z).argmax(dim=1)
        calls += 1
        return model.step(z, injection)

    solution = solve(watched, model.inject(x), model.initial(x), solver=SOLVER, steps=max(COLD_STEPS) + 1, tol=0)
    return {steps: _Moment(labels, solution.residuals[steps]) for steps, labels in seen.items()}


def _warm_disagreement(
    model: InferenceMDEQ, test: Arrays, sigma: float, noise: torch.Generator, batch_size: int
) -> tuple[dict[int, float], int]:
    """Follow chains of noise draws as SRS does: each draw's few steps begin where the last draw's ended."""
    every = max(1, len(test.images) // WARM_PICTURES)
    part = Arrays(test.images[::every], test.labels[::every])
    differ = dict.fromkeys(WARM_STEPS, 0)
    for _, pictures, _ in _batches(model, part, batch_size):
        first = _noisy(pictures, sigma, noise)
        begin = _solved(model, first, model.initial(first), REFERENCE_STEPS)
        chains = dict.fromkeys(WARM_STEPS, begin)
        for _ in range(WARM_DRAWS):
            x = _noisy(pictures, sigma, noise)
            reference = model.classify(_solved(model, x, model.initial(x), REFERENCE_STEPS)).argmax(dim=1)
            for steps in WARM_STEPS:
                chains[steps] = _solved(model, x, chains[steps], steps)
                differ[steps] += int((model.classify(chains[steps]).argmax(dim=1) != reference).sum())
    compared = WARM_DRAWS * len(part.images)
    return {steps: number / compared for steps, number in differ.items()}, compared


def _solved(model: InferenceMDEQ, x: Tensor, z: State, steps: int) -> State:
    solution = solve(model.step, model.inject(x), z, solver=SOLVER, steps=steps, tol=0)
    return tuple(solution.z)


def _noisy(pictures: Tensor, sigma: float, noise: torch.Generator) -> Tensor:
    # Drawn on the CPU, so that every device measures the same noise.
    return pictures + sigma * torch.randn(pictures.shape, generator=noise).to(pictures.device)


def _batches(model: InferenceMDEQ, data: Arrays, size: int) -> Iterator[tuple[int, Tensor, Tensor]]:
    device = model.stem.mean.device
    for start in range(0, len(data.images), size):
        chosen = slice(start, start + size)
        yield start, to_float(data.images[chosen], device), data.labels[chosen].to(device)

"""Why warm starts help: solvers followed step by step from different starts, on the same noisy pictures."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srs_core.model import Model
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import STARTS, Settings
from srs_core.solvers import solve
from srs_core.solvers.state import State, norms, rebuild, take, to_rows

__all__ = ["Stage", "Trace", "follow", "set_stage", "start_distances"]


@dataclass(frozen=True)
class Stage:
    """Noisy copies of a picture, what the full model says about them, and the states to start from.

    `fixed` are the copies' own fixed points, as the full solve found them; `starts` holds a state for each of zero,
    clean (the fixed point of the picture without noise), previous (the fixed points of other noisy copies, one
    for each) and mean (the mean of those).
    """

    pictures: Tensor
    labels: NDArray[np.int64]
    fixed: State
    starts: dict[str, State]


@dataclass(frozen=True)
class Trace:
    """A solver followed step by step.

    `residuals[s, i]` is copy i's relative residual at evaluation s + 1 of f, and `labels[s, i]` its class after
    s + 1 steps.
    """

    residuals: NDArray[np.float64]
    labels: NDArray[np.int64]

    def changed(self, stage: Stage) -> NDArray[np.float64]:
        """The share of copies whose class after each step is not the full model's."""
        share: NDArray[np.float64] = np.not_equal(self.labels, stage.labels).mean(axis=1)
        return share


@torch.no_grad()
def set_stage(model: Model, image: Tensor, sigma: float, copies: int = 32, seed: int = 0) -> Stage:
    """Draw noisy copies and, for the warm starts, as many earlier ones; solve them all in full."""
    if copies < 1:
        raise ValueError(f"copies is {copies}; at least one noisy copy is needed.")
    noisy = NoisyCopies(image, sigma, seed, Purpose.ESTIMATION)
    earlier, pictures = noisy.batch(0, copies), noisy.batch(copies, 2 * copies)
    fixed = _full_solve(model, pictures)
    previous = _full_solve(model, earlier)
    everyone = torch.zeros(copies, dtype=torch.int64, device=pictures.device)
    mean = rebuild([row.mean(dim=0, keepdim=True) for row in to_rows(previous)], like=previous)
    starts: dict[str, State] = {
        "zero": model.initial(pictures),
        "clean": take(_full_solve(model, image.unsqueeze(0)), everyone),
        "previous": previous,
        "mean": take(mean, everyone),
    }
    return Stage(pictures, _classes(model, fixed), fixed, starts)


@torch.no_grad()
def follow(model: Model, stage: Stage, solver: str, start: str, steps: int) -> Trace:
    """Let a solver take all its steps from a start, and classify the state after each of them."""
    if start not in stage.starts:
        raise ValueError(f"start is {start!r}; choose one of {', '.join(STARTS)}.")
    states: list[State] = []

    def remember(z: State, injection: State) -> State:
        states.append(z)
        value: State = model.step(z, injection)
        return value

    solution = solve(remember, model.inject(stage.pictures), stage.starts[start], solver, steps, tol=0)
    # The state that step s + 1 starts from is the one that s steps led to.
    labels = [_classes(model, z) for z in (*states[1:], solution.z)]
    return Trace(solution.residuals.double().cpu().numpy(), np.stack(labels))


def start_distances(stage: Stage) -> dict[str, NDArray[np.float64]]:
    """How far each copy's fixed point is from each start, relative to the fixed point's own size.

    From zero this is 1. From `previous` it is the distance between the fixed points of successive copies.
    """
    fixed = to_rows(stage.fixed)
    size = norms(fixed)
    distances = {}
    for name, start in stage.starts.items():
        gap = norms([a - b for a, b in zip(to_rows(start), fixed, strict=True)])
        distances[name] = (gap / size).double().cpu().numpy()
    return distances


def _full_solve(model: Model, pictures: Tensor) -> State:
    """The standard model's state: its default solver and steps, from the cold start."""
    s = Settings(method="rs")
    solution = solve(
        model.step, model.inject(pictures), model.initial(pictures), s.reference_solver, s.reference_steps, s.tol
    )
    return solution.z


def _classes(model: Model, z: State) -> NDArray[np.int64]:
    labels: NDArray[np.int64] = model.classify(z).argmax(dim=1).cpu().numpy()
    return labels

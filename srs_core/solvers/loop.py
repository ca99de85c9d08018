"""The one loop that all solvers share."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import torch
from torch import Tensor

from srs_core.solvers.anderson import Anderson
from srs_core.solvers.broyden import Broyden
from srs_core.solvers.naive import Naive
from srs_core.solvers.state import Rows, State, anywhere, norms, parts, rebuild, take, to_rows

__all__ = ["SOLVERS", "Solution", "Status", "solve"]


class Method(Protocol):
    """A solver's own art: from an evaluation of f to the next state."""

    def advance(self, fz: Rows, gap: Rows) -> tuple[Rows, Tensor | None]:
        """The next state, and which samples could be accelerated (None: all)."""

    def keep(self, order: Tensor) -> None:
        """Go on with these samples only, in this order (see `shrink`)."""


SOLVERS: dict[str, Callable[[], Method]] = {"naive": Naive, "anderson": Anderson, "broyden": Broyden}


class Status(IntEnum):
    """How a sample's solve ended."""

    BUDGET_SPENT = 0
    CONVERGED = 1
    FELL_BACK = 2
    DIVERGED = 3

    @property
    def message(self) -> str:
        """The status as a sentence."""
        return {
            Status.BUDGET_SPENT: "All steps were spent before the residual fell below the tolerance.",
            Status.CONVERGED: "The residual fell below the tolerance.",
            Status.FELL_BACK: "An accelerated step did not exist, so a plain step was taken at least once.",
            Status.DIVERGED: "f gave a value that is not finite; the last finite state was kept.",
        }[self]


@dataclass(frozen=True)
class Solution:
    """What a solve found, sample by sample.

    `residuals[s, i]` is ||f(z) - z|| / ||f(z)|| of sample i at the state that step s+1 started from, NaN once
    the sample has left the batch. `evaluations[i]` counts the evaluations of f spent on sample i and
    `status[i]` holds a `Status`.
    """

    z: State
    residuals: Tensor
    evaluations: Tensor
    status: Tensor


@torch.no_grad()
def solve(
    f: Callable[..., State],
    x: State | None,
    z0: State,
    solver: str = "anderson",
    steps: int = 30,
    tol: float = 1e-3,
) -> Solution:
    """Find z = f(z, x) for every sample of a batch, from z0, with at most `steps` evaluations of f.

    A step is one evaluation of f, and one step of any solver gives f(z0, x). No sample's result depends on
    another sample of the batch: whoever's residual has fallen to `tol` leaves the batch with the state
    that its last evaluation led to. With `tol=0` everybody spends all steps.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver is {solver!r}; choose one of {', '.join(SOLVERS)}.")
    if steps < 1:
        raise ValueError(f"steps is {steps}; it must be at least 1.")
    if not tol >= 0:
        raise ValueError(f"tol is {tol}; it must be 0 (spend all steps) or positive.")
    method = SOLVERS[solver]()
    first = parts(z0)[0]
    batch, device = first.shape[0], first.device
    active = torch.arange(batch, device=device)
    residuals = torch.full((steps, batch), float("nan"), dtype=first.dtype, device=device)
    evaluations = torch.zeros(batch, dtype=torch.int64, device=device)
    status = torch.full((batch,), int(Status.BUDGET_SPENT), dtype=torch.int8, device=device)
    finished: Rows | None = None
    z = z0
    for step in range(steps):
        value = f(z, x)
        old, fz = to_rows(z), to_rows(value)
        gap = [v - o for v, o in zip(fz, old, strict=True)]
        distance, size = norms(gap), norms(fz)
        residual = distance / size.clamp_min(torch.finfo(size.dtype).tiny)
        finite = (distance + size).isfinite()
        new, healthy = method.advance(fz, gap)
        if healthy is not None and anywhere(~healthy):
            new = _choose(healthy, new, fz)
            _mark(status, active, ~healthy & finite, Status.FELL_BACK)
        if anywhere(~finite):
            new = _choose(finite, new, old)
            _mark(status, active, ~finite, Status.DIVERGED)
        residuals[step, active] = residual
        evaluations[active] += 1
        z = rebuild(new, value)
        if tol == 0:
            continue
        done = (residual <= tol) | ~finite
        if not bool(done.any()):
            continue
        now = active[done]
        quiet = status[now] == int(Status.BUDGET_SPENT)
        status[now[quiet]] = int(Status.CONVERGED)
        if finished is None:
            finished = [row.new_empty(batch, row.shape[1]) for row in new]
        for target, row in zip(finished, new, strict=True):
            target[now] = row[done]
        order = _remaining(done)
        active = active[order]
        if active.numel() == 0:
            break
        z = take(z, order)
        x = None if x is None else take(x, order)
        method.keep(order)
    if finished is not None:
        if active.numel() > 0:
            for target, row in zip(finished, to_rows(z), strict=True):
                target[active] = row
        z = rebuild(finished, z0)
    return Solution(z=z, residuals=residuals, evaluations=evaluations, status=status)


def _remaining(done: Tensor) -> Tensor:
    """Who goes on, in an order in which the last ones fill the gaps, so that a memory need not be copied whole."""
    stay = (~done).nonzero().squeeze(1)
    count = stay.numel()
    order = torch.arange(count, device=done.device)
    order[done[:count]] = stay[stay >= count]
    return order


def _choose(mask: Tensor, yes: Rows, no: Rows) -> Rows:
    return [torch.where(mask.unsqueeze(1), a, b) for a, b in zip(yes, no, strict=True)]


def _mark(status: Tensor, active: Tensor, which: Tensor, mark: Status) -> None:
    status[active] = status[active].masked_fill(which, int(mark))

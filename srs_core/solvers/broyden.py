"""Broyden's method for f(z) - z = 0, without line search, in the form that keeps only its steps."""

import torch
from torch import Tensor

from srs_core.solvers.state import Rows, anywhere, dots, shrink, total

__all__ = ["Broyden"]


class Broyden:
    """Good Broyden updates from the identity, each sample on its own.

    With full steps the inverse Jacobian estimate is a product of rank-one factors made of the steps alone,
    so that one vector per step is stored and memory is linear in the number of steps.
    """

    def __init__(self) -> None:
        self._steps: list[Rows] = []
        self._squares: list[Tensor] = []

    def advance(self, fz: Rows, gap: Rows) -> tuple[Rows, Tensor | None]:
        """Take the quasi-Newton step; False marks samples for which the update is singular.

        A marked sample takes the plain step and begins a new history with it.
        """
        if not self._steps:
            self._remember(gap)
            return fz, None
        step = gap
        for earlier, later, square in zip(self._steps, self._steps[1:], self._squares, strict=False):
            share = _dot(earlier, step) / square
            step = [s + share.unsqueeze(1) * next_ for s, next_ in zip(step, later, strict=True)]
        scale = 1 - _dot(self._steps[-1], step) / self._squares[-1]
        step = [s / scale.unsqueeze(1) for s in step]
        healthy = _dot(step, step).isfinite()
        if anywhere(~healthy):
            step = [torch.where(healthy.unsqueeze(1), s, g) for s, g in zip(step, gap, strict=True)]
            # A past step of zeros leaves the product of factors as it was, which forgets that past.
            self._steps = [[torch.where(healthy.unsqueeze(1), row, 0.0) for row in past] for past in self._steps]
        self._remember(step)
        # z + step, where z = f(z) - gap.
        return [v - g + s for v, g, s in zip(fz, gap, step, strict=True)], healthy

    def _remember(self, step: Rows) -> None:
        self._steps.append(step)
        tiny = torch.finfo(step[0].dtype).tiny
        self._squares.append(_dot(step, step).clamp_min(tiny))

    def keep(self, order: Tensor) -> None:
        """Forget all samples but these."""
        self._steps = [[shrink(row, order) for row in step] for step in self._steps]
        self._squares = [shrink(square, order) for square in self._squares]


def _dot(a: Rows, b: Rows) -> Tensor:
    return total(dots(x, y.unsqueeze(1)).squeeze(1) for x, y in zip(a, b, strict=True))

"""The features a training step differentiates: f unrolled, or a solved fixed point with a gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from srs_core.mdeq.layer import State
from srs_core.training.losses import relative_change

__all__ = ["Features", "equilibrium", "implicit", "unrolled"]

Step = Callable[[State], State]
"""f with its injection and its dropout masks already given."""


@dataclass(frozen=True)
class Features:
    """A state ready to be classified, and how far its last step still moved it."""

    z: State
    residual: Tensor


def unrolled(f: Step, z: State, steps: int) -> Features:
    """Apply f so many times and differentiate through all of them: the cheap first phase."""
    before = z
    for _ in range(steps):
        before, z = z, f(z)
    return Features(z, relative_change(z, before))


def equilibrium(f: Step, z: State, solve_steps: int, tail_steps: int) -> Features:
    """Go towards the fixed point without gradient, then take a few last steps with gradient.

    The tail's gradient is the implicit gradient's series cut after `tail_steps` terms; it needs no second
    solve, and the smaller the Jacobian the less is cut off.
    """
    return unrolled(f, _approach(f, z, solve_steps), tail_steps)


def implicit(f: Step, z: State, solve_steps: int, backward_steps: int) -> Features:
    """Go towards the fixed point without gradient, and give it the gradient that the fixed point has.

    With J the Jacobian of f at z and g the gradient that arrives, the parameters of one last step of f
    receive the solution of u = J^T u + g, found by so many plain iterations. f is differentiated again for
    each of them, so it must not be compiled code that frees its graph.
    """
    before = _approach(f, z, solve_steps)
    after = f(before)
    start = tuple(part.detach().requires_grad_() for part in before)
    with torch.enable_grad():
        out = f(start)

    def adjoint(arrived: State) -> State:
        u = arrived
        for _ in range(backward_steps):
            products = torch.autograd.grad(out, start, u, retain_graph=True)
            u = tuple(product + g for product, g in zip(products, arrived, strict=True))
        return u

    return Features(_WithAdjoint.apply(adjoint, *after), relative_change(after, before))  # type: ignore[no-untyped-call]


@torch.no_grad()
def _approach(f: Step, z: State, steps: int) -> State:
    for _ in range(steps):
        z = f(z)
    return z


class _WithAdjoint(torch.autograd.Function):
    """The identity, whose gradient is passed through a function of all parts together."""

    @staticmethod
    def forward(ctx: Any, adjoint: Callable[[State], State], *parts: Tensor) -> State:
        ctx.adjoint = adjoint
        return tuple(part.clone() for part in parts)

    @staticmethod
    def backward(ctx: Any, *arrived: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *ctx.adjoint(arrived))

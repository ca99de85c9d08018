"""The gradient of the smoothed loss through the equilibrium, by implicit differentiation.

The loss is minus the logarithm of the mean probability that noisy copies give to a class (SmoothAdv's); one copy
without noise makes it the plain cross-entropy. At a fixed point z = f(z, x) a loss with the gradient v = dL/dz has the
gradient u^T df/dx with respect to x, where u solves the linear equation u = v + J^T u with J = df/dz. That is a fixed
point again, and the same loop finds it: by Broyden's method, whose steps do not depend on the scale of v, which is tiny
where the model is sure. Only one evaluation of f is kept in memory, however long the forward solve was.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from srs_core.model import Model
from srs_core.solvers import solve
from srs_core.solvers.state import State, parts

__all__ = ["Uphill", "smoothed_loss", "uphill"]


@dataclass(frozen=True, eq=False)
class Uphill:
    """The loss at a picture, its gradient there, and the labels that the noisy copies were given."""

    loss: float
    gradient: Tensor
    labels: Tensor


def smoothed_loss(logits: Tensor, label: int) -> Tensor:
    """Minus the logarithm of the mean probability of a class over the draws; computed with logarithms throughout."""
    log_p = torch.log_softmax(logits, dim=1)[:, label]
    return math.log(log_p.shape[0]) - torch.logsumexp(log_p, dim=0)


def uphill(model: Model, copies: Tensor, z: State, label: int, gradient_steps: int) -> Uphill:
    """How the smoothed loss rises when all copies [m, ...] move together; `z` holds their fixed points.

    `gradient_steps` evaluations of the transposed Jacobian are spent on the adjoint equation; with 0 only the last
    evaluation of f is differentiated.
    """
    with torch.enable_grad():
        pictures = copies.detach().requires_grad_()
        start = _leaves(z)
        after = model.step(start, model.inject(pictures))
        if not all(part.requires_grad for part in parts(after)):
            raise ValueError(
                f"{type(model).__name__} gives no gradients, so it cannot be attacked. Attack a model in the form in "
                "which it was trained; srs_core.attacks.load_target loads one."
            )
        features = _leaves(after)
        logits = model.classify(features)
        if not 0 <= label < logits.shape[1]:
            raise ValueError(f"label is {label}; the model's classes go from 0 to {logits.shape[1] - 1}.")
        loss = smoothed_loss(logits, label)
    v = _like(torch.autograd.grad(loss, parts(features)), after)
    u = v
    if gradient_steps:
        u = solve(_adjoint(after, start, v), None, v, solver="broyden", steps=gradient_steps, tol=0.0).z
    (gradient,) = torch.autograd.grad(parts(after), pictures, parts(u))
    return Uphill(float(loss.detach()), gradient.sum(dim=0), logits.detach().argmax(dim=1))


def _adjoint(after: State, start: State, v: State) -> Callable[[State, None], State]:
    def f(u: State, _: None) -> State:
        back = torch.autograd.grad(parts(after), parts(start), parts(u), retain_graph=True)
        return _like(tuple(a + b for a, b in zip(parts(v), back, strict=True)), v)

    return f


def _leaves(state: State) -> State:
    return _like(tuple(part.detach().requires_grad_() for part in parts(state)), state)


def _like(tensors: tuple[Tensor, ...], state: State) -> State:
    return tensors[0] if isinstance(state, Tensor) else tensors

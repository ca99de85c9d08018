"""SmoothAdv: training pictures moved so that the smoothed classifier errs."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["smooth_attack"]


def smooth_attack(
    logits_of: Callable[[Tensor], Tensor], pictures: Tensor, labels: Tensor, noise: Tensor, epsilon: float, steps: int
) -> Tensor:
    """Pictures within the L2 distance epsilon whose mean prediction over the noises is worse.

    `noise` is [draws, B, 3, H, W]: projected gradient ascent on the cross-entropy of the mean of the draws'
    probabilities, with steps of length 2 epsilon / steps. Train on the result with the same noise.
    """
    draws = noise.shape[0]
    length = 2.0 * epsilon / steps
    shift = torch.zeros_like(pictures)
    for _ in range(steps):
        shift.requires_grad_()
        noisy = (pictures + shift + noise).flatten(0, 1)
        probabilities = F.softmax(logits_of(noisy), dim=1).view(draws, len(labels), -1).mean(dim=0)
        loss = F.nll_loss(probabilities.clamp_min(1e-12).log(), labels, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, shift)
        direction = gradient / _lengths(gradient)
        moved = shift.detach() + length * direction
        shift = moved * (epsilon / _lengths(moved)).clamp_max(1.0)
    return pictures + shift


def _lengths(pictures: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(pictures, dim=(1, 2, 3), keepdim=True)
    return lengths.clamp_min(1e-12)

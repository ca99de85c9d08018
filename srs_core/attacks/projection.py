"""Where an attack may go: pictures within an L2 ball around the original."""

import torch
from torch import Tensor

__all__ = ["distance", "project", "random_start"]

HALVINGS = 40
ROUNDING = 1e-6
"""What single precision may be wrong by, as a share, when it adds up the squares of a picture's values."""


def distance(picture: Tensor, other: Tensor) -> float:
    """The L2 distance of two pictures, in units of the pixel range [0, 1]."""
    return float(torch.linalg.vector_norm(other - picture))


def project(picture: Tensor, moved: Tensor, radius: float) -> Tensor:
    """The allowed picture nearest to `moved`: in [0, 1], and within the radius around `picture`.

    Clipping and then rescaling would not give the nearest one. The nearest has the form
    clip(picture + s (moved - picture)) with one number s from 0 to 1, by the conditions of Karush, Kuhn and Tucker, and
    its distance grows with s: s is found by halving. What is returned was itself measured to be within the radius, with
    room for rounding.
    """
    reach = radius * (1 - ROUNDING)
    offset = moved - picture

    def at(share: float) -> Tensor:
        return torch.add(picture, offset, alpha=share).clamp_(0.0, 1.0)

    nearest = moved.clamp(0.0, 1.0)
    if distance(picture, nearest) <= reach:
        return nearest
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if distance(picture, at(middle)) <= reach:
            low = middle
        else:
            high = middle
    return at(low)


def random_start(picture: Tensor, radius: float, generator: torch.Generator) -> Tensor:
    """A random allowed picture: a random direction, as far as a uniform point of the ball would be, then projected."""
    direction = torch.randn(picture.shape, generator=generator, dtype=picture.dtype, device=generator.device)
    share = float(torch.rand((), generator=generator)) ** (1 / picture.numel())
    length = share * radius / max(float(torch.linalg.vector_norm(direction)), torch.finfo(picture.dtype).tiny)
    return project(picture, picture + length * direction.to(picture.device), radius)

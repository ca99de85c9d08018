"""A change too small to see, made visible."""

from dataclasses import dataclass

from torch import Tensor

__all__ = ["Magnified", "magnified_change"]

FACTORS = (500, 200, 100, 50, 20, 10, 5, 2, 1)


@dataclass(frozen=True, eq=False)
class Magnified:
    """The difference of two pictures around a middle grey, so many times as strong as it is."""

    picture: Tensor
    factor: int


def magnified_change(picture: Tensor, attacked: Tensor) -> Magnified:
    """Show what was changed: grey where nothing was, as strong as possible without cutting anything off."""
    change = attacked - picture
    largest = float(change.abs().max())
    factor = next((f for f in FACTORS if f * largest <= 0.5), 1)
    return Magnified((0.5 + factor * change).clamp(0.0, 1.0), factor)

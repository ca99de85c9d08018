"""Models whose boundaries and gradients are known, for attacks on them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from srs_core.mdeq.checkpoints import fill
from srs_core.mdeq.network import MDEQ
from srs_core.mdeq.reference import read_reference_state

FIXTURES = Path(__file__).parents[1] / "fixtures"


class Halfspaces:
    """Two classes on the two sides of a plane: class 0 where weight . x > level. One step finds the fixed point."""

    classes = ("above", "below")

    def __init__(self, weight: Tensor, level: float) -> None:
        self.weight, self.level = weight, level

    def inject(self, x: Tensor) -> Tensor:
        return (x.flatten(1) @ self.weight - self.level).unsqueeze(1)

    def initial(self, x: Tensor) -> Tensor:
        return x.new_zeros(len(x), 1)

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        return injection + 0.0 * z

    def classify(self, z: Tensor) -> Tensor:
        return torch.cat([z, -z], dim=1)


@pytest.fixture
def halfspaces() -> Callable[..., tuple[Halfspaces, Tensor]]:
    """A model and a picture of class 0 at a given distance from its boundary."""

    def make(margin: float, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Halfspaces, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        # Grey pictures, so that [0, 1] is nowhere in the way.
        picture = 0.4 + 0.2 * torch.rand((3, 8, 8), generator=generator, dtype=dtype)
        direction = torch.randn(picture.numel(), generator=generator, dtype=dtype)
        direction /= torch.linalg.vector_norm(direction)
        # Not of length one: margins are distances, whatever the weight's length is.
        return Halfspaces(7 * direction, float(7 * (picture.flatten() @ direction - margin))), picture

    return make


@pytest.fixture(scope="session")
def mdeq() -> MDEQ:
    """A trained MDEQ in the form with gradients."""
    network = MDEQ("small")
    fill(network, read_reference_state(FIXTURES / "prototype-small-0.25.pth.tar"), "the fixture")
    return network.eval().requires_grad_(False)

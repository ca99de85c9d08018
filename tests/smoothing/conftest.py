"""A deep equilibrium model small enough that certifying with it takes a moment."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

PICTURE = (3, 4, 4)


class TinyDEQ:
    """z = tanh(A z + B x + b) in 16 dimensions, read out linearly into four classes; counts evaluations of f."""

    name = "tiny"
    hash = "0123456789abcdef"
    classes = ("ant", "bee", "cow", "doe")

    def __init__(self, seed: int = 0, contraction: float = 0.8) -> None:
        generator = torch.Generator().manual_seed(seed)
        raw = torch.randn(16, 16, generator=generator)
        self.inner = contraction * raw / torch.linalg.matrix_norm(raw, ord=2)
        self.outer = torch.randn(16, 48, generator=generator) / 4
        self.read = torch.randn(4, 16, generator=generator)
        self.evaluations = 0

    def inject(self, x: Tensor) -> Tensor:
        return (x - 0.5).flatten(1) @ self.outer.T

    def initial(self, x: Tensor) -> Tensor:
        return x.new_zeros(len(x), 16)

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        self.evaluations += len(z)
        return torch.tanh(z @ self.inner.T + injection)

    def classify(self, z: Tensor) -> Tensor:
        return z @ self.read.T


@pytest.fixture
def tiny() -> TinyDEQ:
    return TinyDEQ()


@pytest.fixture
def make_tiny() -> Callable[..., TinyDEQ]:
    return TinyDEQ


@pytest.fixture
def picture() -> Tensor:
    return torch.rand(PICTURE, generator=torch.Generator().manual_seed(4))

"""A deep equilibrium model of the plane, small enough that everything about it can be seen.

A point of the plane is a picture with two pixels, so certification treats it like any other picture. Three
classes wind around the middle of the unit square as the arms of a spiral; the model learnt them from points drawn
there. Its step is a contraction, so every point has exactly one fixed point and every solver finds it.
"""

import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from srs_core.mdeq.network import weights_hash

__all__ = ["CLASSES", "PlanarDEQ", "load_planar", "save_planar", "spiral_class", "train_planar"]

CLASSES = ("circle", "square", "diamond")
WIDTH = 24
CONTRACTION = 0.98
WEIGHTS = Path(__file__).with_name("planar.safetensors")

MARGIN = 0.25
"""How far beyond the unit square training points are drawn, so that noise finds nothing unlearnt."""


class PlanarDEQ(nn.Module):
    """z = tanh(W z + U x + b) with 24 numbers z, and three logits that are linear in z.

    The spectral norm of W is at most 0.98 and tanh never stretches, so the step contracts: one fixed point, and
    residuals that fall at every plain step.
    """

    name = "plane"
    classes = CLASSES
    preferred_batch_size = 500

    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.Parameter(torch.empty(WIDTH, WIDTH))
        self.input = nn.Parameter(torch.empty(WIDTH, 2))
        self.bias = nn.Parameter(torch.empty(WIDTH))
        self.output = nn.Parameter(torch.empty(len(CLASSES), WIDTH))

    def inject(self, x: Tensor) -> Tensor:
        """What the points x [B, 2] contribute to every step."""
        return F.linear(x - 0.5, self.input, self.bias)

    def initial(self, x: Tensor) -> Tensor:
        """The cold start: zeros."""
        return x.new_zeros(x.shape[0], WIDTH)

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        """One evaluation of f."""
        return torch.tanh(F.linear(z, self.recurrent) + injection)

    def classify(self, z: Tensor) -> Tensor:
        """Logits [B, 3] of states."""
        return F.linear(z, self.output)

    @property
    def hash(self) -> str:
        """A short name for exactly these weights."""
        return weights_hash(self.name, self.state_dict())


def spiral_class(points: Tensor) -> Tensor:
    """The class that points [B, 2] belong to: which arm of the spiral they lie on."""
    offset = points - 0.5
    angle = torch.atan2(offset[:, 1], offset[:, 0])
    # The small constant keeps the arms from winding ever tighter at the middle.
    twisted = angle + 2.6 * math.pi * torch.sqrt(offset.square().sum(dim=1) + 0.01)
    arm = torch.floor(twisted * len(CLASSES) / (2 * math.pi))
    return arm.long() % len(CLASSES)


def train_planar(steps: int = 600, batch: int = 512, seed: int = 0) -> PlanarDEQ:
    """Train the model from scratch, in a few seconds: unrolled iteration, cross-entropy, Adam."""
    generator = torch.Generator().manual_seed(seed)
    model = PlanarDEQ()
    with torch.no_grad():
        model.recurrent.normal_(0, WIDTH**-0.5, generator=generator)
        model.input.normal_(0, 8, generator=generator)
        model.bias.normal_(0, 0.5, generator=generator)
        model.output.normal_(0, 3 * WIDTH**-0.5, generator=generator)
    # The input weights are four times larger than the others; so is their learning rate.
    groups: list[dict[str, Any]] = [
        {"params": [model.recurrent, model.bias, model.output], "lr": 0.02},
        {"params": [model.input], "lr": 0.08},
    ]
    optimiser = torch.optim.Adam(groups)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        x = torch.rand(batch, 2, generator=generator) * (1 + 2 * MARGIN) - MARGIN
        contracting = _contracting(model.recurrent)
        injection, z = model.inject(x), model.initial(x)
        for _ in range(24):
            z = torch.tanh(F.linear(z, contracting) + injection)
        loss = F.cross_entropy(model.classify(z), spiral_class(x))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        model.recurrent.copy_(_contracting(model.recurrent))
    return model.requires_grad_(False).eval()


def save_planar(model: PlanarDEQ, path: Path = WEIGHTS) -> None:
    """Write the weights; the package ships the ones that `train_planar` gave with its defaults."""
    save_file(model.state_dict(), path)


def load_planar(device: str | torch.device = "cpu") -> PlanarDEQ:
    """The trained model that the package ships."""
    model = PlanarDEQ()
    model.load_state_dict(load_file(WEIGHTS))
    return model.requires_grad_(False).eval().to(device)


def _contracting(weights: Tensor) -> Tensor:
    """The weights, shrunk to the allowed spectral norm; the gradient goes through the shrinking."""
    shrinking: Tensor = (CONTRACTION / torch.linalg.matrix_norm(weights, 2)).clamp_max(1.0)
    return weights * shrinking

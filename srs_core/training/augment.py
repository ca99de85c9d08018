"""From stored pictures to training batches: order, scale, crop, flip."""

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["batch_order", "crop_and_flip", "to_float"]


def batch_order(count: int, epoch: int, seed: int) -> Tensor:
    """The order in which an epoch visits the pictures; it depends on nothing but these three numbers."""
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**63)
    return torch.randperm(count, generator=generator)


def to_float(pictures: Tensor, device: torch.device) -> Tensor:
    """Bytes become floats in [0, 1] on the device."""
    return pictures.to(device).to(torch.float32).div(255.0)


def crop_and_flip(pictures: Tensor, padding: int = 4) -> Tensor:
    """Shift every picture by up to `padding` pixels each way (black comes in) and mirror every second one.

    The draws come from torch's global generator of the CPU, so they do not depend on the device.
    """
    count, _, height, width = pictures.shape
    device = pictures.device
    top = torch.randint(0, 2 * padding + 1, (count, 1)).to(device)
    left = torch.randint(0, 2 * padding + 1, (count, 1)).to(device)
    mirrored = torch.rand(count, 1).to(device) < 0.5
    rows = top + torch.arange(height, device=device)
    columns = torch.arange(width, device=device)
    columns = left + torch.where(mirrored, columns.flip(0), columns)
    padded = F.pad(pictures, (padding,) * 4).permute(0, 2, 3, 1)
    which = torch.arange(count, device=device)[:, None, None]
    return padded[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)

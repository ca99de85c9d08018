"""The layer f of MDEQ: a residual block per resolution, then an all-to-all fusion.

Module and parameter names follow the reference network, so that its checkpoints load.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["FUSION_GROUPS", "GROUPS", "MDEQLayer", "State", "WeightNormConv2d", "dropout_masks"]

State = tuple[Tensor, ...]
"""One tensor [B, C, H, W] per resolution, the finest first."""

GROUPS = 8
FUSION_GROUPS = 4
EXPANSION = 5


class WeightNormConv2d(nn.Module):
    """A convolution without bias whose weight is kept as a length and a direction per output channel."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        direction = nn.Conv2d(in_channels, out_channels, kernel_size, bias=False).weight.detach()
        self.padding = kernel_size // 2
        self.weight_g = nn.Parameter(_lengths(direction))
        self.weight_v = nn.Parameter(direction)

    def folded_weight(self) -> Tensor:
        """The weight that the lengths and the directions stand for."""
        return self.weight_v * (self.weight_g / _lengths(self.weight_v))

    def forward(self, x: Tensor) -> Tensor:
        """Convolve with the weight made from its two parts."""
        return F.conv2d(x, self.folded_weight(), padding=self.padding)


def _lengths(weight: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(weight, dim=(1, 2, 3), keepdim=True)
    return lengths


class Block(nn.Module):
    """The residual block of one resolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = EXPANSION * channels
        self.conv1 = WeightNormConv2d(channels, inner, 3)
        self.gn1 = nn.GroupNorm(GROUPS, inner)
        self.conv2 = WeightNormConv2d(inner, channels, 3)
        self.gn2 = nn.GroupNorm(GROUPS, channels)
        self.gn3 = nn.GroupNorm(GROUPS, channels)

    def forward(self, z: Tensor, injection: Tensor | None, mask: Tensor | None) -> Tensor:
        """Refine z; `mask` is this solve's variational dropout, the same at every step."""
        h = F.relu(self.gn1(self.conv1(z)))
        h = self.conv2(h)
        if mask is not None:
            h = h * mask
        if injection is not None:
            h = h + injection
        h = self.gn2(h) + z
        out: Tensor = self.gn3(F.relu(h))
        return out


class Branch(nn.Module):
    """One resolution's blocks (the reference nests them in a list)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(channels)])

    def forward(self, z: Tensor, injection: Tensor | None, mask: Tensor | None) -> Tensor:
        """Run the branch's block."""
        out: Tensor = self.blocks[0](z, injection, mask)
        return out


class ConvNorm(nn.Module):
    """A convolution followed by a group norm."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=kernel_size // 2, bias=False
        )
        self.gnorm = nn.GroupNorm(GROUPS, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve, then normalise."""
        out: Tensor = self.gnorm(self.conv(x))
        return out


class Upsample(nn.Module):
    """From a coarser branch into a finer one."""

    def __init__(self, channels: Sequence[int], source: int, target: int) -> None:
        super().__init__()
        self.net = ConvNorm(channels[source], channels[target], 1, stride=1)

    def forward(self, x: Tensor, size: tuple[int, int]) -> Tensor:
        """Change the channels, then repeat pixels up to `size`."""
        return F.interpolate(self.net(x), size=size, mode="nearest")


class Downsample(nn.Module):
    """From a finer branch into a coarser one, halving as often as needed."""

    def __init__(self, channels: Sequence[int], source: int, target: int) -> None:
        super().__init__()
        halvings = target - source
        widths = [channels[source]] * halvings + [channels[target]]
        self.net = nn.Sequential(*(ConvNorm(a, b, 3, stride=2) for a, b in pairwise(widths)))

    def forward(self, x: Tensor, size: tuple[int, int]) -> Tensor:
        """Halve the resolution step by step, with a ReLU between the steps."""
        for i, layer in enumerate(self.net):
            x = layer(x if i == 0 else F.relu(x))
        assert x.shape[2:] == size
        return x


class PostFusion(nn.Module):
    """What follows the sum of all branches: ReLU, convolution, normalisation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = WeightNormConv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Bring a fused branch back to unit scale, which keeps the iteration bounded."""
        return F.group_norm(self.conv(F.relu(x)), FUSION_GROUPS)


class MDEQLayer(nn.Module):
    """The function f whose fixed point is the model's feature."""

    def __init__(self, channels: Sequence[int]) -> None:
        super().__init__()
        self.branches = nn.ModuleList([Branch(c) for c in channels])
        self.fuse_layers = nn.ModuleList(
            [
                nn.ModuleList([self._link(channels, source, target) for source in range(len(channels))])
                for target in range(len(channels))
            ]
        )
        self.post_fuse_layers = nn.ModuleList([PostFusion(c) for c in channels])

    @staticmethod
    def _link(channels: Sequence[int], source: int, target: int) -> nn.Module:
        if source == target:
            return nn.Identity()
        return (Upsample if source > target else Downsample)(channels, source, target)

    def forward(self, z: State, injection: Tensor, masks: State | None = None) -> State:
        """One evaluation of f; the injection enters the finest branch only."""
        features = [
            branch(z_i, injection if i == 0 else None, masks[i] if masks is not None else None)
            for i, (branch, z_i) in enumerate(zip(self.branches, z, strict=True))
        ]
        fused = []
        for target, links in enumerate(self.fuse_layers):
            assert isinstance(links, nn.ModuleList)
            total = features[target]
            size = (total.shape[2], total.shape[3])
            for source, link in enumerate(links):
                if source != target:
                    total = total + link(features[source], size)
            fused.append(self.post_fuse_layers[target](total))
        return tuple(fused)


def dropout_masks(z: State, rate: float) -> State:
    """Variational dropout: one random mask per sample and channel, to be kept for a whole solve."""
    keep = 1.0 - rate
    return tuple(torch.bernoulli(z_i.new_full((*z_i.shape[:2], 1, 1), keep)) / keep for z_i in z)

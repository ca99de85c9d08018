"""The layer f for inference: plain convolutions in channels-last memory, everything else in place."""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from srs_core.mdeq.folding import fold_weight_norm, frozen_conv
from srs_core.mdeq.layer import FUSION_GROUPS, Block, ConvNorm, MDEQLayer, PostFusion, State

__all__ = ["InferenceLayer"]

MICRO_BATCH = 100
"""Samples whose intermediate results stay in a CPU's cache between two operations."""


class InferenceLayer(nn.Module):
    """The function f of a trained layer, made to be evaluated often.

    On a CPU a large batch is worked off in pieces of `micro_batch` samples, so that what one operation
    writes is still in the cache when the next one reads it.
    """

    def __init__(self, layer: MDEQLayer) -> None:
        super().__init__()
        self.micro_batch = MICRO_BATCH
        self.blocks = nn.ModuleList([_FoldedBlock(block) for block in layer.modules() if isinstance(block, Block)])
        self.links = nn.ModuleList(
            nn.ModuleList(_folded_link(link) for link in links.children()) for links in layer.fuse_layers.children()
        )
        self.post = nn.ModuleList(
            fold_weight_norm(post.conv) for post in layer.modules() if isinstance(post, PostFusion)
        )

    def forward(self, z: State, injection: Tensor) -> State:
        """One evaluation of f on a batch of any size."""
        batch = z[0].shape[0]
        if batch <= self.micro_batch or z[0].device.type != "cpu":
            return self._evaluate(z, injection)
        out = tuple(torch.empty_like(part, memory_format=torch.channels_last) for part in z)
        for first in range(0, batch, self.micro_batch):
            piece = slice(first, first + self.micro_batch)
            values = self._evaluate(tuple(part[piece] for part in z), injection[piece])
            for target, value in zip(out, values, strict=True):
                target[piece] = value
        return out

    def _evaluate(self, z: State, injection: Tensor) -> State:
        z = tuple(part.contiguous(memory_format=torch.channels_last) for part in z)
        features = [
            block(part, injection if i == 0 else None)
            for i, (block, part) in enumerate(zip(self.blocks, z, strict=True))
        ]
        fused = []
        for target, (links, post) in enumerate(zip(self.links, self.post, strict=True)):
            size = features[target].shape[2:]
            total = features[target].clone()
            for source, link in enumerate(links.children()):
                if source > target:
                    total += F.interpolate(link(features[source]), size=size, mode="nearest")
                elif source < target:
                    total += link(features[source])
            fused.append(F.group_norm(post(total.relu_()), FUSION_GROUPS))
        return tuple(fused)


class _FoldedBlock(nn.Module):
    """The residual block of one resolution."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.conv1 = fold_weight_norm(block.conv1)
        self.norm1 = copy.deepcopy(block.gn1)
        self.conv2 = fold_weight_norm(block.conv2)
        self.norm2 = copy.deepcopy(block.gn2)
        self.norm3 = copy.deepcopy(block.gn3)

    def forward(self, z: Tensor, injection: Tensor | None) -> Tensor:
        h = self.conv2(self.norm1(self.conv1(z)).relu_())
        if injection is not None:
            h += injection
        out: Tensor = self.norm3(self.norm2(h).add_(z).relu_())
        return out


def _folded_link(link: nn.Module) -> nn.Module:
    """A link between two branches as a stack of convolutions and norms, ReLU between, without resampling."""
    stack: list[nn.Module] = []
    for part in link.modules():
        if isinstance(part, ConvNorm):
            if stack:
                stack.append(nn.ReLU(inplace=True))
            stack += [frozen_conv(part.conv), copy.deepcopy(part.gnorm)]
    return nn.Sequential(*stack)

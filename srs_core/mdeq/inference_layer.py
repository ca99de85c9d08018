"""The layer f for inference: compiled machine code where possible, else plain operations done in place."""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from srs_core.mdeq.folding import fold_weight_norm, frozen_conv
from srs_core.mdeq.layer import EXPANSION, FUSION_GROUPS, Block, ConvNorm, MDEQLayer, PostFusion, State
from srs_core.mdeq.native import Compilable, Compile, pack_conv, pack_norm

__all__ = ["InferenceLayer"]

MICRO_BATCH_BYTES = 16 * 2**20
"""What the largest intermediate result of a micro-batch may take, to stay in a CPU's cache."""


class InferenceLayer(Compilable):
    """The function f of a trained layer, made to be evaluated often.

    A small layer on a CPU runs as machine code compiled for its shape (`srs_core.mdeq.native`). Otherwise
    torch evaluates it; on a CPU in micro-batches, so that what one operation writes is still in the cache
    when the next one reads it. Modules are declared in the order in which the compiled code reads their weights.
    """

    source = "layer"

    def __init__(self, layer: MDEQLayer, compile: Compile = "auto") -> None:
        blocks = [_FoldedBlock(block) for block in layer.modules() if isinstance(block, Block)]
        super().__init__(tuple(block.conv2.out_channels for block in blocks), compile)
        self.blocks = nn.ModuleList(blocks)
        self.fusions = nn.ModuleList(
            _FoldedFusion(links, post) for links, post in zip(layer.fuse_layers, layer.post_fuse_layers, strict=True)
        )
        self.prepare()

    def packed(self) -> list[Tensor]:
        """Convolutions and norms as they come."""
        stream = []
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                stream.append(pack_conv(module, precision=self.precision))
            elif isinstance(module, nn.GroupNorm):
                stream.append(pack_norm(module))
        return stream

    def by_torch(self, inputs: tuple[Tensor, ...]) -> State:
        """One evaluation of f on a batch of any size."""
        *z, injection = inputs
        batch, channels, height, width = z[0].shape
        size = EXPANSION * channels * height * width * z[0].element_size()
        micro_batch = max(1, MICRO_BATCH_BYTES // size)
        if batch <= micro_batch or z[0].device.type != "cpu":
            return self._evaluate(tuple(z), injection)
        out = tuple(torch.empty_like(part, memory_format=torch.channels_last) for part in z)
        for first in range(0, batch, micro_batch):
            piece = slice(first, first + micro_batch)
            values = self._evaluate(tuple(part[piece] for part in z), injection[piece])
            for target, value in zip(out, values, strict=True):
                target[piece] = value
        return out

    def shapes(self, height: int, width: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Every branch's state and the injection in, every branch's state out."""
        branches = self.branch_shapes(height, width)
        return [*branches, branches[0]], branches

    def _evaluate(self, z: State, injection: Tensor) -> State:
        features = [
            block(part, injection if i == 0 else None)
            for i, (block, part) in enumerate(zip(self.blocks, z, strict=True))
        ]
        return tuple(fusion(features, target) for target, fusion in enumerate(self.fusions))


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


class _FoldedFusion(nn.Module):
    """The sum of all branches at one resolution, and the convolution after it."""

    def __init__(self, links: nn.Module, post: nn.Module) -> None:
        super().__init__()
        assert isinstance(post, PostFusion)
        self.links = nn.ModuleList(_folded_link(link) for link in links.children())
        self.post = fold_weight_norm(post.conv)

    def forward(self, features: list[Tensor], target: int) -> Tensor:
        total = features[target].clone()
        for source, link in enumerate(self.links):
            if source > target:
                total += F.interpolate(link(features[source]), size=total.shape[2:], mode="nearest")
            elif source < target:
                total += link(features[source])
        return F.group_norm(self.post(total.relu_()), FUSION_GROUPS)


def _folded_link(link: nn.Module) -> nn.Module:
    """A link between two branches as a stack of convolutions and norms, ReLU between, without resampling."""
    stack: list[nn.Module] = []
    for part in link.modules():
        if isinstance(part, ConvNorm):
            if stack:
                stack.append(nn.ReLU(inplace=True))
            stack += [frozen_conv(part.conv), copy.deepcopy(part.gnorm)]
    return nn.Sequential(*stack)

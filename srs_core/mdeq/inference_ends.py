"""The two ends of MDEQ for inference: the stem before f and the head after it, batch norms folded."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from srs_core.mdeq.folding import fold_batch_norm
from srs_core.mdeq.layer import State
from srs_core.mdeq.native import Compilable, Compile, pack_conv, padded
from srs_core.mdeq.network import MDEQ, Bottleneck

__all__ = ["InferenceHead", "InferenceStem"]


class InferenceStem(Compilable):
    """From pictures in [0, 1] to the injection: normalisation and three convolutions."""

    source = "stem"
    memory_format = torch.contiguous_format
    mean: Tensor
    std: Tensor

    def __init__(self, mdeq: MDEQ, compile: Compile) -> None:
        # Strides are left to torch: then the picture is larger than the injection.
        super().__init__(mdeq.variant.channels, compile if mdeq.variant.stem_strides == (1, 1) else False)
        self.register_buffer("mean", mdeq.mean.clone())
        self.register_buffer("std", mdeq.std.clone())
        self.convs = nn.ModuleList(_conv_batch_norms(mdeq.downsample, mdeq.stage0))
        self.prepare()

    def packed(self) -> list[Tensor]:
        """The colours' means and deviations, then the convolutions."""
        convs = [pack_conv(conv, pad=True, precision=self.precision) for conv in _convolutions(self.convs)]
        return [self.mean.flatten(), self.std.flatten(), *convs]

    def shapes(self, height: int, width: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """A picture in, the finest branch's injection out."""
        return [(3, height, width)], self.branch_shapes(height, width)[:1]

    def by_torch(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The injection of a batch of pictures."""
        h = inputs[0].contiguous(memory_format=torch.channels_last)
        h = (h - self.mean).div_(self.std)
        for conv in self.convs:
            h = conv(h).relu_()
        return (h,)


class InferenceHead(Compilable):
    """From states to logits: a bottleneck per resolution, joined from the finest to the coarsest."""

    source = "head"

    def __init__(self, mdeq: MDEQ, compile: Compile) -> None:
        super().__init__(mdeq.variant.channels, compile)
        self.head_channels, self.final_channels = mdeq.variant.head_channels, mdeq.variant.final_channels
        bottlenecks = [_FoldedBottleneck(m) for m in mdeq.incre_modules.modules() if isinstance(m, Bottleneck)]
        self.bottlenecks = nn.ModuleList(bottlenecks)
        self.downsamplings = nn.ModuleList(_conv_batch_norms(*mdeq.downsamp_modules))
        self.final = next(_conv_batch_norms(mdeq.final_layer))
        like = mdeq.classifier
        self.classifier = nn.Linear(
            like.in_features, like.out_features, device=like.weight.device, dtype=like.weight.dtype
        )
        self.classifier.load_state_dict(like.state_dict())
        self.requires_grad_(False)
        self.prepare()

    def packed(self) -> list[Tensor]:
        """Bottlenecks, each but the first with the downsampling that leads to it, then what gives the logits."""
        pack = partial(pack_conv, pad=True, precision=self.precision)
        downsamplings = _convolutions(self.downsamplings)
        parts = []
        for i, block in enumerate(self.bottlenecks.children()):
            assert isinstance(block, _FoldedBottleneck)
            parts += [pack(block.conv1), pack(block.conv2), pack(block.conv3, block.shortcut)]
            if i > 0:
                parts.append(pack(downsamplings[i - 1]))
        spare = padded(self.classifier.in_features) - self.classifier.in_features
        rows = nn.functional.pad(self.classifier.weight, (0, spare))
        return [*parts, pack(self.final), rows.flatten(), self.classifier.bias]

    def shapes(self, height: int, width: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Every branch's state in, logits out."""
        return self.branch_shapes(height, width), [(self.classifier.out_features,)]

    def constants(self) -> dict[str, str]:
        """The head's widths."""
        return {
            "HEAD": ",".join(map(str, self.head_channels)),
            "FINAL": str(self.final_channels),
            "CLASSES": str(self.classifier.out_features),
        }

    def by_torch(self, z: State) -> tuple[Tensor, ...]:
        """Logits [B, classes] of a state."""
        y = self.bottlenecks[0](z[0])
        for part, down, bottleneck in zip(z[1:], self.downsamplings, list(self.bottlenecks)[1:], strict=True):
            y = bottleneck(part).add_(down(y).relu_())
        return (self.classifier(self.final(y).relu_().mean(dim=(2, 3))),)


class _FoldedBottleneck(nn.Module):
    """The head's residual block of one resolution."""

    def __init__(self, block: Bottleneck) -> None:
        super().__init__()
        self.conv1 = fold_batch_norm(block.conv1, block.bn1)
        self.conv2 = fold_batch_norm(block.conv2, block.bn2)
        self.conv3 = fold_batch_norm(block.conv3, block.bn3)
        self.shortcut = next(_conv_batch_norms(block.downsample))

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv2(self.conv1(x).relu_()).relu_()
        out: Tensor = self.conv3(h).add_(self.shortcut(x)).relu_()
        return out


def _convolutions(module: nn.Module) -> list[nn.Conv2d]:
    return [part for part in module.modules() if isinstance(part, nn.Conv2d)]


def _conv_batch_norms(*stacks: nn.Module) -> Iterator[nn.Conv2d]:
    """Every convolution of these stacks, with the batch norm that follows it folded in."""
    conv: nn.Conv2d | None = None
    for module in (child for stack in stacks for child in stack.children()):
        if isinstance(module, nn.Conv2d):
            conv = module
        elif isinstance(module, nn.BatchNorm2d):
            assert conv is not None
            yield fold_batch_norm(conv, module)

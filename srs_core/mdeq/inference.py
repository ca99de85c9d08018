"""MDEQ in the form in which it is used: normalisations folded, memory laid out for speed, no gradients."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from srs_core.mdeq.cards import Card
from srs_core.mdeq.folding import fold_batch_norm
from srs_core.mdeq.inference_layer import Compile, InferenceLayer
from srs_core.mdeq.layer import State
from srs_core.mdeq.network import MDEQ, Bottleneck

__all__ = ["InferenceMDEQ", "for_inference"]


class InferenceMDEQ(nn.Module):
    """A trained MDEQ that only answers: the four methods of the training form, faster.

    Answers agree with the training form's in evaluation to 1e-4. The states are in channels-last memory
    order. `hash` is the training form's, because these are the same weights.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mdeq: MDEQ, card: Card | None = None, compile: Compile = "auto") -> None:
        super().__init__()
        self.card = card
        self.name = "unnamed" if card is None else card.name
        self.sigma = None if card is None else card.sigma
        self.classes = [] if card is None else list(card.classes)
        self.variant = mdeq.variant
        self.hash = mdeq.hash
        with torch.no_grad():
            self.register_buffer("mean", mdeq.mean.clone())
            self.register_buffer("std", mdeq.std.clone())
            self.stem = nn.ModuleList(_conv_batch_norms(mdeq.downsample, mdeq.stage0))
            self.layer = InferenceLayer(mdeq.fullstage, compile)
            self.bottlenecks = nn.ModuleList(
                _FoldedBottleneck(m) for m in mdeq.incre_modules.modules() if isinstance(m, Bottleneck)
            )
            self.downsamplings = nn.ModuleList(conv for m in mdeq.downsamp_modules for conv in _conv_batch_norms(m))
            self.final = next(_conv_batch_norms(mdeq.final_layer))
            self.classifier = nn.Linear(
                mdeq.classifier.in_features,
                mdeq.classifier.out_features,
                device=mdeq.classifier.weight.device,
                dtype=mdeq.classifier.weight.dtype,
            )
            self.classifier.load_state_dict(mdeq.classifier.state_dict())
        self.requires_grad_(False)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.eval()

    def train(self, mode: bool = True) -> "InferenceMDEQ":
        """Stay in evaluation; this form cannot be trained."""
        if mode:
            raise ValueError("The inference form of MDEQ cannot be trained; train the MDEQ it was made from.")
        return super().train(False)

    @property
    def compiled(self) -> bool:
        """Whether f runs as machine code compiled for this processor, for pictures of the model's own size."""
        height, width = self.variant.branch_sizes(self.variant.image_size, self.variant.image_size)[0]
        return self.layer.kernel(height, width) is not None

    @torch.no_grad()
    def inject(self, x: Tensor) -> Tensor:
        """What the picture adds at every step: the stem's output."""
        h = x.contiguous(memory_format=torch.channels_last)
        h = (h - self.mean).div_(self.std)
        for conv in self.stem:
            h = conv(h).relu_()
        return h

    def initial(self, x: Tensor) -> State:
        """The cold start: zeros at every resolution."""
        sizes = self.variant.branch_sizes(x.shape[2], x.shape[3])
        return tuple(
            torch.empty(
                (x.shape[0], c, h, w), dtype=x.dtype, device=x.device, memory_format=torch.channels_last
            ).zero_()
            for c, (h, w) in zip(self.variant.channels, sizes, strict=True)
        )

    @torch.no_grad()
    def step(self, z: State, injection: Tensor) -> State:
        """One evaluation of f."""
        out: State = self.layer(z, injection)
        return out

    @torch.no_grad()
    def classify(self, z: State) -> Tensor:
        """Logits [B, classes] of a state."""
        y = self.bottlenecks[0](z[0])
        for i, down in enumerate(self.downsamplings, start=1):
            y = self.bottlenecks[i](z[i]).add_(down(y).relu_())
        logits: Tensor = self.classifier(self.final(y).relu_().mean(dim=(2, 3)))
        return logits


def for_inference(mdeq: MDEQ, card: Card | None = None, compile: Compile = "auto") -> InferenceMDEQ:
    """The fast form of a trained MDEQ, on the same device and in the same precision; a card gives it its names.

    With `compile="auto"` a small model on a CPU evaluates f in machine code, if a C++ compiler is there
    (the first use takes some seconds, once per machine, and is logged). True insists; False leaves f to torch.
    """
    return InferenceMDEQ(mdeq, card, compile)


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
        return F.relu_(self.conv3(h).add_(self.shortcut(x)))


def _conv_batch_norms(*stacks: nn.Module) -> Iterator[nn.Conv2d]:
    """Every convolution of these stacks, with the batch norm that follows it folded in."""
    conv: nn.Conv2d | None = None
    for module in (child for stack in stacks for child in stack.children()):
        if isinstance(module, nn.Conv2d):
            conv = module
        elif isinstance(module, nn.BatchNorm2d):
            assert conv is not None
            yield fold_batch_norm(conv, module)

"""MDEQ in the form in which it is used: normalisations folded, memory laid out for speed, no gradients."""

import copy

import torch
from torch import Tensor, nn

from srs_core.mdeq.cards import Card
from srs_core.mdeq.inference_ends import InferenceHead, InferenceStem
from srs_core.mdeq.inference_layer import InferenceLayer
from srs_core.mdeq.layer import State
from srs_core.mdeq.native import PRECISIONS, Compile, Precision
from srs_core.mdeq.network import MDEQ

__all__ = ["InferenceMDEQ", "for_inference"]


class InferenceMDEQ(nn.Module):
    """A trained MDEQ that only answers: the four methods of the training form, faster.

    Answers agree with the training form's in evaluation to 1e-4. The states are in channels-last memory
    order. `hash` is the training form's, because these are the same weights.
    """

    def __init__(self, mdeq: MDEQ, card: Card | None = None, compile: Compile = "auto") -> None:
        super().__init__()
        self.card = card
        self.name = "unnamed" if card is None else card.name
        self.sigma = None if card is None else card.sigma
        self.classes = [] if card is None else list(card.classes)
        self.variant = mdeq.variant
        self.hash = mdeq.hash
        with torch.no_grad():
            self.stem = InferenceStem(mdeq, compile)
            self.layer = InferenceLayer(mdeq.fullstage, compile)
            self.head = InferenceHead(mdeq, compile)
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
        """Whether all of it runs as machine code compiled for this processor, for pictures of the model's own size.

        Then no sample's answer depends on its batch, to the last bit.
        """
        height, width = self.variant.branch_sizes(self.variant.image_size, self.variant.image_size)[0]
        return all(part.kernel(height, width) is not None for part in (self.stem, self.layer, self.head))

    def in_precision(self, precision: Precision) -> "InferenceMDEQ":
        """The same weights with convolutions that multiply in this format: faster, and no longer the same answers.

        That is good for a proxy which the model itself audits. It needs a processor that multiplies bfloat16.
        """
        if precision not in PRECISIONS:
            raise ValueError(f"precision is {precision!r}; choose one of {', '.join(PRECISIONS)}.")
        if precision == self.layer.precision:
            return self
        twin = copy.copy(self)
        twin._modules = {}
        twin.stem = self.stem.in_precision(precision)
        twin.layer = self.layer.in_precision(precision)
        twin.head = self.head.in_precision(precision)
        if not twin.compiled:
            raise ValueError(
                f"precision is {precision!r}, which needs a CPU that multiplies bfloat16 (AVX-512 BF16), a C++ "
                "compiler and a model of the small variant, and one of them is missing here; choose 'float32'."
            )
        return twin

    @torch.no_grad()
    def inject(self, x: Tensor) -> Tensor:
        """What the picture adds at every step: the stem's output."""
        (injection,) = self.stem(x)
        return injection  # type: ignore[no-any-return]

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
        out: State = self.layer(*z, injection)
        return out

    @torch.no_grad()
    def classify(self, z: State) -> Tensor:
        """Logits [B, classes] of a state."""
        (logits,) = self.head(*z)
        return logits  # type: ignore[no-any-return]


def for_inference(mdeq: MDEQ, card: Card | None = None, compile: Compile = "auto") -> InferenceMDEQ:
    """The fast form of a trained MDEQ, on the same device and in the same precision; a card gives it its names.

    With `compile="auto"` a small model on a CPU evaluates f in machine code, if a C++ compiler is there
    (the first use takes some seconds, once per machine, and is logged). True insists; False leaves f to torch.
    """
    return InferenceMDEQ(mdeq, card, compile)

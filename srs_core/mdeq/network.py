"""MDEQ in the form in which it is trained and in which checkpoints are kept."""

import hashlib
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from srs_core.mdeq.layer import MDEQLayer, State, dropout_masks
from srs_core.mdeq.variants import Variant, find_variant

__all__ = ["MDEQ", "weights_hash"]


class Bottleneck(nn.Module):
    """The head's residual block of one resolution, widening its channels four times."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels, affine=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels, affine=False)
        self.conv3 = nn.Conv2d(channels, 4 * channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * channels, affine=False)
        self.downsample = nn.Sequential(
            nn.Conv2d(in_channels, 4 * channels, 1, bias=False), nn.BatchNorm2d(4 * channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Three convolutions beside a projected shortcut."""
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        return F.relu(self.bn3(self.conv3(h)) + self.downsample(x))


class MDEQ(nn.Module):
    """A multiscale deep equilibrium model with the reference network's parameters and names.

    It is used through four methods, which is all that solvers and certification know of a model:
    `inject` a picture, make an `initial` state, `step` the state towards its fixed point, `classify` it.
    Pictures are in [0, 1]; the normalisation is the model's own business.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, variant: Variant | str, dropout: float = 0.0, num_classes: int | None = None) -> None:
        super().__init__()
        self.variant = find_variant(variant) if isinstance(variant, str) else variant
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout is {dropout}; it must be at least 0 and below 1.")
        self.dropout = dropout
        v = self.variant
        self.register_buffer("mean", torch.tensor(v.mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(v.std).view(1, 3, 1, 1), persistent=False)
        width = v.channels[0]
        first, second = v.stem_strides
        self.downsample = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=first, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=second, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        )
        self.stage0 = nn.Sequential(nn.Conv2d(width, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.fullstage = MDEQLayer(v.channels)
        self.incre_modules = nn.ModuleList(
            [nn.Sequential(Bottleneck(c, head)) for c, head in zip(v.channels, v.head_channels, strict=True)]
        )
        self.downsamp_modules = nn.ModuleList(
            [
                nn.Sequential(nn.Conv2d(4 * a, 4 * b, 3, stride=2, padding=1), nn.BatchNorm2d(4 * b), nn.ReLU())
                for a, b in pairwise(v.head_channels)
            ]
        )
        self.final_layer = nn.Sequential(
            nn.Conv2d(4 * v.head_channels[-1], v.final_channels, 1),
            nn.BatchNorm2d(v.final_channels),
            nn.ReLU(),
        )
        self.classifier = nn.Linear(v.final_channels, num_classes or v.num_classes)

    def inject(self, x: Tensor) -> Tensor:
        """What the picture adds at every step: the stem's output."""
        out: Tensor = self.stage0(self.downsample((x - self.mean) / self.std))
        return out

    def initial(self, x: Tensor) -> State:
        """The cold start: zeros at every resolution."""
        sizes = self.variant.branch_sizes(x.shape[2], x.shape[3])
        return tuple(x.new_zeros(x.shape[0], c, h, w) for c, (h, w) in zip(self.variant.channels, sizes, strict=True))

    def step(self, z: State, injection: Tensor) -> State:
        """One evaluation of f, without dropout."""
        out: State = self.fullstage(z, injection)
        return out

    def masks(self, z: State) -> State | None:
        """This solve's dropout masks, or None when there is no dropout."""
        return dropout_masks(z, self.dropout) if self.training and self.dropout > 0.0 else None

    def classify(self, z: State) -> Tensor:
        """Logits [B, classes] of a state."""
        y = self.incre_modules[0](z[0])
        for i, down in enumerate(self.downsamp_modules, start=1):
            y = self.incre_modules[i](z[i]) + down(y)
        return self.classifier(self.final_layer(y).mean(dim=(2, 3)))  # type: ignore[no-any-return]

    @property
    def hash(self) -> str:
        """A short name for exactly these weights in exactly this variant."""
        return weights_hash(self.variant.name, self.state_dict())


def weights_hash(variant: str, state: dict[str, Tensor]) -> str:
    """The first 16 hex digits of the SHA-256 of a variant's name and its tensors in key order."""
    digest = hashlib.sha256(variant.encode())
    for key in sorted(state):
        tensor = state[key].detach().cpu().contiguous()
        digest.update(f"{key}|{tensor.dtype}|{tuple(tensor.shape)}|".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]

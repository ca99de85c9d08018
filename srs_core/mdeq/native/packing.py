"""Weights as the compiled code reads them: one stream of floats in the order of use."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

__all__ = ["LANES", "PRECISIONS", "Precision", "affordable", "pack_conv", "pack_norm", "padded"]

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
"""What convolutions multiply; they add up, and everything else computes, in float32."""

LANES = 16
"""Floats that the compiled code computes at once; with only eight channels, two pixels share a vector."""

PARAMETERS = 1_000_000


def affordable(module: nn.Module) -> bool:
    """Whether a module's weights stay in a core's cache; if not, torch's batched way is faster."""
    return sum(parameter.numel() for parameter in module.parameters()) <= PARAMETERS


def padded(channels: int) -> int:
    """The number of channels, rounded up to what can be cut into vectors."""
    return LANES // 2 if channels <= LANES // 2 else -(-channels // LANES) * LANES


def pack_conv(conv: nn.Conv2d, *beside: nn.Conv2d, pad: bool = False, precision: Precision = "float32") -> Tensor:
    """A convolution's weight, then its bias if it has one; `pad` adds channels of zeros up to whole vectors.

    The weight is ordered as [row, column, input, output], doubled and shifted where two pixels share a vector. In
    bfloat16 two neighbouring inputs share the four bytes of a float.
    Convolutions `beside` it are added to its result, so their weights follow and their biases are summed.
    """
    weights = [_pack_weight(each, pad, precision) for each in (conv, *beside)]
    biases = [each.bias for each in (conv, *beside) if each.bias is not None]
    if not biases:
        return torch.cat(weights)
    outputs = padded(conv.out_channels) if pad else conv.out_channels
    bias = biases[0].new_zeros(outputs)
    bias[: conv.out_channels] = torch.stack(biases).sum(dim=0)
    return torch.cat([*weights, bias.repeat(_pixels(outputs))])


def pack_norm(norm: nn.GroupNorm) -> Tensor:
    """A group norm's factors, then its summands."""
    return torch.cat([norm.weight, norm.bias])


def _pixels(outputs: int) -> int:
    return 2 if outputs % LANES else 1


def _pack_weight(conv: nn.Conv2d, pad: bool, precision: Precision) -> Tensor:
    weight, stride = conv.weight, conv.stride[0]
    outputs, inputs, size, _ = weight.shape
    if pad:
        outputs, inputs = padded(outputs), padded(inputs)
    pixels = _pixels(outputs)
    packed = weight.new_zeros(size, size + (pixels - 1) * stride, inputs, pixels * outputs)
    for pixel in range(pixels):
        columns = slice(pixel * stride, pixel * stride + size)
        place = slice(pixel * outputs, pixel * outputs + conv.out_channels)
        packed[:, columns, : conv.in_channels, place] = weight.permute(2, 3, 1, 0)
    if precision == "bfloat16":
        packed = (
            packed.view(*packed.shape[:2], inputs // 2, 2, -1)
            .transpose(3, 4)
            .bfloat16()
            .contiguous()
            .view(torch.float32)
        )
    return packed.flatten()

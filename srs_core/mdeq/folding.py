"""Training-form parts rewritten as plain convolutions: what inference needs of the weights, and no more."""

import torch
from torch import Tensor, nn

from srs_core.mdeq.layer import WeightNormConv2d

__all__ = ["fold_batch_norm", "fold_weight_norm", "frozen_conv"]


def frozen_conv(conv: nn.Conv2d) -> nn.Conv2d:
    """A copy of a convolution that never takes part in training."""
    assert isinstance(conv.padding, tuple)
    return _conv(conv.weight, conv.bias, conv.stride[0], conv.padding[0])


def fold_weight_norm(conv: WeightNormConv2d) -> nn.Conv2d:
    """The convolution that a weight-normalised one stands for."""
    return _conv(conv.folded_weight(), None, 1, conv.padding)


def fold_batch_norm(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> nn.Conv2d:
    """One convolution that does what a convolution and its batch norm do in evaluation."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert isinstance(conv.padding, tuple)
    scale = torch.rsqrt(norm.running_var + norm.eps)
    if norm.weight is not None:
        scale = scale * norm.weight
    bias = -norm.running_mean if conv.bias is None else conv.bias - norm.running_mean
    bias = bias * scale
    if norm.bias is not None:
        bias = bias + norm.bias
    return _conv(conv.weight * scale.view(-1, 1, 1, 1), bias, conv.stride[0], conv.padding[0])


def _conv(weight: Tensor, bias: Tensor | None, stride: int, padding: int) -> nn.Conv2d:
    out_channels, in_channels, kernel_size = weight.shape[:3]
    conv = nn.Conv2d(
        in_channels,
        out_channels,
        kernel_size,
        stride=stride,
        padding=padding,
        bias=bias is not None,
        device=weight.device,
        dtype=weight.dtype,
    )
    conv.requires_grad_(False)
    conv.weight.copy_(weight)
    if bias is not None and conv.bias is not None:
        conv.bias.copy_(bias)
    return conv

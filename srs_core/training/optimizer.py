"""The optimisers that a run can use."""

import torch
from torch import nn

from srs_core.training.settings import TrainingSettings

__all__ = ["make_optimizer"]


def make_optimizer(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam with decoupled weight decay, or SGD with Nesterov momentum.

    Only convolution and linear weights decay; lengths, offsets and normalisations do not.
    """
    decayed: list[nn.Parameter] = []
    free: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        weight = parameter.ndim > 1 and not name.endswith("weight_g")
        (decayed if weight else free).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    if settings.optimizer == "adam":
        return torch.optim.AdamW(groups, lr=settings.learning_rate, foreach=True)
    nesterov = settings.momentum > 0.0
    return torch.optim.SGD(
        groups, lr=settings.learning_rate, momentum=settings.momentum, nesterov=nesterov, foreach=True
    )

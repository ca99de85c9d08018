"""The moving average of a model's weights, which scores better than the last weights."""

import torch
from torch import Tensor, nn

__all__ = ["WeightAverage"]


class WeightAverage:
    """An exponential moving average (EMA) of everything in a model's state, batch statistics included.

    Early on the average follows faster than `decay` says, so that the first weights are soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.updates = 0
        self.values = {key: value.detach().clone() for key, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Move the average towards the model's present weights."""
        self.updates += 1
        weight = 1.0 - min(self.decay, (1 + self.updates) / (10 + self.updates))
        averages: list[Tensor] = []
        values: list[Tensor] = []
        for key, value in model.state_dict().items():
            if value.is_floating_point():
                averages.append(self.values[key])
                values.append(value)
            else:
                self.values[key].copy_(value)
        torch._foreach_lerp_(averages, values, weight)

import pytest
import torch
from torch import nn

from srs_core.training.averaging import WeightAverage


def test_the_average_starts_fast_and_then_follows_its_decay() -> None:
    model = nn.BatchNorm1d(1)
    average = WeightAverage(model, decay=0.5)
    model.weight.data.fill_(3.0)
    model.running_mean.fill_(3.0)  # type: ignore[union-attr]
    average.update(model)
    # from weight 1 with decay min(0.5, 2 / 11)
    assert float(average.values["weight"]) == pytest.approx(3.0 - 2.0 * 2 / 11)
    assert float(average.values["running_mean"]) == pytest.approx(3.0 - 3.0 * 2 / 11)
    average.updates = 1000
    before = float(average.values["weight"])
    average.update(model)
    assert float(average.values["weight"]) == pytest.approx(0.5 * before + 0.5 * 3.0)


def test_counters_are_copied_and_the_model_is_left_alone() -> None:
    model = nn.BatchNorm1d(2).train()
    average = WeightAverage(model, decay=0.9)
    model(torch.randn(4, 2))
    kept = {key: value.clone() for key, value in model.state_dict().items()}
    average.update(model)
    assert int(average.values["num_batches_tracked"]) == 1
    assert all(torch.equal(kept[key], value) for key, value in model.state_dict().items())

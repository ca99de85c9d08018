"""The batch size that suits a device."""

import torch

from srs_core.mdeq import tuning
from srs_core.mdeq.inference import for_inference
from srs_core.mdeq.network import MDEQ


def test_a_batch_size_is_measured_once_and_remembered() -> None:
    tuning._remembered.clear()
    model = for_inference(MDEQ("small").eval())
    chosen = tuning.preferred_batch_size(model)
    assert chosen in tuning.CANDIDATES
    assert list(tuning._remembered.values()) == [chosen]
    assert tuning.preferred_batch_size(model, torch.device("cpu")) == chosen
    assert len(tuning._remembered) == 1

import pytest
import torch

from srs_core.mdeq.network import MDEQ
from srs_core.mdeq.variants import VARIANTS, find_variant


@pytest.mark.parametrize("variant", VARIANTS)
def test_states_keep_their_shape_under_f(variant: str) -> None:
    with torch.device("meta"):
        model = MDEQ(variant)
        size = model.variant.image_size
        x = torch.zeros(2, 3, size, size)
        z, injection = model.initial(x), model.inject(x)
        after = model.step(z, injection)
        assert [a.shape for a in after] == [b.shape for b in z]
        assert model.classify(after).shape == (2, model.variant.num_classes)
    assert len(z) == len(model.variant.channels)


def test_every_parameter_has_a_gradient_through_a_few_steps() -> None:
    torch.manual_seed(0)
    model = MDEQ("small").train()
    x = torch.rand(4, 3, 32, 32)
    z, injection = model.initial(x), model.inject(x)
    for _ in range(2):
        z = model.step(z, injection)
    model.classify(z).square().sum().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert without == []


def test_variational_dropout_is_one_mask_a_solve_and_off_in_evaluation() -> None:
    torch.manual_seed(0)
    model = MDEQ("small", dropout=0.5).train()
    z = model.initial(torch.rand(2, 3, 32, 32))
    masks = model.masks(z)
    assert masks is not None
    assert [m.shape for m in masks] == [(2, c, 1, 1) for c in (8, 16, 32)]
    assert set(torch.cat([m.flatten() for m in masks]).tolist()) == {0.0, 2.0}
    assert model.eval().masks(z) is None
    assert MDEQ("small").train().masks(z) is None


def test_impossible_networks_are_named() -> None:
    with pytest.raises(ValueError, match=r"dropout is 1\.0"):
        MDEQ("small", dropout=1.0)
    with pytest.raises(ValueError, match="no variant 'medium'"):
        find_variant("medium")

"""The inference form answers as the training form does, whatever the batch, precision and device."""

import pytest
import torch
from torch import Tensor

from srs_core.mdeq.inference import InferenceMDEQ, for_inference
from srs_core.mdeq.native import Compile
from srs_core.mdeq.network import MDEQ

# (variant, batch, picture height and width, compile): odd sizes and a batch beyond one micro-batch among them.
CASES = [
    ("small", 5, 32, 32, "auto"),
    ("small", 110, 32, 32, False),
    ("small", 3, 21, 38, "auto"),
    ("large", 2, 32, 32, "auto"),
    ("imagenet", 2, 72, 53, "auto"),
]


def trained(variant: str) -> MDEQ:
    """An MDEQ whose every parameter and statistic is away from its initial value."""
    torch.manual_seed(1)
    model = MDEQ(variant).eval()
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if value.dim() == 1 and value.is_floating_point():
                if name.endswith("running_var"):
                    value.uniform_(0.5, 2.0)
                elif name.endswith("weight"):
                    value.uniform_(0.5, 1.5)
                else:
                    value.normal_(0.0, 0.3)
            elif name.endswith("weight_g"):
                value.mul_(1.3)
    return model


@torch.no_grad()
def answer(model: MDEQ | InferenceMDEQ, x: Tensor, steps: int = 4) -> Tensor:
    injection, z = model.inject(x), model.initial(x)
    for _ in range(steps):
        z = model.step(z, injection)
    return model.classify(z)


@pytest.fixture(scope="module")
def small() -> MDEQ:
    return trained("small")


@pytest.mark.parametrize(("variant", "batch", "height", "width", "compile"), CASES)
def test_agrees_with_the_training_form(variant: str, batch: int, height: int, width: int, compile: Compile) -> None:
    model = trained(variant)
    x = torch.rand(batch, 3, height, width)
    expected = answer(model, x)
    assert expected.std(dim=0).max() > 1e-3, "the pictures must matter for the comparison to mean anything"
    torch.testing.assert_close(answer(for_inference(model, compile=compile), x), expected, atol=1e-4, rtol=0)


def test_agrees_far_closer_in_double_precision(small: MDEQ) -> None:
    model = trained("small").double()
    x = torch.rand(5, 3, 32, 32, dtype=torch.float64)
    torch.testing.assert_close(answer(for_inference(model), x), answer(model, x), atol=1e-10, rtol=0)
    converted = for_inference(small).double()
    assert answer(converted, x).dtype == torch.float64


def test_repeats_itself_exactly(small: MDEQ) -> None:
    model = for_inference(small)
    x = torch.rand(7, 3, 32, 32)
    assert torch.equal(answer(model, x), answer(model, x))


def test_a_sample_does_not_depend_on_its_batch(small: MDEQ) -> None:
    model = for_inference(small)
    x = torch.rand(9, 3, 32, 32)
    together = answer(model, x)
    alone = torch.cat([answer(model, x[i : i + 1]) for i in range(len(x))])
    torch.testing.assert_close(alone, together, atol=2e-5, rtol=0)
    order = torch.randperm(len(x))
    torch.testing.assert_close(answer(model, x[order]), together[order], atol=2e-5, rtol=0)


def test_leaves_what_it_is_given_untouched(small: MDEQ) -> None:
    model = for_inference(small)
    x = torch.rand(2, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    injection = model.inject(x)
    z = model.step(model.initial(x), injection)
    before = [t.clone() for t in (x, injection, *z)]
    model.inject(x)
    model.step(z, injection)
    model.classify(z)
    for now, then in zip((x, injection, *z), before, strict=True):
        assert torch.equal(now, then)


def test_accepts_states_in_any_memory_order(small: MDEQ) -> None:
    model = for_inference(small)
    x = torch.rand(2, 3, 32, 32)
    injection = model.inject(x)
    z = model.step(model.initial(x), injection)
    plain = model.step(tuple(part.contiguous() for part in z), injection.contiguous())
    for a, b in zip(plain, model.step(z, injection), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_tensor_is_made_on_the_models_device(small: MDEQ, dtype: torch.dtype) -> None:
    model = for_inference(small).to(device="meta", dtype=dtype)
    logits = answer(model, torch.empty(3, 3, 32, 32, device="meta", dtype=dtype))
    assert logits.device.type == "meta"
    assert logits.dtype == dtype
    assert logits.shape == (3, 10)


def test_keeps_the_identity_of_its_weights(small: MDEQ) -> None:
    model = for_inference(small)
    assert model.hash == small.hash
    assert model.variant == small.variant
    assert model.double().hash == small.hash


def test_has_a_life_of_its_own() -> None:
    source = trained("small")
    model = for_inference(source)
    x = torch.rand(2, 3, 32, 32)
    before = answer(model, x)
    with torch.no_grad():
        for parameter in source.parameters():
            parameter.zero_()
    assert torch.equal(answer(model, x), before)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_cannot_be_trained(small: MDEQ) -> None:
    model = for_inference(small)
    with pytest.raises(ValueError, match="cannot be trained"):
        model.train()
    assert not model.eval().training

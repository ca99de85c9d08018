"""Compiled stem, layer and head against torch's own evaluation of the same weights."""

import copy
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor

from srs_core.mdeq.inference import InferenceMDEQ, for_inference
from srs_core.mdeq.native.build import BuildError, build, cache_folder
from srs_core.mdeq.native.kernel import Kernel, find_kernel
from srs_core.mdeq.network import MDEQ


@pytest.fixture(scope="module")
def model() -> InferenceMDEQ:
    torch.manual_seed(3)
    mdeq = MDEQ("small").eval()
    with torch.no_grad():
        for name, value in mdeq.state_dict().items():
            if "gn" in name or "bn" in name or "running_mean" in name:
                value.add_(torch.randn(value.shape).mul_(0.3).to(value.dtype))
            if "running_var" in name:
                value.uniform_(0.5, 2.0)
    model = for_inference(mdeq, compile=True)
    if not model.compiled:
        pytest.skip("there is no C++ compiler or no AVX-512 here")
    return model


def start(model: InferenceMDEQ, batch: int, height: int = 32, width: int = 32) -> tuple[tuple[Tensor, ...], Tensor]:
    x = torch.rand(batch, 3, height, width, generator=torch.Generator().manual_seed(batch))
    injection, z = model.inject(x), model.initial(x)
    return model.step(z, injection), injection


def test_computes_what_torch_computes_in_double_precision(model: InferenceMDEQ) -> None:
    z, injection = start(model, 6)
    exact = for_inference(MDEQ("small").eval()).double()
    exact.load_state_dict(model.state_dict())
    doubled = tuple(part.double() for part in z)
    for ours, theirs in zip(model.step(z, injection), exact.step(doubled, injection.double()), strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=3e-5, rtol=0)
    torch.testing.assert_close(model.classify(z).double(), exact.classify(doubled), atol=1e-5, rtol=0)
    x = torch.rand(6, 3, 32, 32)
    torch.testing.assert_close(model.inject(x).double(), exact.inject(x.double()), atol=1e-5, rtol=0)


def rounded(model: InferenceMDEQ) -> InferenceMDEQ:
    """The model in double precision, with convolution weights as bfloat16 holds them."""
    exact = for_inference(MDEQ("small").eval()).double()
    exact.load_state_dict(model.state_dict())
    for part in exact.modules():
        if isinstance(part, torch.nn.Conv2d):
            part.weight.copy_(part.weight.float().bfloat16())
    return exact


def to_bfloat16(values: Tensor) -> Tensor:
    return values.float().bfloat16().to(values.dtype)


def test_bfloat16_rounds_what_convolutions_multiply_and_nothing_else(
    model: InferenceMDEQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against double precision, in which exactly the factors of products are rounded to bfloat16."""
    if "avx512_bf16" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor does not multiply bfloat16")
    half, exact = model.in_precision("bfloat16"), rounded(model)
    z, injection = start(model, 6)
    doubled = tuple(part.double() for part in z)
    plain = torch.nn.Conv2d.forward
    monkeypatch.setattr(torch.nn.Conv2d, "forward", lambda conv, x: plain(conv, to_bfloat16(x)))
    for ours, theirs in zip(half.step(z, injection), exact.step(doubled, injection.double()), strict=True):
        difference = (ours.double() - theirs).abs()
        # A sum that falls to the other side of a rounding step moves what follows by that step.
        assert difference.median() < 1e-3
        assert difference.max() < 0.1
    torch.testing.assert_close(half.classify(z).double(), exact.classify(doubled), atol=1e-2, rtol=0)
    x = torch.rand(6, 3, 32, 32)
    torch.testing.assert_close(half.inject(x).double(), exact.inject(x.double()), atol=2e-2, rtol=0)


def test_another_precision_leaves_the_model_as_it_was(model: InferenceMDEQ) -> None:
    z, injection = start(model, 3)
    before = model.step(z, injection)
    half = model.in_precision("bfloat16")
    assert all(torch.equal(a, b) for a, b in zip(model.step(z, injection), before, strict=True))
    assert not torch.equal(half.step(z, injection)[0], before[0])
    assert model.in_precision("float32") is model
    assert half.in_precision("bfloat16") is half
    with pytest.raises(ValueError, match="precision is 'int3'; choose one of float32, bfloat16"):
        model.in_precision("int3")  # type: ignore[arg-type]


def test_where_a_precision_gains_nothing_it_is_refused(model: InferenceMDEQ) -> None:
    by_torch = for_inference(MDEQ("small").eval(), compile=False)
    elsewhere = copy.deepcopy(model).to("meta")
    for refusing in (by_torch, elsewhere):
        with pytest.raises(ValueError, match=r"precision is 'bfloat16', which needs a CPU .* choose 'float32'"):
            refusing.in_precision("bfloat16")


def test_a_picture_that_is_not_square(model: InferenceMDEQ) -> None:
    by_torch = copy.deepcopy(model)
    for part in (by_torch.stem, by_torch.layer, by_torch.head):
        part.compile_mode = False
    z, injection = start(model, 3, height=8, width=24)
    expected_z, expected_injection = start(by_torch, 3, height=8, width=24)
    torch.testing.assert_close(injection, expected_injection, atol=1e-5, rtol=0)
    for ours, theirs in zip(z, expected_z, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)
    torch.testing.assert_close(model.classify(z), by_torch.classify(z), atol=1e-5, rtol=0)


def test_a_sample_is_the_same_to_the_last_bit_in_any_batch_and_on_any_thread(model: InferenceMDEQ) -> None:
    z, injection = start(model, 40)
    together = model.step(z, injection)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        in_threads = model.step(z, injection)
    finally:
        torch.set_num_threads(threads)
    some = torch.tensor([7, 39, 0])
    alone = model.step(tuple(part[some] for part in z), injection[some])
    for a, b, c in zip(together, in_threads, alone, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a[some], c)
    assert torch.equal(model.classify(together)[some], model.classify(alone))


def test_several_callers_at_once_do_not_disturb_each_other(model: InferenceMDEQ) -> None:
    z, injection = start(model, 12)
    expected = model.step(z, injection)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: model.step(z, injection), range(12)):
            assert all(torch.equal(a, b) for a, b in zip(result, expected, strict=True))


def test_a_state_that_is_not_finite_stays_so_and_spoils_no_neighbour(model: InferenceMDEQ) -> None:
    z, injection = start(model, 3)
    clean = model.step(z, injection)
    for bad in (float("nan"), float("inf")):
        spoilt = tuple(part.clone() for part in z)
        spoilt[1][1, 3, 2, 2] = bad
        result = model.step(spoilt, injection)
        assert not all(part[1].isfinite().all() for part in result)
        for part, expected in zip(result, clean, strict=True):
            assert torch.equal(part[0], expected[0])
            assert torch.equal(part[2], expected[2])


def test_an_empty_batch_gives_an_empty_state(model: InferenceMDEQ) -> None:
    z, injection = start(model, 2)
    out = model.step(tuple(part[:0] for part in z), injection[:0])
    assert model.classify(out).shape == (0, 10)
    assert [tuple(part.shape) for part in out] == [(0, 8, 32, 32), (0, 16, 16, 16), (0, 32, 8, 8)]


def test_accepts_only_states_that_it_can_read(model: InferenceMDEQ) -> None:
    kernel = model.layer.kernel(32, 32)
    assert isinstance(kernel, Kernel)
    z, injection = start(model, 2)
    assert kernel.accepts((*z, injection))
    assert not kernel.accepts((*z, injection[:1]))
    assert not kernel.accepts((*z[:2], injection))
    assert not kernel.accepts((z[0], z[1], z[2][:, :16], injection))
    assert not kernel.accepts((*z, injection.double()))
    assert not kernel.accepts((*(part.to("meta") for part in z), injection))


@pytest.mark.parametrize(("height", "width"), [(30, 32), (32, 18), (20, 20)])
def test_sizes_that_do_not_halve_into_vectors_have_no_kernel(model: InferenceMDEQ, height: int, width: int) -> None:
    assert model.layer.kernel(height, width) is None


def test_insisting_on_a_kernel_that_cannot_be_is_refused(model: InferenceMDEQ) -> None:
    with pytest.raises(RuntimeError, match=r"The stem must run as compiled code .* Choose compile='auto'"):
        model.inject(torch.rand(1, 3, 30, 30))
    with pytest.raises(ValueError, match="compile is 'yes'; choose 'auto', True or False"):
        for_inference(MDEQ("small").eval(), compile="yes")  # type: ignore[arg-type]


def test_a_large_layer_is_left_to_torch() -> None:
    large = for_inference(MDEQ("large").eval())
    assert large.layer.stream is None
    assert not large.compiled


def test_a_processor_without_wide_vectors_is_left_to_torch() -> None:
    program = (
        "from srs_core.mdeq.inference import for_inference; from srs_core.mdeq.network import MDEQ;"
        "print(for_inference(MDEQ('small').eval()).compiled)"
    )
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "avx2", "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.usefixtures("model")
def test_without_a_compiler_torch_evaluates_and_the_log_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    other = for_inference(MDEQ("small").eval())
    x = torch.rand(2, 3, 16, 48)
    with caplog.at_level(logging.WARNING):
        out = other.step(other.initial(x), other.inject(x))
    find_kernel.cache_clear()
    assert out[0].shape == (2, 8, 16, 48)
    assert "slower, because: No C++ compiler was found" in caplog.text


def test_a_build_is_kept_and_used_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("SRS_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "answer.cpp"
    source.write_text('extern "C" int answer() { return ANSWER; }')
    with caplog.at_level(logging.INFO):
        first = build(source, {"ANSWER": "42"})
        assert caplog.text.count("Compiling answer.cpp") == 1
        written = first.stat().st_mtime_ns
        assert build(source, {"ANSWER": "42"}) == first
        assert build(source, {"ANSWER": "43"}) != first
    assert first.parent == cache_folder()
    assert first.stat().st_mtime_ns == written
    assert caplog.text.count("Compiling answer.cpp") == 2


def test_source_that_does_not_compile_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SRS_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "broken.cpp"
    source.write_text("this is not C++")
    with pytest.raises(BuildError, match=r"failed: .*broken\.cpp") as caught:
        build(source, {})
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "cache").iterdir())


def test_compiled_code_that_disagrees_with_torch_is_not_used(
    model: InferenceMDEQ, caplog: pytest.LogCaptureFixture
) -> None:
    fresh = for_inference(MDEQ("small").eval())
    assert fresh.layer.stream is not None
    fresh.layer.stream.mul_(1.5)
    z, injection = start(model, 2)
    with caplog.at_level(logging.WARNING):
        out = fresh.step(z, injection)
    assert "The compiled layer does not give torch's answer" in caplog.text
    for ours, theirs in zip(out, fresh.layer.by_torch((*z, injection)), strict=True):
        assert torch.equal(ours, theirs)
    assert not fresh.compiled

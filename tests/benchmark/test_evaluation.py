"""What `bench` measures and how it says it."""

import json

import pytest
import torch
from typer.testing import CliRunner

from srs_core.benchmark.evaluation import benchmark_stream, layer_flops
from srs_core.cli import app
from srs_core.mdeq.variants import find_variant


def convolution(inputs: int, outputs: int, kernel: int, side: int) -> int:
    return 2 * inputs * outputs * kernel**2 * side**2


def test_an_evaluation_of_the_small_layer_is_37_7_mflop() -> None:
    blocks = sum(2 * convolution(c, 5 * c, 3, side) for c, side in ((8, 32), (16, 16), (32, 8)))
    down = convolution(8, 16, 3, 16) + convolution(8, 8, 3, 16) + convolution(8, 32, 3, 8) + convolution(16, 32, 3, 8)
    up = convolution(16, 8, 1, 16) + convolution(32, 8, 1, 8) + convolution(32, 16, 1, 8)
    post = convolution(8, 8, 1, 32) + convolution(16, 16, 1, 16) + convolution(32, 32, 1, 8)
    assert layer_flops(find_variant("small")) == blocks + down + up + post
    assert round((blocks + down + up + post) / 1e6, 1) == 37.7


def test_every_round_is_told_and_the_numbers_fit_together() -> None:
    told = list(benchmark_stream(find_variant("small"), torch.device("cpu"), 8, 4, repeats=2))
    assert [result.repeats for result in told] == [1, 2]
    last, evaluation = told[-1], told[-1].evaluation
    assert (last.batch_size, last.plain_batch_size) == (8, 4)
    assert evaluation.ratio == pytest.approx(evaluation.plain_ms_per_sample / evaluation.ms_per_sample)
    rate = last.flops_per_evaluation / (evaluation.ms_per_sample * 1e-3)
    assert evaluation.peak_share == pytest.approx(rate / (last.matmul_gflops * 1e9))
    assert min(evaluation.inject_ms_per_sample, evaluation.classify_ms_per_sample) > 0


def test_an_impossible_number_is_named() -> None:
    with pytest.raises(ValueError, match="batch_size is 0; it must be at least 1"):
        next(benchmark_stream(find_variant("small"), torch.device("cpu"), batch_size=0))
    with pytest.raises(ValueError, match="repeats is 0; it must be at least 1"):
        next(benchmark_stream(find_variant("small"), torch.device("cpu"), repeats=0))


def test_the_command_prints_one_json_document_or_a_table() -> None:
    quick = [
        "bench",
        "--variant",
        "small",
        "--batch-size",
        "4",
        "--plain-batch-size",
        "4",
        "--repeats",
        "1",
        "--device",
        "cpu",
    ]
    run = CliRunner().invoke(app, [*quick, "--json"])
    assert run.exit_code == 0
    document = json.loads(run.stdout)
    assert {"device", "matmul_gflops", "evaluation", "runs"} <= document.keys()
    assert {"ms_per_sample", "peak_share", "plain_ms_per_sample"} <= document["evaluation"].keys()
    run = CliRunner().invoke(app, quick)
    assert run.exit_code == 0
    assert "inference form" in run.stdout
    assert "37.7 MFLOP" in run.stderr.replace("\n", " ")

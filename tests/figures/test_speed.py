"""Figures of a benchmark show its numbers."""

import pytest

from srs_core.benchmark.evaluation import Benchmark, Evaluation
from srs_core.benchmark.runs import Record
from srs_core.figures.speed import (
    batch_figure,
    evaluation_figure,
    growth_figure,
    radius_and_time_figure,
    time_figure,
)
from srs_core.smoothing.compare import EqualCost


def record(method="srs", n=1_000, **more):
    values = {
        "group": "methods",
        "method": method,
        "solver": "anderson",
        "steps": 30 if method == "rs" else 3,
        "n": n,
        "audit": 100,
        "batch_size": 64,
        "proxy_precision": None,
        "evaluations": 4_000,
        "seconds": 4.0,
        "step_seconds": 3.0,
        "ends_seconds": 0.5,
        "outside_share": 0.125,
        "class_name": "frog",
        "radius": 0.4,
        "mismatch_bound": None,
    }
    return Record(**{**values, **more})


@pytest.mark.parametrize("cheaper", [None, 0.15])
def test_an_evaluation_at_the_peak_is_its_arithmetic_over_the_rate(cheaper):
    evaluation = Evaluation(0.25, 1.0, 4.0, 0.5, 0.05, 0.04, cheaper)
    benchmark = Benchmark("cpu", 2, "2.0", "small", 64, 400, 15, True, 40_000_000, 200.0, evaluation)
    (bars,) = evaluation_figure(benchmark).data
    shown = dict(zip(bars.y, bars.x, strict=True))
    assert shown["at the peak (float32)"] == pytest.approx(0.2)
    assert shown["inference form"] == 0.25
    assert shown.get("in bfloat16") == cheaper


def test_plain_smoothing_at_equal_cost_stands_at_the_time_of_its_rival():
    rival = record(seconds=2.0, equal_cost=EqualCost(100, 0.3, False))
    plain, serialized, equal = radius_and_time_figure([record("rs", seconds=20.0), rival]).data
    assert (plain.x, serialized.x, equal.x) == ((20.0,), (2.0,), (2.0,))
    assert (plain.y, serialized.y, equal.y) == ((0.4,), (0.4,), (0.3,))


def test_the_parts_of_the_time_add_up():
    bars = time_figure([record(), record("rs")]).data
    assert [sum(bar.x[i] for bar in bars) for i in range(2)] == pytest.approx([100, 100])


def test_growth_is_drawn_in_the_order_of_votes():
    _, serialized = growth_figure([record(n=400, seconds=4.0), record(n=100, seconds=1.0)]).data
    assert (serialized.x, serialized.y) == ((100, 400), (1.0, 4.0))


def test_batches_are_compared_per_evaluation():
    (bars,) = batch_figure([record(batch_size=16), record(batch_size=64, evaluations=8_000)]).data
    assert (bars.x, bars.y) == (("16", "64"), (1.0, 0.5))

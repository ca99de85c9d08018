"""The Speed page, without and with a browser."""

import json

import pytest
from playwright.sync_api import expect

from srs_core.benchmark.evaluation import Benchmark, Evaluation
from srs_core.benchmark.files import benchmark_document
from srs_core.benchmark.runs import Record
from srs_core.smoothing.compare import EqualCost

EVALUATION = Evaluation(0.25, 1.0, 4.0, 0.5, 0.05, 0.04, 0.15)
BENCHMARK = Benchmark("cpu", 2, "2.0", "small", 64, 400, 15, True, 37_700_000, 300.0, EVALUATION)


def record(group, method="srs", solver="naive", steps=1, n=1_000, **more):
    values = {
        "audit": 100 if method == "srs" else 0,
        "batch_size": 64,
        "proxy_precision": "float32" if method == "srs" else None,
        "evaluations": 20 * n if method == "rs" else steps * n,
        "seconds": 8.0,
        "step_seconds": 6.0,
        "ends_seconds": 1.0,
        "outside_share": 0.125,
        "class_name": "frog",
        "radius": 0.4321,
        "mismatch_bound": None,
    }
    return Record(group=group, method=method, solver=solver, steps=steps, n=n, **{**values, **more})


def compared(group, **more):
    judged = {"speed_up_seconds": 9.5, "speed_up_evaluations": 12.0, "relative_radius_difference": 0.25}
    return record(group, **judged, equal_cost=EqualCost(200, 0.345, False), **more)


RUNS = (
    record("headline", "rs", "anderson", 30),
    compared("headline"),
    record("methods", "rs", "anderson", 30),
    compared("methods", solver="anderson", steps=3),
    *(record("votes", n=n, peak_megabytes=400.0) for n in (500, 1_000, 2_000)),
    *(record("votes", "rs", "anderson", 30, n=n) for n in (100, 200, 400)),
    record("batches"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SRS_BENCHMARKS", str(tmp_path))
    return tmp_path


def write(path, created="2026-01-02", runs=RUNS, load=0.1):
    settings = {"model": "mine", "load_before": load}
    document = {**benchmark_document(BENCHMARK, runs, settings), "created": created}
    path.write_text(json.dumps(document))


def test_without_a_benchmark_the_page_says_how_to_make_one(run_page):
    page = run_page("speed")
    assert not page.exception
    assert "python -m srs_core bench --out benchmarks/" in page.info[0].value
    assert not page.get("plotly_chart")


def test_a_damaged_file_is_named_and_the_others_are_shown(run_page, folder):
    (folder / "broken.json").write_text("{")
    write(folder / "good.json")
    page = run_page("speed")
    assert not page.exception
    assert "broken.json cannot be read as a benchmark" in page.warning[0].value
    assert page.metric


def test_every_number_has_its_words(run_page, folder):
    write(folder / "good.json")
    page = run_page("speed")
    assert not page.exception
    assert {metric.label: metric.value for metric in page.metric} == {
        "One evaluation": "0.25 ms",
        "Gain over training": "4.0 times",
        "Share of the peak": "50 %",
        "Serialized is faster": "9.5 times",
        "Radius given away": "25 %",
    }
    assert len(page.get("plotly_chart")) == 5
    table = page.dataframe[0].value
    assert table["Run"].tolist() == ["RS 30 anderson", "SRS 1 naive", "RS 30 anderson", "SRS 3 anderson"]
    assert table["Radius"].tolist() == ["0.432"] * 4
    assert table["Radius of plain, equal cost"].tolist() == ["", "0.345", "", "0.345"]
    assert any("400 MB with 2,000 votes" in caption.value for caption in page.caption)


@pytest.mark.parametrize(("load", "warnings"), [(0.2, 0), (3.0, 1)])
def test_a_measurement_on_a_busy_machine_is_marked(run_page, folder, load, warnings):
    write(folder / "good.json", load=load)
    page = run_page("speed")
    assert not page.exception
    assert len(page.warning) == warnings


def test_evaluations_alone_are_shown_without_the_rest(run_page, folder):
    write(folder / "good.json", runs=())
    page = run_page("speed")
    assert not page.exception
    assert len(page.metric) == 3
    assert len(page.get("plotly_chart")) == 1


def test_the_newest_comes_first_and_others_can_be_chosen(run_page, folder):
    write(folder / "a-old.json", "2025-01-01")
    write(folder / "b-new.json", "2026-01-01")
    page = run_page("speed")
    assert page.selectbox(key="benchmark").value == "b-new"
    page.selectbox(key="benchmark").select("a-old").run()
    assert not page.exception
    assert any("2025-01-01" in caption.value for caption in page.caption)


def test_in_a_browser_light_and_dark(site):
    page = site.open("/speed")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    page = site.open("/speed", dark=True, width=390)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

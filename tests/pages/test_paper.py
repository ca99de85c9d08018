"""The Paper page, without and with a browser."""

import json

import pytest
from playwright.sync_api import expect

COLUMNS = "idx\tlabel\tpredict\tradius\tcorrect\ttime\tsetting\tmodel\tsigma"


def traces(page, chart=0):
    return json.loads(page.get("plotly_chart")[chart].proto.spec)["data"]


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    """A results folder of its own, without results unless the test writes some."""
    from streamlit import cache_data

    monkeypatch.setenv("SRS_RESULTS", str(tmp_path))
    cache_data.clear()
    yield tmp_path
    cache_data.clear()


def test_the_main_table_is_drawn_and_printed(run_page):
    page = run_page("paper", sigma_cifar10="0.25")
    assert not page.exception
    assert {trace["name"] for trace in traces(page)} == set(page.dataframe[0].value["Model"])
    assert len(traces(page)) == 7
    assert any("nothing has been measured here" in text.value for text in page.caption)


def test_measured_results_are_drawn_beside_the_papers(run_page, results):
    rows = [f"{i}\t3\t3\t{radius}\t1\t0:00:01.000000\tMDEQ-30A\tmine\t0.5" for i, radius in enumerate((0.3, 0.6))]
    (results / "mine.tsv").write_text("\n".join((COLUMNS, *rows, "")))
    page = run_page("paper")
    assert not page.exception
    (ours,) = (trace for trace in traces(page) if "measured here" in trace["name"])
    assert ours["name"] == "MDEQ-30A (2 pictures), measured here"
    assert any("measured here" in text.value for text in page.caption)


def test_of_two_models_of_one_noise_level_one_is_chosen(run_page, results):
    for model, radius in (("first", 0.3), ("second", 0.6)):
        row = f"0\t3\t3\t{radius}\t1\t0:00:01.000000\tMDEQ-30A\t{model}\t0.5"
        (results / f"{model}.tsv").write_text("\n".join((COLUMNS, row, "")))
    shown = {}
    for model in ("first", "second"):
        page = run_page("paper", **{"measured_0.5": model})
        assert not page.exception
        (ours,) = (trace for trace in traces(page) if "measured here" in trace["name"])
        shown[model] = [percent for radius, percent in zip(ours["x"], ours["y"], strict=True) if radius == 0.5]
    assert shown == {"first": [0], "second": [100]}


@pytest.mark.parametrize(
    ("table", "charts"), [("Ablations", 1), ("Speed", 2), ("Attacks", 2), ("What differs here", 0)]
)
def test_every_table_is_drawn(run_page, table, charts):
    page = run_page("paper", table=table)
    assert not page.exception
    assert len(page.get("plotly_chart")) == charts


def test_every_study_and_picture_set_is_drawn(run_page):
    page = run_page("paper", table="Ablations")
    for study in page.selectbox(key="study").options:
        page.selectbox(key="study").select(study).run()
        assert not page.exception
        assert len(traces(page)) == len(page.dataframe[0].value)
    page = run_page("paper", dataset="ImageNet")
    assert not page.exception
    assert len(traces(page)) == 5


def test_the_printed_cutoffs_stand_beside_the_computed_ones(run_page):
    table = run_page("paper", table="What differs here").dataframe[0].value
    assert table.iloc[-1].tolist() == ["100 %", "1.860", "1.599", "1.594", "1.147", "1.182"]


def test_in_a_browser_light_and_dark(site):
    page = site.open("/paper")
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    page.get_by_role("radio", name="Attacks").click()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    page = site.open("/paper?table=What+differs+here", dark=True, width=390)
    expect(page.get_by_text("A table that does not follow")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

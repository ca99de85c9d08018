"""The Warm start page, without and with a browser."""

import json

import pytest
from playwright.sync_api import expect

CHAPTERS = ("Answers", "Answers", "Answers", "Distance", "Chain")


def lines(page):
    return json.loads(page.get("plotly_chart")[0].proto.spec)["data"]


def test_warm_residuals_start_below_cold_ones_for_all_solvers(run_page):
    page = run_page("warm_start")
    assert not page.exception
    first = {trace["name"]: trace["y"] for trace in lines(page)}
    assert len(first) == 6
    metrics = {metric.label: metric.value for metric in page.metric}
    assert float(metrics["Residual, warm"]) < float(metrics["Residual, cold"])


def test_five_clicks_tell_the_story(run_page):
    page = run_page("warm_start")
    shares = []
    for number, part in enumerate(CHAPTERS):
        page.button[number].click().run()
        assert not page.exception
        assert page.info[0].value.startswith(f"**{number + 1} ·")
        assert page.session_state["view"] == part
        shares += [text.value for text in page.markdown if "noisy copies get another answer" in text.value]
    cold, long, warm = (int(text.split(" %")[0].split("**")[-1]) for text in shares)
    # What the chapters say: hopeless from nothing, good after many steps, mostly there after one warm step, a catch.
    assert cold > 80
    assert long < 20
    assert warm < 50
    assert int(page.metric[0].value.removesuffix(" %")) > 5


def test_the_link_decides(run_page):
    page = run_page("warm_start", view="Distance", step="5", solver="naive", start="mean", picture="frog 333")
    assert not page.exception
    assert page.slider(key="step").value == 5
    assert page.selectbox(key="picture").value == "frog 333"
    assert page.session_state["start"] == "mean"
    assert len(lines(page)[0]["y"]) == 4


@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser_a_chapter_opens(site, dark):
    page = site.open("/warm_start?view=Distance", dark=dark, width=390 if dark else 1280)
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    page.get_by_role("button", name="3 · Start where").click()
    expect(page.get_by_text("The same single step")).to_be_visible()
    site.settle(page)
    page.wait_for_url(lambda url: "view=Answers" in url)
    assert page.evaluate("document.documentElement.scrollWidth") <= (390 if dark else 1280)

"""The Plane page, without and with a browser."""

import json

import pytest
from playwright.sync_api import expect


def traces(page, chart=0):
    return json.loads(page.get("plotly_chart")[chart].proto.spec)["data"]


def radii(page):
    return {metric.label: metric.value for metric in page.metric}


def test_certified_radii_stay_below_the_true_one(run_page):
    page = run_page("plane", x="0.24", y="0.3")
    assert not page.exception
    values = radii(page)
    rs, srs, ideal, true = (float(values[name]) for name in values)
    assert 0 < srs < rs < ideal <= true
    assert "The certificate holds" in page.success[0].value


def test_circles_are_drawn_to_scale_around_the_point(run_page):
    page = run_page("plane", x="0.24", y="0.3")
    lines = [trace for trace in traces(page, 1) if trace.get("mode") == "lines"]
    drawn = {trace["name"].rsplit(" ", 1)[0]: trace for trace in lines if trace.get("showlegend") is not False}
    assert set(drawn) == {"true robust radius", "with endless votes", "certified by RS", "certified by SRS"}
    layout = json.loads(page.get("plotly_chart")[1].proto.spec)["layout"]
    assert layout["yaxis"]["scaleanchor"] == "x"
    assert layout["yaxis"]["scaleratio"] == 1


def test_the_link_decides_and_a_preset_moves_the_point(run_page):
    page = run_page("plane", x="0.9", y="0.3", noise="0.1", n="1000", s="8")
    assert (page.slider(key="x").value, page.slider(key="y").value) == (0.9, 0.3)
    assert page.slider(key="noise").value == 0.1
    assert page.slider(key="s").value == 8
    page.button[2].click().run()
    assert not page.exception
    assert (page.slider(key="x").value, page.slider(key="y").value) == (0.5, 0.48)


def test_where_arms_meet_it_abstains(run_page):
    page = run_page("plane", x="0.5", y="0.48", noise="0.12", n="500")
    assert not page.exception
    assert "abstain" in page.info[0].value
    assert list(radii(page).values())[:2] == ["abstains", "abstains"]


@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser_a_click_moves_the_point(site, dark):
    page = site.open("/plane?n=500", dark=dark)
    expect(page.get_by_text("The certificate holds")).to_be_visible()
    plot = page.locator(".js-plotly-plot").first
    area = plot.locator(".nsewdrag").bounding_box()
    page.mouse.click(area["x"] + 0.9 * area["width"], area["y"] + 0.6 * area["height"])
    page.wait_for_url(lambda url: "x=0.9" in url and "y=0.4" in url)
    site.settle(page)


def test_it_fits_a_narrow_screen(site):
    page = site.open("/plane?n=500", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

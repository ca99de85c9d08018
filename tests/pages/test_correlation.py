"""The Correlation page, without and with a browser."""

import json

import pytest
from playwright.sync_api import expect

from tests.pages.live import watch_charts, watched_charts


def spec(page, chart=0):
    return json.loads(page.get("plotly_chart")[chart].proto.spec)


def values(page):
    return {metric.label: metric.value for metric in page.metric}


def test_the_grid_has_a_square_for_every_vote_and_its_legend_counts_them(run_page):
    page = run_page("correlation", votes="1000", audited="250")
    assert not page.exception
    counts = [int(trace["name"].rsplit(" ", 1)[1].replace(",", "")) for trace in spec(page)["data"][1:]]
    assert sum(counts) == 1000
    assert int(values(page)["Of these audited"]) <= 250
    assert "bound holds" in page.success[0].value


def test_an_early_audit_of_a_drifting_chain_is_fooled(run_page):
    page = run_page("correlation", rule="only the first ones", drift="true", reveal="true", false="15")
    assert not page.exception
    assert "fooled" in page.error[0].value
    assert any(trace["name"].startswith("false, but not audited") for trace in spec(page)["data"][1:])


def test_the_price_orders_the_formulas_and_shows_the_printed_table(run_page):
    page = run_page("correlation", part="Its price")
    assert not page.exception
    lost = [float(value.removesuffix(" %")) for value in values(page).values()]
    assert 0 < lost[0] < lost[1] < lost[2]
    table = page.dataframe[0].value
    assert table["Printed: SRS"].tolist()[-1] == "1.594"
    assert table["Computed: paper"].tolist()[-1] == "1.147"
    assert table["Computed: rs"].tolist()[-1] == "1.599"


def test_simulated_certificates_are_counted(run_page):
    page = run_page("correlation", part="What goes wrong", votes="1000", audited="100")
    assert "Press the button" in page.info[0].value
    page.button[0].click().run(timeout=60)
    assert not page.exception
    assert any("Of 300 certificates" in text.value for text in page.markdown)


def test_who_wins_depends_on_the_mistakes(run_page):
    few = run_page("correlation", part="Who wins", false="0.5")
    many = run_page("correlation", part="Who wins", false="10")
    assert any("the shortcut (SRS)** certifies more" in text.value for text in few.markdown)
    assert any("plain smoothing (RS)** certifies more" in text.value for text in many.markdown)


def test_impossible_mismatches_are_cut_off_with_a_word(run_page):
    page = run_page("correlation", right="99", false="30")
    assert not page.exception
    assert any("at most 1.1 %" in text.value for text in page.caption)


@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser_parts_change_and_certificates_are_counted(site, dark):
    page = site.open("/correlation?votes=1000&audited=100", dark=dark)
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    page.get_by_role("radio", name="What goes wrong").click()
    page.get_by_role("button", name="Simulate 300 certificates").click()
    expect(page.get_by_text("Of 300 certificates")).to_be_visible()
    page.wait_for_url(lambda url: "part=What" in url)
    page.get_by_role("radio", name="Who wins").click()
    expect(page.get_by_text("certifies more.")).to_be_visible()
    site.settle(page)


def test_the_live_chart_stays_while_its_counts_change(site):
    page = site.open("/correlation?part=What+goes+wrong&votes=10000&audited=1000&false=5")
    watch_charts(page)
    page.get_by_role("button", name="Simulate 300 certificates").click()
    expect(page.get_by_text("Of 300 certificates")).to_be_visible()
    site.settle(page)
    nodes, pictures = watched_charts(page)
    assert nodes == 1
    assert pictures >= 3


def test_it_fits_a_narrow_screen(site):
    page = site.open("/correlation?part=Its+price", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

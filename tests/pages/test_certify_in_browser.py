"""The Certify page as a visitor meets it: a real server, a real Chromium."""

import io
import json

import pytest
from PIL import Image
from playwright.sync_api import expect

from srs_core.smoothing.certificate import Certificate
from tests.pages.live import mark, marked, wait_until_drawn_anew

QUICK = "/certify?n=40&audit=20&steps=1&reference_steps=4&n0=8&alpha=0.1&batch_size=8&picture=333&seed=3"
LONG = "/certify?n=20000&audit=2000&steps=3&reference_steps=30&n0=8&batch_size=2&picture=0&seed=3"


def png(colour: str = "teal") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(buffer, "PNG")
    return buffer.getvalue()


def start(page) -> None:
    page.get_by_role("button", name="Certify", exact=True).click()


def cancel(page) -> None:
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("was cancelled")).to_be_visible()


def upload(page, *files: tuple[str, bytes]) -> None:
    payload = [{"name": name, "mimeType": "image/png", "buffer": data} for name, data in files]
    chooser = page.get_by_test_id("stFileUploaderDropzoneInput")
    expect(chooser).to_have_count(1)  # an emptied uploader replaces the one before
    chooser.set_input_files(payload)


def download(page, label: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=label).click()
    return waiting.value.path().read_bytes()


def test_one_click_on_the_home_page_leads_to_a_certificate(site):
    page = site.open("/")
    page.get_by_role("button", name="Certify a sample now").click()
    expect(page.get_by_role("button", name="Report (HTML)")).to_be_visible()


def test_upload_to_certificate_to_downloads(site):
    page = site.open(QUICK)
    page.get_by_text("My own pictures").click()
    upload(page, ("my_cat.png", png()))
    expect(page.get_by_text("Seen by the model")).to_be_visible()
    start(page)
    expect(page.get_by_role("button", name="Report (HTML)")).to_be_visible()
    site.settle(page)
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(4)
    expect(page.get_by_text("At equal cost")).to_be_visible()

    document = json.loads(download(page, "Certificate (JSON)"))
    certificates = [Certificate.from_dict(values) for values in document["certificates"]]
    assert [c.method for c in certificates] == ["rs", "srs"]
    assert [c.n for c in certificates] == [40, 40]
    assert download(page, "Table (CSV)").decode().splitlines()[0].startswith("picture,method,")

    report = site.contexts[0].new_page()
    report.set_content(download(page, "Report (HTML)").decode())
    expect(report.locator(".main-svg").first).to_be_visible()
    assert report.locator("[data-figure] .plot-container").count() == 4


def test_a_hostile_file_is_refused_in_words_and_nothing_is_lost(site):
    page = site.open(QUICK)
    page.get_by_text("My own pictures").click()
    upload(page, ("good.png", png()))
    expect(page.get_by_text("Seen by the model")).to_be_visible()
    bomb = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\x00\x00\x00"
    upload(page, ("bomb.png", bomb), ("<script>alert(1)</script>.png", b"<svg onload=alert(1)>"))
    expect(page.get_by_text("was not taken")).to_have_count(2)
    site.settle(page)
    expect(page.get_by_text("good.png")).to_be_visible()
    expect(page.get_by_role("button", name="Certify", exact=True)).to_be_enabled()
    expect(page.get_by_role("spinbutton", name="Votes", exact=True)).to_have_value("40")


def test_live_values_change_in_charts_that_stay_and_survive_page_switch_and_reload(site):
    page = site.open(LONG)
    start(page)
    expect(page.get_by_text("Certifying")).to_be_in_viewport()
    counter = page.get_by_text(" of 20,000 votes").first
    expect(counter).to_contain_text("Voting")
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts).to_have_count(4)  # the votes of both methods, the radius and the residuals
    mark(charts)
    text = counter.inner_text()
    wait_until_drawn_anew(charts.last)
    expect(counter).not_to_have_text(text)
    assert marked(charts) == 4

    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.get_by_role("link", name="Certify", exact=True).click()
    expect(counter).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Votes", exact=True)).to_have_value("20000")

    page.wait_for_url(lambda url: "job=" in url)
    page.reload()
    expect(counter).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Votes", exact=True)).to_have_value("20000")
    cancel(page)
    expect(page.get_by_role("spinbutton", name="Votes", exact=True)).to_have_value("20000")


def test_two_visitors_share_the_device_in_turn_without_seeing_each_other(site):
    ann, bob = site.open(LONG), site.open(QUICK)
    start(ann)
    expect(ann.get_by_text("Certifying")).to_be_visible()
    start(bob)
    expect(bob.get_by_text("waits its turn: 1 run is ahead of it")).to_be_visible()
    expect(ann.get_by_role("spinbutton", name="Votes", exact=True)).to_have_value("20000")
    expect(ann.get_by_text("frog (CIFAR-10 test 333)")).to_have_count(0)
    cancel(ann)
    expect(bob.get_by_role("button", name="Report (HTML)")).to_be_visible()
    expect(bob.get_by_role("heading", name="frog (CIFAR-10 test 333)")).to_be_visible()
    expect(ann.get_by_role("button", name="Report (HTML)")).to_have_count(0)


def test_a_link_reproduces_the_settings(site):
    page = site.open(QUICK)
    page.get_by_role("spinbutton", name="Votes", exact=True).fill("60")
    page.get_by_role("spinbutton", name="Votes", exact=True).press("Enter")
    page.wait_for_url("**n=60**")
    other = site.open(page.url.removeprefix(site.address))
    expect(other.get_by_role("spinbutton", name="Votes", exact=True)).to_have_value("60")
    expect(other.get_by_role("spinbutton", name="Steps per vote")).to_have_value("1")
    expect(other.get_by_text("Picture 333 of the CIFAR-10 test set")).to_be_visible()
    other.wait_for_url(page.url)


@pytest.mark.parametrize("link", ["/certify?n=77", "/history"])
def test_a_link_to_a_page_works_on_a_server_that_has_just_started(fresh_site, link):
    page = fresh_site.open(link)
    menu = page.get_by_test_id("stSidebarNavLink")
    expect(menu.first).to_contain_text("Home")  # after the icon, which is text too
    expect(page.get_by_text("certify result")).to_have_count(0)
    if "n=77" in link:
        expect(page.get_by_role("spinbutton", name="Votes", exact=True)).to_have_value("77")

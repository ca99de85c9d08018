"""The History page as a visitor meets it: choose, open again, compare, delete with a question."""

from playwright.sync_api import expect

QUICK = "/certify?n=40&audit=20&steps=1&reference_steps=4&n0=8&alpha=0.1&batch_size=8&picture=333&seed=3"
BOXES = ({"x": 16, "y": 52}, {"x": 16, "y": 88})
"""Where the first rows' check boxes are in the table, which is drawn on a canvas."""


def tick(page, row: int) -> None:
    """Click a row's check box, once the canvas shows that row."""
    table = page.get_by_test_id("stDataFrame").first
    expect(table.get_by_test_id(f"glide-cell-1-{row}")).to_be_attached()
    table.click(position=BOXES[row])


def test_compare_reopen_and_delete(fresh_site):
    page = fresh_site.open(QUICK)
    page.get_by_role("button", name="Certify", exact=True).click()
    expect(page.get_by_role("button", name="Report (HTML)")).to_be_visible()
    page.get_by_role("link", name="History").click()
    reopen = page.get_by_role("button", name="Open again")
    expect(reopen).to_be_disabled()
    tick(page, 0)
    expect(reopen).to_be_enabled()
    tick(page, 1)
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    expect(page.get_by_text("Where they differ")).to_be_visible()

    tick(page, 1)
    reopen.click()
    expect(page.get_by_role("heading", name="frog (CIFAR-10 test 333)")).to_be_visible()
    page.wait_for_url(lambda url: "kept=" in url)

    page.get_by_role("link", name="History").click()
    tick(page, 0)
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("No certificate yet")).to_be_visible()

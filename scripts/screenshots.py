"""Take screenshots of every page into docs/screenshots/: wide and narrow, light and dark.

    python -m scripts.screenshots [PAGE ...]

Needs Chromium on the PATH and playwright. It starts a dashboard of its own, with a history of its own, and makes one
small certificate first, so that results and the history have something to show.
"""

import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "screenshots"
sys.path.insert(0, str(ROOT))
RUN = "n=1000&audit=200&steps=3&picture=0&seed=1"
PATIENCE = 600_000


@contextmanager
def dashboard(folder: Path) -> Iterator[str]:
    """A dashboard of its own, gone when done."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "SRS_HISTORY": str(folder / "history.sqlite")}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).close()
                break
            except OSError:
                time.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.wait()


def open_page(browser: Browser, url: str, width: int, dark: bool) -> Page:
    """A page that has been drawn and has come to rest."""
    scheme = "dark" if dark else "light"
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(url)
    page.locator('[data-testid="stMain"] [data-testid="stHeading"]').first.wait_for()
    settle(page)
    return page


def settle(page: Page) -> None:
    """Wait until nothing runs and the charts are drawn."""
    page.wait_for_timeout(1500)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.wait_for_function("document.querySelectorAll('[data-testid=stSkeleton]').length === 0")
    page.wait_for_timeout(1500)


def save(page: Page, name: str, tallest: int = 2600) -> None:
    """Write what the page shows as a small PNG, as tall as the page but not endless."""
    height = page.evaluate(
        "Math.max(...[...document.querySelectorAll('[data-testid=stMainBlockContainer]')].map(n => n.scrollHeight))"
    )
    size = page.viewport_size or {"width": 1280, "height": 900}
    page.set_viewport_size({"width": size["width"], "height": int(min(max(height + 20, 700), tallest))})
    page.wait_for_timeout(1200)
    picture = Image.open(io.BytesIO(page.screenshot(timeout=PATIENCE))).convert("RGB")
    OUT.mkdir(parents=True, exist_ok=True)
    picture.quantize(96, dither=Image.Dither.NONE).save(OUT / f"{name}.png", optimize=True)


def certify(browser: Browser, address: str) -> str:
    """Make a certificate, with a picture of the run on the way; returns the result's part of the address."""
    page = open_page(browser, f"{address}/certify?{RUN}", 1280, dark=False)
    page.get_by_role("button", name="Certify", exact=True).click()
    page.get_by_text("Voting: ").first.wait_for()
    page.wait_for_timeout(4000)
    save(page, "certify-running", tallest=1000)
    page.get_by_role("button", name="Report (HTML)").wait_for()
    settle(page)
    result = page.url.split("?", 1)[1]
    page.context.close()
    return result


def main(names: list[str]) -> None:
    """Take the screenshots of these pages, or of all."""
    from app import PAGES

    wanted = [name for name, _, _ in PAGES if not names or name in names]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, dashboard(Path(folder)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        result = certify(browser, address) if {"certify", "history"} & set(wanted) else ""
        for name in wanted:
            path = {"home": "", "certify": f"certify?{result}"}.get(name, name)
            for width in (1280, 390):
                for dark in (False, True):
                    page = open_page(browser, f"{address}/{path}", width, dark)
                    save(page, f"{name}-{width}-{'dark' if dark else 'light'}")
                    page.context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""A real server and a real Chromium for the tests of pages.

`site.open("/certify?n=200")` gives a Playwright page of a fresh browser context, drawn and idle. When the test ends,
a request that left the machine, a picture that the server may have forgotten when the browser asks for it, or an error
in the browser's console fails it.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
PATIENCE = 120_000
"""Milliseconds; generous, because the machine may be busy. Nothing waits longer than it must."""

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"site", "fresh_site", "browser"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard that runs for this test session, with a history of its own."""
    with _running_server(tmp_path_factory.mktemp("server")) as address:
        yield address


@contextmanager
def _running_server(folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "SRS_HISTORY": str(folder / "history.sqlite"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/_stcore/health", process, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"The dashboard did not start:\n{log.read_text(errors='replace')}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """An installed Chromium; without one the test is skipped, or fails where CI promises one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "No Chromium on the PATH; install one to run the tests of pages in a browser."
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@dataclass
class Site:
    """The dashboard as seen by visitors: every `open` is a new visitor with a browser context of its own."""

    address: str
    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str = "/", *, dark: bool = False, width: int = 1280, height: int = 900) -> Page:
        """A new visitor's page at `path`, drawn and idle."""
        context = self.browser.new_context(
            color_scheme="dark" if dark else "light",
            viewport={"width": width, "height": height},
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE)
        self.contexts.append(context)
        context.on("request", self._note_request)
        context.on("console", self._note_console)
        context.on("weberror", lambda error: self.complaints.append(f"error in the page: {error.error}"))
        page = context.new_page()
        page.goto(self.address + path)
        self.settle(page)
        return page

    def settle(self, page: Page) -> None:
        """Wait until the page is drawn and no script run is under way, and refuse an exception on it."""
        page.locator('[data-testid="stMain"] [data-testid="stHeading"]').first.wait_for()
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        expect(page.get_by_test_id("stException")).to_have_count(0)

    def leave(self) -> None:
        """All visitors go; a run that a failed test left behind is cancelled, or it would keep the next one waiting."""
        for context in self.contexts:
            for page in context.pages:
                button = page.get_by_role("button", name="Cancel")
                with suppress(PlaywrightError):
                    if button.count():
                        button.first.click(timeout=5_000)
                        # A visitor who leaves at once may take the click along.
                        button.first.wait_for(state="hidden", timeout=30_000)
            context.close()

    def _note_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1":
            self.complaints.append(f"request to the outside: {request.url}")
        if request.resource_type == "image" and parts.path.startswith("/media/"):
            # Streamlit drops these when the next run of the page ends, whether or not the browser has got them.
            self.complaints.append(f"picture outside of the page: {request.url}")

    def _note_console(self, message: ConsoleMessage) -> None:
        # Streamlit looks for its server below a page's own path first, and finds nothing there.
        searching = "/_stcore/" in message.location.get("url", "")
        if message.type == "error" and not searching:
            self.complaints.append(f"console error: {message.text} ({message.location.get('url', '')})")


@pytest.fixture
def site(server: str, browser: Browser) -> Iterator[Site]:
    """The running dashboard, for visitors with a real browser."""
    visitors = Site(server, browser)
    yield visitors
    visitors.leave()
    assert visitors.complaints == []


@pytest.fixture
def fresh_site(tmp_path: Path, browser: Browser) -> Iterator[Site]:
    """A dashboard that nobody has visited yet."""
    with _running_server(tmp_path) as address:
        visitors = Site(address, browser)
        yield visitors
        visitors.leave()
    assert visitors.complaints == []


@pytest.fixture
def run_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """`run_page("certify", n="200")` draws one page without a browser, with a history of its own."""
    monkeypatch.setenv("SRS_HISTORY", str(tmp_path / "history.sqlite"))
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))

    def run(name: str, **query: Any) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE / 1000)
        if name != "home":
            test.switch_page(f"pages/{name}.py")
        for key, value in query.items():
            test.query_params[key] = str(value)
        return test.run()

    return run

"""Every page of the menu draws without an exception, light and wide, dark and narrow."""

import ast
from pathlib import Path

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]


def menu() -> list[tuple[str, str]]:
    """The names and titles of app.py's list, read without running it."""
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    pages = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "PAGES")
    return [(name, title) for name, title, _ in ast.literal_eval(pages)]


@pytest.mark.parametrize(("name", "title"), menu())
def test_a_page_draws_light_and_wide_then_dark_and_narrow(site, name, title):
    path = "/" if name == "home" else f"/{name}"
    wide = site.open(path)
    expect(wide.get_by_test_id("stSidebarNavLink").filter(has_text=title).first).to_be_visible()
    wide.close()
    narrow = site.open(path, dark=True, width=390, height=844)
    background = narrow.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert background == "rgb(16, 22, 29)"
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_page_is_listed_and_no_helper_is(run_page):  # noqa: ARG001  (it makes app.py importable)
    scripts = {path.stem for path in (ROOT / "pages").glob("*.py") if "\nmain()\n" in path.read_text(encoding="utf-8")}
    assert scripts == {name for name, _ in menu()}


def test_torch_is_not_imported_before_the_first_page_is_drawn():
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert {"numpy", "pandas", "PIL.Image"} <= imported
    assert not any(name.startswith(("torch", "srs_core")) for name in imported)

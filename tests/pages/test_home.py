"""The Home page, without and with a browser."""


def test_home_draws_without_an_exception(run_page):
    page = run_page("home")
    assert not page.exception
    assert page.title


def test_home_in_a_browser_light_and_dark(site):
    for dark in (False, True):
        page = site.open("/", dark=dark)
        assert page.get_by_role("heading", level=1).is_visible()

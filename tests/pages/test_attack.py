"""The Attack page, without and with a browser."""

import json

import pytest
from playwright.sync_api import expect

QUICK = {"n": 60, "votes": 60, "steps": 2, "samples": 1, "reference_steps": 6, "picture": 999, "by": "plain"}


def texts(page) -> str:
    parts = (page.markdown, page.info, page.warning, page.error, page.success, page.caption, page.subheader)
    return "\n".join(element.value for elements in parts for element in elements)


def button(page, label):
    return next(b for b in page.button if b.label == label)


def traces(page, chart):
    return json.loads(page.get("plotly_chart")[chart].proto.spec)["data"]


@pytest.fixture
def registry(run_page):  # noqa: ARG001  (it makes the pages importable)
    """The jobs that the pages of this process share."""
    from pages.job_frame import jobs

    return jobs()


@pytest.fixture
def certified(run_page, registry):
    """The page with a finished certificate."""
    page = run_page("attack", **QUICK)
    assert not page.exception
    button(page, "Certify this picture").click().run()
    assert registry.wait(page.query_params["job"], 120).state == "done"
    return page.run()


def attack(page, registry, label="Attack"):
    button(page, label).click().run()
    job = registry.wait(page.query_params["attacks"].split(",")[-1], 240)
    assert job.state == "done", job.error
    page.run()
    assert not page.exception
    return job


def test_before_a_certificate_there_is_nothing_to_attack(run_page):
    page = run_page("attack", **QUICK)
    assert not page.exception
    assert "1. A certificate" in texts(page)
    assert "2. The attack" not in texts(page)
    assert page.session_state["certify_picture"] == 999


def test_dragging_the_radius_tells_inside_from_outside(certified):
    radius = float(certified.success[0].value.split("smaller than ")[1].split(" ")[0])
    assert 0.1 < radius < 0.5
    certified.slider(key="attack_radius").set_value(0.02).run()
    assert "**Inside**" in texts(certified)
    certified.slider(key="attack_radius").set_value(0.9).run()
    assert "**Outside**" in texts(certified)
    assert certified.query_params["radius"] == "0.9"
    assert "do not reach the edge" in texts(certified)


def test_an_attack_shows_pictures_votes_and_the_verdict(certified, registry):
    certified.slider(key="attack_radius").set_value(0.05).run()
    job = attack(certified, registry)
    (result,) = job.latest.attempts
    words = texts(certified)
    assert "The attack failed, as promised" in words
    assert "No attack has won yet" in words
    before, after = traces(certified, 0)
    assert (before["name"], after["name"]) == ("before the attack", "after the attack")
    assert max(after["y"]) == max(result.votes) / 60
    (point,) = (trace for trace in traces(certified, 1) if trace.get("mode") == "markers")
    assert point["x"] == [pytest.approx(result.distance)]

    certified.slider(key="attack_radius").set_value(0.1).run()
    attack(certified, registry)
    pills = certified.get("button_group")
    assert any("Attacks so far" in str(group.proto) for group in pills)

    again = dict(certified.query_params)
    assert len(again["attacks"].split(",")) == 2


def test_a_link_shows_the_attacks_again(certified, registry, run_page):
    certified.slider(key="attack_radius").set_value(0.05).run()
    attack(certified, registry)
    again = run_page("attack", **dict(certified.query_params))
    assert not again.exception
    assert "The attack failed, as promised" in texts(again)
    assert again.slider(key="attack_radius").value == 0.05


def test_the_hunt_ends_with_a_smallest_radius_or_says_that_nothing_won(certified, registry):
    job = attack(certified, registry, "Find the smallest radius")
    assert job.about.hunting
    assert job.latest.over
    won = job.latest.smallest
    expected = "No attack has won yet" if won is None else "The smallest distance at which an attack won"
    assert expected in texts(certified)


def test_a_forgotten_certificate_and_bad_values_are_explained(run_page):
    page = run_page("attack", **{**QUICK, "samples": 5, "step": "far"}, job="nobody")
    assert not page.exception
    words = texts(page)
    assert "no longer remembered" in words
    assert "samples = '5'" in words
    assert "step = 'far'" in words
    assert page.session_state["attack_samples"] == 16


def test_a_failed_attack_says_what_happened(certified, registry, run_page):
    from pages.attack_run import AttackJob

    def broken():
        raise ValueError("The gradient went home.")
        yield 0

    job = registry.submit(broken, about=AttackJob(certified.query_params["job"], 0.3, hunting=False))
    registry.wait(job, 60)
    page = run_page("attack", **{**dict(certified.query_params), "attacks": job})
    assert not page.exception
    assert "The gradient went home." in texts(page)


def test_a_kept_study_is_drawn_with_what_it_found(run_page, monkeypatch, tmp_path):
    from pages import attack_studies

    rows = [
        "idx label clean_answer certified_radius attack radius outcome answer distance votes_left steps seconds",
        "0 3 3 0.4 m=16 0.2 same 3 0.2 0.9 20 1.0",
        "0 3 3 0.4 m=16 0.8 changed 5 0.8 0.1 20 1.0",
    ]
    (tmp_path / "some-model.tsv").write_text("".join(row.replace(" ", "\t") + "\n" for row in rows))
    monkeypatch.setattr(attack_studies, "STUDIES", tmp_path)
    page = run_page("attack", **QUICK)
    assert not page.exception
    assert "some-model" in texts(page)
    told = "Inside of the certificates no attack won; at 2 times the certified radius 1 of 1 did."
    assert told in texts(page)
    won, _ = (trace for trace in traces(page, 0) if trace.get("mode") == "lines+markers")
    assert (won["x"], won["y"]) == ([0.5, 2.0], [0.0, 1.0])


def test_in_a_browser_from_the_certificate_to_the_attacked_picture(site):
    """On a phone, in the dark: the narrowest way through the whole page."""
    from pages.attack_studies import STUDIES

    width = 390
    query = "&".join(f"{name}={value}" for name, value in QUICK.items())
    page = site.open(f"/attack?{query}", dark=True, width=width)
    page.get_by_role("button", name="Certify this picture").click()
    expect(page.get_by_text("2. The attack")).to_be_visible(timeout=200_000)
    site.settle(page)
    slider = page.get_by_role("slider")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowLeft")
    expect(page.get_by_text("Inside the certified radius")).to_be_visible()
    site.settle(page)
    page.get_by_role("button", name="Attack", exact=False).filter(has_text="Attack").last.click()
    expect(page.get_by_text("3. What happened")).to_be_visible(timeout=200_000)
    site.settle(page)
    expect(page.get_by_text("The attack failed, as promised")).to_be_visible()
    for caption in ("Original", "magnified", "Attacked"):
        expect(page.get_by_text(caption, exact=caption != "magnified").first).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2 + len(list(STUDIES.glob("*.tsv"))))
    # Nothing sticks out sideways.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.reload()
    expect(page.get_by_text("The attack failed, as promised")).to_be_visible()

"""The history gives back what was put in, filters, forgets, and survives many writers at once."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srs_core.history import History, HistoryError, default_path


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "deep" / "history.sqlite")


def test_a_run_comes_back_as_it_was(history, make_certificate):
    certificates = (make_certificate(method="rs"), make_certificate(method="srs", radius=0.25))
    run = history.add(certificates, b"png", "cat.png", {"residuals": [0.5, 0.1]})
    found = history.get(run)
    assert found.certificates == certificates
    assert (found.picture, found.picture_name, found.details) == (b"png", "cat.png", {"residuals": [0.5, 0.1]})
    assert history.get("nothing") is None


def test_filters_narrow_the_list(history, make_certificate):
    history.add([make_certificate(class_name="cat", model="a", radius=0.1)], b"", "one.png")
    history.add([make_certificate(class_name="dog", model="b", method="rs", radius=0.3)], b"", "100%.png")

    def names(**filters):
        return [row.picture_name for row in history.rows(**filters)]

    assert names() == ["100%.png", "one.png"]
    assert names(words="CAT") == ["one.png"]
    assert names(words="%") == ["100%.png"]
    assert names(words="_") == []
    assert names(model="b") == ["100%.png"]
    assert names(method="rs") == ["100%.png"]
    assert names(least_radius=0.2) == ["100%.png"]
    assert names(limit=1) == ["100%.png"]
    assert history.models() == ["a", "b"]


def test_newest_runs_come_first_whatever_the_order_of_writing(history, make_certificate):
    history.add([make_certificate(created="2026-02-02T00:00:00+00:00")], b"", "new")
    history.add([make_certificate(created="2025-01-01T00:00:00+00:00")], b"", "old")
    assert [row.picture_name for row in history.rows()] == ["new", "old"]


def test_deleting_forgets_a_run_with_all_its_certificates(history, make_certificate):
    gone = history.add([make_certificate(), make_certificate(method="rs")], b"", "gone")
    history.add([make_certificate()], b"", "stays")
    assert history.delete([gone, "nothing"]) == 1
    assert [row.picture_name for row in history.rows()] == ["stays"]
    assert history.get(gone) is None


def test_many_threads_write_at_once(history, make_certificate):
    failures = []

    def write(name: str) -> None:
        try:
            for _ in range(10):
                History(history.path).add([make_certificate()], b"", name)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(f"writer {i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(history.rows()) == 60


def test_the_file_is_in_wal_mode_and_reopens(history, make_certificate):
    history.add([make_certificate()], b"", "kept")
    again = History(history.path)
    assert [row.picture_name for row in again.rows()] == ["kept"]
    with again._connection() as db:
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_file_that_is_no_history_is_named(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look like the header of one " * 30)
    with pytest.raises(HistoryError, match=r"notes\.txt.*Move it away"):
        History(path)


def test_a_history_from_the_future_is_refused(history):
    with history._connection() as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(HistoryError, match="newer version"):
        History(history.path)


def test_a_certificate_of_another_version_is_named(history, make_certificate):
    history.add([make_certificate()], b"", "old")
    with history._connection() as db:
        db.execute("UPDATE certificates SET document = '{}'")
    with pytest.raises(HistoryError, match="another version"):
        history.rows()


def test_an_interrupted_write_leaves_nothing_behind(history, make_certificate):
    with pytest.raises(ValueError, match="not JSON compliant"):
        history.add([make_certificate(), make_certificate(radius=float("nan"))], b"", "broken")
    assert history.rows() == []
    with pytest.raises(ValueError, match="at least one"):
        history.add([], b"")


def test_the_environment_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SRS_HISTORY", str(tmp_path / "mine.sqlite"))
    assert default_path() == tmp_path / "mine.sqlite"
    monkeypatch.delenv("SRS_HISTORY")
    assert default_path().name == "history.sqlite"


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=30))
def test_any_words_are_searched_as_they_are(tmp_path_factory, make_certificate, words):
    history = History(tmp_path_factory.mktemp("any") / "history.sqlite")
    history.add([make_certificate()], b"", f"before {words} after")
    assert len(history.rows(words=words)) == 1

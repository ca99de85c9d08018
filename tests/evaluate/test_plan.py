"""Which pictures, which settings, under which names, and what is measured against what."""

from pathlib import Path

import pytest

from srs_core.evaluate.plan import Evaluation, Part, Selection, base_of, name_parts, result_path, to_run
from srs_core.smoothing.settings import Settings


def test_a_selection_is_a_range_and_then_every_kth(plane):
    assert Selection(every=10).of(plane).indices == (0, 10, 20, 30)
    assert Selection(every=3, first=5, stop=13).of(plane).indices == (5, 8, 11)
    assert Selection(first=38, stop=1000).of(plane).indices == (38, 39)


def test_settings_bear_the_papers_names_and_namesakes_what_sets_them_apart():
    settings = [
        Settings(method="rs"),
        Settings(steps=1, solver="naive"),
        Settings(steps=3),
        Settings(steps=3, start="clean"),
        Settings(steps=3, n=2000),
        Settings(method="auto"),
    ]
    assert [part.name for part in name_parts(settings)] == [
        "MDEQ-30A",
        "SRS-MDEQ-1N",
        "SRS-MDEQ-3A-n=10000-start=previous",
        "SRS-MDEQ-3A-n=10000-start=clean",
        "SRS-MDEQ-3A-n=2000-start=previous",
        "AUTO",
    ]


def test_one_setting_has_the_file_itself_and_several_have_files_beside_it():
    out = Path("runs/results.tsv")
    assert result_path(out, "SRS-MDEQ-3A", alone=True) == out
    assert result_path(out, "SRS-MDEQ-3A", alone=False) == Path("runs/results-SRS-MDEQ-3A.tsv")
    assert result_path(out, "warm up / 10 steps", alone=False) == Path("runs/results-warm-up-10-steps.tsv")


def test_a_serialized_setting_is_measured_against_plain_smoothing_of_its_standard_model():
    rs, short, srs = name_parts([Settings(method="rs"), Settings(method="rs", steps=5), Settings(steps=3)])
    parts = (short, srs, rs)
    assert base_of(srs, parts) == rs
    assert base_of(rs, parts) is None
    assert base_of(srs, (short, srs)) is None
    other_votes = Part("other", Settings(method="rs", n=2000))
    assert base_of(srs, (other_votes, srs)) is None


def test_a_missing_row_brings_what_it_is_measured_against_and_plain_comes_first():
    rs, srs, other = name_parts([Settings(method="rs"), Settings(steps=3), Settings(steps=1)])
    assert to_run((srs, other, rs), {srs.name}) == (rs, srs)
    assert to_run((srs, other, rs), {rs.name}) == (rs,)
    assert to_run((srs, other, rs), {srs.name, other.name, rs.name})[0] == rs


def test_an_evaluation_refuses_namesakes_and_nothing(make_evaluation):
    good = make_evaluation()
    with pytest.raises(ValueError, match="at least one setting"):
        Evaluation(good.model, good.dataset, good.selection, ())
    with pytest.raises(ValueError, match="'twice'"):
        Evaluation(good.model, good.dataset, good.selection, (Part("twice", Settings()), Part("twice", Settings())))


@pytest.mark.parametrize("name", [5, ["x"], None, "", " ", "a\tb", "a\nb", "a\x85b", "a\u2028b", "\ud800", 'a "b"'])
def test_a_name_that_would_spoil_a_result_file_is_refused(name):
    with pytest.raises(ValueError, match=r"^name is .*; the name of a setting must be a text"):
        Part(name, Settings())
    assert Part("Grüße, 1 / 2's α=0.1", Settings())


def test_settings_that_can_certify_nothing_are_refused_at_once(make_evaluation):
    with pytest.raises(ValueError, match="no certificate is possible"):
        make_evaluation({"method": "rs"}, {"steps": 2, "audit": 2})


def test_the_identity_changes_with_whatever_rows_depend_on(make_evaluation):
    def identity(*settings, **options):
        evaluation = make_evaluation(*settings, **options)
        return evaluation.identity(evaluation.parts[-1])

    plain = identity({"steps": 3})
    assert plain == identity({"steps": 3})
    for other in (
        identity({"steps": 2}),
        identity({"steps": 3}, every=4),
        identity({"steps": 3}, seed=1),
        identity({"method": "rs"}, {"steps": 3}),
    ):
        assert other != plain

"""An evaluation says what certify says, row by row, and goes on where it was stopped."""

from dataclasses import replace

import pytest

from srs_core.evaluate.plan import Part
from srs_core.evaluate.rows import Row
from srs_core.evaluate.run import evaluate, evaluate_stream, here, result_paths
from srs_core.evaluate.table import ResultError
from srs_core.metrics import seconds
from srs_core.smoothing.compare import compare
from srs_core.smoothing.noise import Purpose, derive_seed
from srs_core.smoothing.stream import certify

BOTH = ({"method": "rs"}, {"steps": 2})


def rows_of(evaluation, tmp_path, worker=here) -> dict[str, list[Row]]:
    paths = result_paths(evaluation, tmp_path / "rows.tsv")
    found: dict[str, list[Row]] = {part.name: [] for part in evaluation.parts}
    for progress in evaluate_stream(evaluation, paths, worker):
        for row in progress.rows:
            found[row.setting].append(row)
    return found


def test_each_row_is_the_certificate_of_its_picture_with_its_own_seed(make_evaluation, tmp_path):
    evaluation = make_evaluation({"steps": 2}, seed=5)
    (rows,) = rows_of(evaluation, tmp_path).values()
    assert [row.idx for row in rows] == [0, 8, 16, 24, 32]
    for row, sample in zip(rows, evaluation.dataset, strict=True):
        settings = evaluation.parts[0].settings.with_(seed=derive_seed(5, Purpose.IMAGE, sample.index))
        certificate = certify(evaluation.model, sample.image, settings)
        assert (row.radius, row.p_a, row.p_m) == (certificate.radius, certificate.p_a_lower, certificate.mismatch_bound)
        assert row.predict == (-1 if certificate.abstained else certificate.class_index)
        assert row.correct == int(row.predict == sample.label)
        assert (row.evaluations, row.seed) == (certificate.evaluations, certificate.seed)
    assert len({row.seed for row in rows}) == len(rows)


def test_abstaining_is_never_right(make_evaluation, tmp_path):
    # So much noise that no class can have half of the votes.
    rows = rows_of(make_evaluation({"method": "rs"}, every=2, sigma=1.0), tmp_path)["MDEQ-8A"]
    silent = [row for row in rows if row.abstain]
    assert silent
    assert all((row.predict, row.radius, row.correct) == (-1, 0.0, 0) for row in silent)


def test_gap_and_true_mismatch_are_those_of_a_comparison_on_the_same_noise(make_evaluation, tmp_path):
    evaluation = make_evaluation(*BOTH)
    rows = rows_of(evaluation, tmp_path)
    for row, sample in zip(rows["SRS-MDEQ-2A"], evaluation.dataset, strict=True):
        comparison = compare(evaluation.model, sample.image, [evaluation.parts[1].settings.with_(seed=row.seed)])
        measured = comparison.measured[0]
        assert (row.true_mismatch, row.gap) == (measured.true_mismatch, measured.gap)
        assert row.equal_cost_radius == measured.equal_cost.radius
    assert all(row.gap is None for row in rows["MDEQ-8A"])


def test_a_row_does_not_depend_on_what_else_runs(make_evaluation, tmp_path, without_time):
    evaluate(make_evaluation({"steps": 2}), {"SRS-MDEQ-2A": tmp_path / "alone.tsv"})
    many = make_evaluation({"steps": 1}, {"steps": 2}, {"steps": 2, "solver": "naive"})
    evaluate(many, result_paths(many, tmp_path / "many.tsv"))
    assert without_time(tmp_path / "alone.tsv") == without_time(tmp_path / "many-SRS-MDEQ-2A.tsv")


@pytest.mark.parametrize("stops", [(1,), (3, 9), (2, 2, 2, 14, 5)])
def test_a_stopped_evaluation_goes_on_and_ends_the_same(make_evaluation, tmp_path, without_time, stops):
    evaluation = make_evaluation(*BOTH)
    whole = result_paths(evaluation, tmp_path / "whole.tsv")
    evaluate(evaluation, whole)
    paths = result_paths(evaluation, tmp_path / "stopped.tsv")
    for stop in stops:
        stream = evaluate_stream(evaluation, paths)
        for _ in zip(range(stop), stream, strict=False):
            pass
        stream.close()
    last = list(evaluate_stream(evaluation, paths))[-1]
    assert (last.done, last.total) == (5, 5)
    for name in paths:
        assert without_time(paths[name]) == without_time(whole[name])


def test_a_crash_between_two_files_costs_one_picture(make_evaluation, tmp_path, without_time):
    evaluation = make_evaluation(*BOTH)
    paths = result_paths(evaluation, tmp_path / "results.tsv")
    evaluate(evaluation, paths)
    expected = without_time(paths["SRS-MDEQ-2A"])
    plain = paths["MDEQ-8A"].read_bytes()
    lines = paths["SRS-MDEQ-2A"].read_text().splitlines(keepends=True)
    paths["SRS-MDEQ-2A"].write_text("".join(lines[:-1]))
    first = next(iter(evaluate_stream(evaluation, paths)))
    assert (first.found, first.total) == (4, 5)
    evaluate(evaluation, paths)
    assert without_time(paths["SRS-MDEQ-2A"]) == expected
    assert paths["MDEQ-8A"].read_bytes() == plain


def test_pictures_may_come_in_any_order(make_evaluation, tmp_path, without_time):
    def backwards(model, tasks):
        yield from here(model, reversed(list(tasks)))

    evaluation = make_evaluation({"steps": 2})
    evaluate(evaluation, {"SRS-MDEQ-2A": tmp_path / "forwards.tsv"})
    evaluate(evaluation, {"SRS-MDEQ-2A": tmp_path / "backwards.tsv"}, backwards)
    assert without_time(tmp_path / "backwards.tsv") == without_time(tmp_path / "forwards.tsv")


def test_other_settings_are_refused_before_anything_is_computed(make_evaluation, tmp_path):
    paths = {"SRS-MDEQ-2A": tmp_path / "results.tsv"}
    evaluate(make_evaluation({"steps": 2}), paths)
    with pytest.raises(ResultError, match=r"alpha was 0\.01 and is 0\.02 now"):
        next(evaluate_stream(make_evaluation({"steps": 2}, alpha=0.02), paths))


def test_two_settings_do_not_share_a_file(make_evaluation, tmp_path):
    evaluation = make_evaluation(*BOTH)
    first, second = (part.settings for part in evaluation.parts)
    namesakes = replace(evaluation, parts=(Part("a b", first), Part("a/b", second)))
    with pytest.raises(ValueError, match=r"'a b' and 'a/b' would both be written to r-model-a-b\.tsv"):
        result_paths(namesakes, tmp_path / "r.tsv", "model")
    apart = replace(evaluation, parts=(Part("a b", first), Part("a+b", second)))
    assert result_paths(apart, tmp_path / "r.tsv") == {"a b": tmp_path / "r-a-b.tsv", "a+b": tmp_path / "r-a+b.tsv"}


def test_progress_counts_pictures_and_the_share_of_the_one_in_work(make_evaluation, tmp_path):
    evaluation = make_evaluation(*BOTH)
    seen = list(evaluate_stream(evaluation, result_paths(evaluation, tmp_path / "results.tsv")))
    positions = [progress.done + progress.fraction for progress in seen]
    assert positions == sorted(positions)
    assert (positions[0], positions[-1]) == (0, 5)
    assert len(set(positions)) > 25
    assert [len(progress.rows) for progress in seen if progress.rows] == [2] * 5


def test_times_are_written_as_the_usual_scripts_do(make_evaluation, tmp_path):
    import pandas as pd

    (rows,) = rows_of(make_evaluation({"steps": 2}), tmp_path).values()
    times = pd.Series([row.time for row in rows])
    assert times.str.fullmatch(r"\d+:\d\d:\d\d\.\d{6}").all()
    assert (seconds(times) > 0).all()

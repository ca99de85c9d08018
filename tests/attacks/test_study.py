from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

from srs_core.attacks import AttackSettings
from srs_core.attacks.study import AttackRow, Point, read_rows, study_stream
from srs_core.attacks.tables import before_attacks, by_radius, by_reach, contradictions
from srs_core.attacks.target import Target, as_target
from srs_core.figures.attack import success_figure

Make = Callable[..., tuple[object, Tensor]]
MARGIN = 0.5
RADII = (0.25, 0.6, 1.0)
SETTINGS = AttackSettings(samples=2, sigma=0.05, n=100)


@pytest.fixture
def target(halfspaces: Make) -> Target:
    return as_target(halfspaces(MARGIN)[0])


@pytest.fixture
def points(halfspaces: Make) -> list[Point]:
    """One certified picture, one with a right answer only, and one with a wrong answer."""
    _, picture = halfspaces(MARGIN)
    return [Point(0, picture, 0, 0, 0.3), Point(20, picture, 0, 0, 0.0), Point(40, picture, 1, 0, 0.3)]


def run(target: Target, points: list[Point], path: Path, **changes: object) -> Iterator[AttackRow]:
    return study_stream(target, points, lambda _: RADII, [SETTINGS.with_(**changes)], path, {"data": "halves"})


def test_every_picture_is_attacked_at_every_radius_and_summarised(
    target: Target, points: list[Point], tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "attacks.tsv"
    rows = list(run(target, points, path))
    assert read_rows(path) == rows
    assert [(row.idx, row.radius) for row in rows] == [(p.index, r) for p in points for r in RADII]
    assert [row.outcome for row in rows[:3]] == ["same", "changed", "changed"]
    # The win at 0.6 is a win at 1.0, without another search.
    assert rows[2].steps == 0
    assert rows[2].distance == rows[1].distance <= 0.6 + 1e-6
    # Nobody needs to attack what is wrong already.
    assert all(row.steps == 0 and not row.won for row in rows[6:])

    near, middle, _ = by_radius(rows)
    assert (near.radius, near.pictures, near.accuracy, near.certified, near.uncertified) == (0.25, 3, 2 / 3, 1, 2)
    assert (near.certified_rate, near.uncertified_rate) == (0.0, 0.0)
    assert (middle.accuracy, middle.certified, middle.certified_rate) == (0.0, 0, None)
    assert middle.uncertified_rate == pytest.approx(2 / 3)
    assert contradictions(rows) == []
    (before,) = before_attacks(rows)
    assert (before.radius, before.pictures, before.accuracy, before.successes) == (0.0, 3, 2 / 3, 0)
    assert [s.certified_accuracy for s in (before, near, middle)] == [1 / 3, 1 / 3, 0.0]


def test_an_interrupted_study_goes_on_where_it_stopped(target: Target, points: list[Point], tmp_path: Path) -> None:
    path, whole = tmp_path / "attacks.tsv", tmp_path / "whole.tsv"
    stream = run(target, points, path)
    for _ in range(2):
        next(stream)
    stream.close()
    with path.open("ab") as file:
        file.write(b"0\t0\t0\t0.3\tm=2\t1")  # a line that a crash cut off
    again = list(run(target, points, path))
    expected = list(run(target, points, whole))
    assert [(*row.key, row.outcome, row.distance) for row in again] == [
        (*row.key, row.outcome, row.distance) for row in expected
    ]
    assert len(read_rows(path)) == 9


def test_rows_of_different_settings_are_not_mixed(target: Target, points: list[Point], tmp_path: Path) -> None:
    path = tmp_path / "attacks.tsv"
    list(run(target, points[:1], path))
    with pytest.raises(ValueError, match=r"made with another model, other pictures or other settings"):
        next(run(target, points, path, n=50))
    assert next(run(target, points, path, samples=1)).attack == "m=1"
    with pytest.raises(ValueError, match="same number of noise draws"):
        next(study_stream(target, points, lambda _: RADII, [SETTINGS, SETTINGS.with_(n=10)], tmp_path / "x.tsv", {}))
    with pytest.raises(ValueError, match="made with another model, other pictures or other settings"):
        next(study_stream(target, points, lambda _: RADII, [SETTINGS], path, {"data": "halves", "n": 60}))
    other = tmp_path / "other.tsv"
    other.write_text("a\tb\n1\t2\n")
    with pytest.raises(ValueError, match="has other columns"):
        read_rows(other)


def test_rows_of_another_certificate_are_not_taken_for_this_one(
    target: Target, points: list[Point], tmp_path: Path
) -> None:
    path = tmp_path / "attacks.tsv"
    list(run(target, points[:1], path))
    with pytest.raises(ValueError, match=r"certified radius 0\.3; now they are 0 and 0\.2"):
        next(run(target, [replace(points[0], radius=0.2)], path))
    with pytest.raises(ValueError, match=r"label 0 .* now they are 1 and"):
        next(run(target, [replace(points[0], label=1)], path))


@pytest.mark.parametrize("sidecar", [None, "[]", "{}", "not json", '{"attacks": 3}'])
def test_rows_that_nobody_vouches_for_are_not_continued(
    target: Target, points: list[Point], tmp_path: Path, sidecar: str | None
) -> None:
    path = tmp_path / "attacks.tsv"
    list(run(target, points[:1], path))
    beside = tmp_path / "attacks.tsv.json"
    beside.unlink()
    if sidecar is not None:
        beside.write_text(sidecar)
    with pytest.raises(ValueError, match=r"has rows, but attacks\.tsv\.json, which says how they were made"):
        next(run(target, points, path))


@pytest.mark.parametrize("damage", ["\textra", "\b", "x"])
def test_a_damaged_line_is_named(target: Target, points: list[Point], tmp_path: Path, damage: str) -> None:
    path = tmp_path / "attacks.tsv"
    list(run(target, points[:1], path))
    lines = path.read_text().splitlines()
    lines[2] = lines[2].rpartition("\t")[0] if damage == "\b" else lines[2] + damage
    path.write_text("\n".join((*lines, "")))
    with pytest.raises(ValueError, match=r"Line 3 of .*attacks\.tsv is damaged"):
        read_rows(path)


def test_where_the_certificate_abstains_a_vote_says_what_there_is_to_change(
    target: Target, halfspaces: Make, tmp_path: Path
) -> None:
    _, picture = halfspaces(MARGIN)
    right, wrong = Point(0, picture, 0, None, 0.0), Point(1, picture, 1, None, 0.0)
    rows = list(run(target, [right, wrong], tmp_path / "attacks.tsv"))
    assert [row.clean_answer for row in rows] == [0] * 6
    assert [row.outcome for row in rows] == ["same", "changed", "changed", "same", "same", "same"]
    assert [row.steps > 0 for row in rows] == [True, True, False, False, False, False]

    model, on_the_border = halfspaces(0.0)
    rows = list(run(as_target(model), [Point(0, on_the_border, 0, None, 0.0)], tmp_path / "border.tsv"))
    # Nobody can say what the answer was, so no attack can claim to have changed it.
    assert {(row.clean_answer, row.outcome, row.steps) for row in rows} == {(-1, "undecided", 0)}
    (before,) = before_attacks(rows)
    assert (before.radius, before.accuracy, before.undecided, before.successes) == (0.0, 0.0, 1, 0)


def row(**changes: object) -> AttackRow:
    values = {
        "idx": 0,
        "label": 3,
        "clean_answer": 3,
        "certified_radius": 0.4,
        "attack": "m=16",
        "radius": 0.2,
        "outcome": "same",
        "answer": 3,
        "distance": 0.2,
        "votes_left": 0.9,
        "steps": 20,
        "seconds": 1.0,
    }
    return AttackRow(**{**values, **changes})


def test_a_win_inside_a_certificate_is_a_contradiction_and_is_drawn() -> None:
    inside = row(outcome="changed", answer=4)
    outside = row(outcome="changed", answer=4, radius=0.8, distance=0.7)
    assert contradictions([inside, outside, row()]) == [inside]
    summaries = by_reach([inside, row(idx=1), outside, row(idx=1, radius=0.8), row(attack="PGD", certified_radius=0.0)])
    assert [(s.radius, s.pictures) for s in summaries] == [(0.5, 2), (2.0, 2)]
    assert summaries[0].certified_rate == 0.5
    won, unsure = success_figure(summaries).data
    assert list(won.y) == list(unsure.y) == [0.5, 0.5]
    assert won.name == "Smooth-PGD, m=16: won"


def test_undecided_is_not_right_and_not_won() -> None:
    (summary,) = by_radius([row(outcome="undecided", answer=-1, radius=0.5)])
    assert (summary.accuracy, summary.successes, summary.undecided) == (0.0, 0, 1)
    won, unsure = success_figure([summary]).data
    assert (list(won.y), list(unsure.y)) == ([0.0], [1.0])
    assert [s.attack for s in by_radius([row(attack=a) for a in ("m=16", "m=4", "PGD")])] == ["PGD", "m=4", "m=16"]

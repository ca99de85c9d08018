"""Figures of many pictures say what the tables say, and keep each setting's colour."""

import numpy as np
import pandas as pd
import pytest

from srs_core.evaluate.results import Results
from srs_core.figures.evaluate import accuracy_figure, figures_of, histogram_figure, radius_figure


def frame(*radii, correct=1, first=0):
    rows = range(first, first + len(radii))
    return pd.DataFrame({"idx": rows, "predict": 1, "correct": correct, "radius": radii})


def results(name, table, **settings):
    return Results(name, table, {"model": "m", "sigma": 0.5, **settings})


def test_the_curve_falls_at_each_pictures_radius():
    (curve,) = accuracy_figure({"A": frame(0.1, 0.3, 0.3, 0.8)}).data
    assert list(curve.x) == [0.0, 0.1, 0.3, 0.8]
    assert list(curve.y) == [1.0, 0.75, 0.25, 0.0]
    assert curve.line.shape == "hv"


def test_the_papers_points_stand_beside_ours_and_intervals_around_them():
    figure = accuracy_figure({"A": frame(0.1, 0.3)}, {"paper: A": ((0.0, 0.25), (60, 40))}, intervals=True)
    band, ours, paper = figure.data
    assert ours.name == "A"
    assert list(paper.y) == [0.6, 0.4]
    half = len(ours.x)
    assert all(high >= share for high, share in zip(band.y[:half], ours.y, strict=True))
    assert all(low <= share for low, share in zip(reversed(band.y[half:]), ours.y, strict=True))


@pytest.mark.parametrize(
    "values", [[0.5142, 0.93], [0.03, 0.031, 0.9], [0.2, 0.2], [-0.4, 1.0], [1e-6, 3e-6], [0.0, 5e-324], [-1e15, 1e15]]
)
def test_histograms_have_round_bins_that_hold_everything(values):
    (bars,) = histogram_figure({"A": np.array(values)}, "title").data
    width = bars.xbins.size
    assert round(width / 10 ** np.floor(np.log10(width) + 1e-9), 6) in (1, 2, 5)
    assert bars.xbins.start <= min(values)
    assert max(values) < bars.xbins.end
    assert (bars.xbins.end - bars.xbins.start) / width < 24


def test_a_setting_has_its_own_colour_in_every_figure():
    names = ["plain", "one", "three"]
    curves = accuracy_figure({name: frame(0.2) for name in names}).data
    bars = histogram_figure({name: np.array([0.1, 0.2]) for name in names[1:]}, "t", among=names).data
    assert [bar.marker.color for bar in bars] == [curve.line.color for curve in curves[1:]]


def test_radii_are_drawn_for_the_pictures_of_both():
    ours, line = radius_figure({"A": frame(0.1, 0.3)}, frame(0.2, 0.4, 0.6), "base").data
    assert (list(ours.x), list(ours.y)) == ([0.2, 0.4], [0.1, 0.3])
    assert list(line.x) == list(line.y) == [0, 0.6]


def test_radii_are_drawn_whatever_other_columns_the_files_have():
    ours, base = frame(0.1), frame(0.2)
    ours["radius_base"] = ours["seconds"] = "theirs"
    assert list(radius_figure({"A": ours}, base, "base").data[0].x) == [0.2]


PLAIN = {"method": "rs", "steps": 30}


def test_where_the_base_certifies_nothing_no_radius_is_lost():
    drawn = figures_of([results("SRS", frame(0.1, 0.3)), results("plain", frame(0.0, 0.0), **PLAIN)])
    assert list(drawn) == ["Certified accuracy", "Radii against plain"]


def test_files_without_a_common_picture_are_not_drawn_against_each_other():
    drawn = figures_of([results("SRS", frame(0.1, 0.3)), results("plain", frame(0.2, first=7), **PLAIN)])
    assert list(drawn) == ["Certified accuracy"]


def test_a_setting_without_certified_pictures_in_common_leaves_the_others_drawn():
    plain = results("plain", frame(0.2, 0.0, 0.4), **PLAIN)
    some = [results("few", frame(0.1, first=1)), results("all", frame(0.1, 0.3, 0.3))]
    drawn = figures_of([plain, *some])
    assert list(drawn) == ["Certified accuracy", "Relative radius differences", "Radii against plain"]
    (bars,) = drawn["Relative radius differences"].data
    assert (bars.name, [round(x, 9) for x in bars.x]) == ("all", [0.5, 0.25])
    assert [trace.name for trace in drawn["Radii against plain"].data] == ["few", "all", "the same radius"]

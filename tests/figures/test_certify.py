"""Figures of certificates show the certificates' own numbers."""

import pytest

from srs_core.figures.certify import guarantee_figure, radii_figure, residuals_figure, votes_figure
from srs_core.smoothing.snapshot import ResidualSummary

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def test_votes_are_shares_by_class(make_certificate):
    figure = votes_figure([make_certificate(method="rs"), make_certificate()], CLASSES)
    assert [trace.name for trace in figure.data] == ["Plain smoothing", "Serialized smoothing"]
    for trace in figure.data:
        assert list(trace.x) == list(CLASSES)
        assert sum(trace.y) == pytest.approx(1.0)
        assert trace.y[3] == pytest.approx(0.94)


def test_many_classes_are_cut_to_the_most_voted(make_certificate):
    votes = tuple(range(100))
    figure = votes_figure([make_certificate(votes=votes, n=sum(votes))], [f"c{i}" for i in range(100)], most=5)
    assert list(figure.data[0].x) == ["c95", "c96", "c97", "c98", "c99"]


def test_radii_are_printed_rounded_down_and_an_abstention_is_said(make_certificate):
    figure = radii_figure([make_certificate(method="rs", radius=0.34999), make_certificate(radius=0.0)], (120, 0.2999))
    bar = figure.data[0]
    assert list(bar.text) == ["0.299", "no certificate", "0.349"]
    assert "120 votes" in bar.y[0]


def test_two_certificates_of_one_method_are_told_apart_by_their_names(make_certificate):
    pair = [make_certificate(), make_certificate(radius=0.1)]
    radii, votes = radii_figure(pair, names=["one", "two"]), votes_figure(pair, CLASSES, ["one", "two"])
    assert list(radii.data[0].y) == ["two", "one"]
    assert [trace.name for trace in votes.data] == ["one", "two"]
    assert votes.data[0].marker.color != votes.data[1].marker.color


def test_the_guarantee_is_drawn_beside_the_votes_and_printed_rounded_down(make_certificate):
    plain, serialized = make_certificate(method="rs", p_a_lower=0.91999), make_certificate(p_a_lower=0.3)
    figure = guarantee_figure([plain, serialized])
    lines = {trace.y[0]: trace for trace in figure.data if trace.y[0] is not None}
    assert list(lines) == ["Serialized smoothing", "Plain smoothing"]  # the first method on top
    assert list(lines["Plain smoothing"].x) == pytest.approx([0.91999, 0.94])
    assert lines["Plain smoothing"].text[0] == "91.9 %"
    assert figure.layout.xaxis.range[0] < 0.3


def test_residuals_have_a_line_a_band_and_the_tolerance():
    summary = ResidualSummary((0.4, 0.04), (0.5, 0.05), (0.6, 0.06))
    figure = residuals_figure({"rs": summary}, tolerance=1e-3)
    band, line, tolerance = figure.data
    assert list(line.y) == [0.5, 0.05]
    assert list(band.y) == [0.6, 0.06, 0.04, 0.4]
    assert list(tolerance.y) == [1e-3, 1e-3]
    assert figure.layout.yaxis.type == "log"
    assert len(residuals_figure({}).data) == 0

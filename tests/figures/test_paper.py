"""The paper's curves, and ours beside them."""

from srs_core.figures.paper import accuracy_curves
from srs_core.paper_tables import CertifiedCurve


def test_a_measured_curve_has_the_colour_of_the_papers_of_the_same_name() -> None:
    curves = [CertifiedCurve("main", "cifar10", "small", 0.5, name, (0.0, 0.5), (60, 30)) for name in ("A", "B")]
    figure = accuracy_curves(curves, {"B (70 pictures)": ((0.0, 0.5), (50.0, 20.0)), "C": ((0.0,), (1.0,))})
    colours = {trace.name: trace.line.color for trace in figure.data}
    assert colours["B (70 pictures), measured here"] == colours["B"]
    assert len({colours["A"], colours["B"], colours["C, measured here"]}) == 3

"""The paper's tables as data: all of them are there, and they say what is printed."""

from srs_core import paper_tables


def test_certified_accuracy_is_complete():
    curves = paper_tables.certified_accuracy()
    assert sum(len(curve.radii) for curve in curves) == 734
    assert {curve.dataset for curve in curves} == {"cifar10", "imagenet"}
    assert {curve.study for curve in curves} >= {"main", "start points", "solvers", "more steps", "explicit network"}
    for curve in curves:
        assert curve.radii == tuple(sorted(curve.radii))
        assert curve.percent == tuple(sorted(curve.percent, reverse=True)), curve
        assert all(0 <= percent <= 100 for percent in curve.percent)
        assert len(set(curve.radii)) == len(curve.radii)


def test_a_curve_of_the_main_table():
    (curve,) = (
        curve
        for curve in paper_tables.certified_accuracy()
        if (curve.study, curve.variant, curve.sigma, curve.model) == ("main", "large", 0.5, "MDEQ-1A")
    )
    assert curve.percent[:4] == (28, 19, 13, 8)
    assert curve.radii[:4] == (0.0, 0.25, 0.5, 0.75)
    assert not curve.serialized


def test_times_and_radius_differences():
    times = {(row.dataset, row.variant, row.model): row for row in paper_tables.timings()}
    assert len(times) == 17
    assert times["cifar10", "small", "MDEQ-30A"].seconds == 3.08
    assert times["cifar10", "small", "SRS-MDEQ-3A"].average_radius == 0.59
    assert times["imagenet", "small", "MDEQ-14B"].average_radius is None
    differences = paper_tables.radius_differences()
    assert len(differences) == 16
    assert {row.model for row in differences} == {"MDEQ", "SRS-MDEQ"}


def test_cutoffs_and_attacks():
    cutoffs = paper_tables.cutoff_radii()
    assert [row.share for row in cutoffs] == [0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0]
    assert (cutoffs[-1].plain, cutoffs[-1].serialized) == (1.860, 1.594)
    assert len(paper_tables.accuracy_under_attack()) == 12
    success = paper_tables.attack_success()
    assert len(success) == 60
    assert all(row.certified_percent == 0 for row in success)

"""Brute force in the plane, against sampling, geometry and the theorem."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from srs_core.planar import load_planar
from srs_core.planar_map import CELLS_PER_UNIT, HIGH, LOW, PlaneMap, plane_map, standard_regions
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify

SIGMA = 0.06


@pytest.fixture(scope="module")
def model():
    return load_planar()


@pytest.fixture(scope="module")
def regions(model):
    return standard_regions(model, "anderson", 30)


@pytest.fixture(scope="module")
def plane(regions) -> PlaneMap:
    return plane_map(regions, SIGMA)


def half_planes(place: float, sigma: float) -> PlaneMap:
    """A plane with class 0 left of x = place and class 1 right of it."""
    axis = np.linspace(LOW, HIGH, round((HIGH - LOW) * CELLS_PER_UNIT) + 1)
    regions = np.where(axis < place, 0, 1)[None, :].repeat(len(axis), axis=0)
    return plane_map(regions, sigma)


@pytest.mark.parametrize("x", [0.1, 0.4, 0.9])
def test_a_straight_border_is_found_and_the_theorem_is_exact_there(x):
    # The border lies halfway between two grid points.
    border, sigma = 0.5 - 0.5 / CELLS_PER_UNIT, 0.1
    plane = half_planes(0.5 - 1e-9, sigma)
    truth = plane.true_radius(x, 0.37)
    assert truth.radius == pytest.approx(abs(x - border), abs=1e-3)
    assert truth.nearest == pytest.approx((border, 0.37), abs=5e-3)
    share = plane.share_at(x, 0.37)
    assert share.max() == pytest.approx(norm.cdf(abs(x - border) / sigma), abs=2e-4)


def test_without_a_border_the_radius_is_only_a_lower_bound():
    truth = half_planes(5.0, 0.1).true_radius(0.2, 0.5)
    assert truth.at_least
    assert truth.radius == pytest.approx(0.2 - (LOW + 0.5))


def test_shares_agree_with_sampling(plane, model):
    point = torch.tensor([0.36, 0.72])
    votes = certify(model, point, Settings(method="rs", sigma=SIGMA, n=4000, batch_size=1000)).votes
    # Five standard deviations: a false alarm in fewer than one of 10^5 runs, and the seed is fixed.
    assert np.abs(np.array(votes) / 4000 - plane.share_at(0.36, 0.72)).max() < 5 * np.sqrt(0.25 / 4000)


@pytest.mark.parametrize("sigma", [0.03, 0.06, 0.15])
def test_what_the_theorem_promises_is_true_everywhere(regions, sigma):
    plane = plane_map(regions, sigma)
    for x, y in np.random.default_rng(0).random((200, 2)):
        share = plane.share_at(x, y)
        assert share.sum() == pytest.approx(1.0)
        promised = sigma * norm.ppf(min(share.max(), 1 - 1e-12))
        assert promised <= plane.true_radius(x, y).radius + 2e-3


@pytest.mark.parametrize("method", ["rs", "srs"])
def test_certificates_hold_by_brute_force(plane, model, method):
    # Twenty certificates at alpha 0.001 are all right except with probability 0.02 at most; the seed is fixed.
    for x, y in np.random.default_rng(5).random((20, 2)):
        settings = Settings(method=method, sigma=SIGMA, n=1000, audit=300, batch_size=250, steps=None)
        certificate = certify(model, torch.tensor([x, y], dtype=torch.float32), settings)
        if not certificate.abstained:
            assert certificate.class_index == plane.share_at(x, y).argmax()
            assert certificate.radius <= plane.true_radius(x, y).radius


def test_a_close_up_shows_the_same_plane(plane, model):
    close = plane.close_up(model, (0.2, 0.4, 0.5, 0.7), "anderson", 30, cells=24)
    assert close.regions.shape == (25, 25)
    # Every point of this finer grid that is also one of the large grid must agree with it.
    rows, columns = (
        ((np.array(places) - LOW) * CELLS_PER_UNIT).round().astype(int) for places in ((0.5, 0.6, 0.7), (0.2, 0.3, 0.4))
    )
    coarse = np.ix_(rows, columns)
    assert (close.regions[::12, ::12] == plane.regions[coarse]).all()
    assert close.shares[:, ::12, ::12] == pytest.approx(plane.shares[:, coarse[0], coarse[1]], abs=1e-9)


@pytest.mark.parametrize("sigma", [0.0, -1.0, 0.2])
def test_impossible_noise_is_refused(regions, sigma):
    with pytest.raises(ValueError, match="sigma is"):
        plane_map(regions, sigma)

"""A run's votes with every one of them checked."""

import numpy as np
import pytest
import torch

from srs_core.chain import check_votes
from srs_core.planar import load_planar
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify_stream

POINT = torch.tensor([0.24, 0.30])


@pytest.fixture(scope="module")
def model():
    return load_planar()


def test_it_repeats_the_votes_of_the_run(model):
    settings = Settings(sigma=0.06, n=600, audit=100, batch_size=100, steps=2)
    seen = [label for snapshot in certify_stream(model, POINT, settings) for label in snapshot.batch_labels]
    votes = check_votes(model, POINT, settings, 600)
    assert votes.proxy.tolist() == seen
    assert votes.pictures.shape == (600, 2)


def test_plain_smoothing_changes_no_vote(model):
    settings = Settings(method="rs", sigma=0.06, n=300, batch_size=100)
    votes = check_votes(model, POINT, settings, 250)
    assert not votes.changed.any()
    assert votes.changed_by_batch().tolist() == [0.0, 0.0, 0.0]


def test_more_steps_change_fewer_votes_and_leave_smaller_residuals(model):
    few, many = (
        check_votes(model, POINT, Settings(sigma=0.06, n=500, audit=100, batch_size=50, steps=steps), 500)
        for steps in (1, 10)
    )
    assert many.changed.mean() < few.changed.mean() / 2
    assert np.median(many.residuals) < np.median(few.residuals) / 5
    shares = few.changed_by_batch()
    assert len(shares) == 10
    assert shares.mean() == pytest.approx(few.changed.mean())


def test_a_last_short_batch_has_its_own_share(model):
    votes = check_votes(model, POINT, Settings(sigma=0.06, n=500, audit=100, batch_size=64, steps=1), 100)
    shares = votes.changed_by_batch()
    assert shares * [64, 36] == pytest.approx([votes.changed[:64].sum(), votes.changed[64:].sum()])


def test_impossible_requests_are_refused(model):
    with pytest.raises(ValueError, match="batch_size is None"):
        check_votes(model, POINT, Settings(sigma=0.06), 10)
    with pytest.raises(ValueError, match="count is 0"):
        check_votes(model, POINT, Settings(sigma=0.06, batch_size=10), 0)

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from srs_core.smoothing.noise import NoisyCopies, Purpose, derive_seed

PICTURE = torch.full((3, 2, 2), 0.25)


@given(cuts=st.lists(st.integers(1, 199), max_size=6), seed=st.integers(0, 2**40))
def test_a_copy_is_the_same_in_whatever_batch_it_is_drawn(cuts: list[int], seed: int) -> None:
    copies = NoisyCopies(PICTURE, 0.5, seed, Purpose.ESTIMATION)
    whole = copies.batch(0, 200)
    edges = [0, *sorted(set(cuts)), 200]
    pieces = [copies.batch(a, b) for a, b in pairwise(edges)]
    assert torch.equal(whole, torch.cat(pieces))


def test_the_noise_is_gaussian_around_the_picture() -> None:
    # False-alarm probability of the Kolmogorov-Smirnov test: 1e-4, at a fixed seed.
    noise = (NoisyCopies(PICTURE, 0.5, 1, Purpose.ESTIMATION).batch(0, 5_000) - PICTURE) / 0.5
    assert stats.kstest(noise.flatten().numpy(), "norm").pvalue > 1e-4
    neighbours = torch.corrcoef(torch.stack([noise[:-1].flatten(), noise[1:].flatten()]))[0, 1]
    assert abs(float(neighbours)) < 4 / math.sqrt(noise[1:].numel())


@pytest.mark.parametrize("other", [Purpose.SELECTION, Purpose.PREDICTION])
def test_purposes_do_not_share_their_noise(other: Purpose) -> None:
    a = NoisyCopies(PICTURE, 1.0, 0, Purpose.ESTIMATION).batch(0, 64)
    b = NoisyCopies(PICTURE, 1.0, 0, other).batch(0, 64)
    assert not torch.isin(a, b).any()


def test_seeds_of_different_ways_differ() -> None:
    seeds = {derive_seed(seed, purpose, block) for seed in range(5) for purpose in Purpose for block in range(50)}
    assert len(seeds) == 5 * len(Purpose) * 50
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_noise_is_made_where_the_picture_is() -> None:
    assert NoisyCopies(PICTURE.to("meta"), 0.5, 0, Purpose.ESTIMATION).batch(0, 40).is_meta

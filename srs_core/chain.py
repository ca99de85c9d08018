"""The chain of warm starts under a magnifying glass: a run's votes with every one of them checked."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srs_core.model import Model
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import StandardVoter, make_voter

__all__ = ["CheckedVotes", "check_votes"]


@dataclass(frozen=True)
class CheckedVotes:
    """The first votes of a run, in order: the noisy pictures, the proxy's labels and the standard model's.

    `residuals` are the proxy's last relative residuals, one a vote.
    """

    pictures: Tensor
    proxy: NDArray[np.int64]
    standard: NDArray[np.int64]
    residuals: NDArray[np.float64]
    batch_size: int

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which votes the standard model would not have given."""
        return np.not_equal(self.proxy, self.standard)

    def changed_by_batch(self) -> NDArray[np.float64]:
        """The share of such votes in each batch along the chain."""
        starts = np.arange(0, len(self.proxy), self.batch_size)
        sizes = np.diff([*starts, len(self.proxy)])
        return np.add.reduceat(self.changed.astype(float), starts) / sizes


def check_votes(model: Model, image: Tensor, settings: Settings, count: int) -> CheckedVotes:
    """Repeat the first `count` votes of a certification with these settings, and check all of them.

    An audit would check a random share; here the standard model labels every noisy picture, which costs more than
    plain smoothing and serves to look at the chain.
    """
    if settings.batch_size is None:
        raise ValueError("settings.batch_size is None; give a number, since it decides where the chain has its links.")
    if not 1 <= count <= settings.n:
        raise ValueError(f"count is {count}; it must be from 1 to n = {settings.n}, the votes of the run.")
    size = settings.batch_size
    voter, judge = make_voter(model, settings, image), StandardVoter(model, settings)
    # The selection draws come first in a run, and the chain begins with them.
    selection = NoisyCopies(image, settings.sigma, settings.seed, Purpose.SELECTION)
    for start in range(0, settings.n0, size):
        voter.vote(selection.batch(start, min(start + size, settings.n0)))
    copies = NoisyCopies(image, settings.sigma, settings.seed, Purpose.ESTIMATION)
    pictures, proxy, standard, residuals = [], [], [], []
    for start in range(0, count, size):
        batch = copies.batch(start, min(start + size, count))
        ballot = voter.vote(batch)
        pictures.append(batch)
        proxy.append(ballot.labels)
        standard.append(judge.vote(batch).labels)
        residuals.append(_last(ballot.residuals))
    return CheckedVotes(
        pictures=torch.cat(pictures),
        proxy=torch.cat(proxy).cpu().numpy(),
        standard=torch.cat(standard).cpu().numpy(),
        residuals=torch.cat(residuals).double().cpu().numpy(),
        batch_size=size,
    )


def _last(residuals: Tensor) -> Tensor:
    """Each sample's residual at its last step, [steps, B] -> [B]; samples that left the batch have NaN after that."""
    steps = residuals.isnan().logical_not().sum(dim=0) - 1
    return residuals.gather(0, steps.clamp_min(0).unsqueeze(0)).squeeze(0)

"""The audit: which votes the standard model checks, and what it found.

The positions are drawn by a generator of their own before the first vote, uniformly over all votes, which is
what makes the certificate hold whatever correlation the chain of warm starts brings in.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srs_core.smoothing.certificate import AuditCounts
from srs_core.smoothing.noise import Purpose, derive_seed
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import Ballot, StandardVoter

__all__ = ["Audit", "audit_positions"]

UNSEEN = -1


def audit_positions(settings: Settings) -> NDArray[np.bool_]:
    """Which of the n votes are audited at random: a fixed number of them or, for a watched run, by coins.

    Coins of one fixed probability leave a uniform sample in every prefix, which the bounds at looks need.
    """
    generator = np.random.default_rng(derive_seed(settings.seed, Purpose.AUDIT))
    number = settings.audit - settings.census
    if settings.watched:
        return generator.random(settings.n) < number / settings.n
    chosen = np.zeros(settings.n, dtype=bool)
    chosen[generator.choice(settings.n, size=number, replace=False)] = True
    return chosen


@dataclass
class _Unsure:
    """The pictures of the lowest margins so far, for the census."""

    positions: NDArray[np.int64]
    margins: Tensor
    pictures: Tensor


class Audit:
    """Collects audited pictures and has them labelled by the standard model in full batches.

    `labels` are the proxy's labels by position, filled in by whoever counts the votes; `standard` are the standard
    model's, where known. All counts derive from these two arrays, a few bytes a vote.
    """

    def __init__(self, settings: Settings, judge: StandardVoter, batch_size: int, labels: NDArray[np.int16]) -> None:
        self._labels = labels
        self._chosen = audit_positions(settings)
        self._judge = judge
        self._batch_size = batch_size
        self._census_size = settings.census
        self._unsure: _Unsure | None = None
        self._waiting: list[Tensor] = []
        self._waiting_positions: list[int] = []
        self._census = np.zeros(settings.n, dtype=bool)
        self.standard = np.full(settings.n, UNSEEN, dtype=np.int16)
        self.total = int(self._chosen.sum()) + settings.census
        self.evaluations = 0
        self.solved = 0

    def record(self, start: int, pictures: Tensor, ballot: Ballot) -> None:
        """Take a batch of votes; those that were chosen for the audit wait for a full batch of their kind."""
        chosen = np.flatnonzero(self._chosen[start : start + len(pictures)])
        if len(chosen):
            self._waiting.append(pictures[torch.from_numpy(chosen).to(pictures.device)])
            self._waiting_positions.extend((chosen + start).tolist())
        if self._census_size:
            self._keep_unsure(start, pictures, ballot.margins)
        if len(self._waiting_positions) >= self._batch_size:
            self._judge_waiting(len(self._waiting_positions) // self._batch_size * self._batch_size)

    def settle(self) -> None:
        """Have everything that waits labelled now."""
        self._judge_waiting(len(self._waiting_positions))

    def take_census(self) -> None:
        """Label the least sure pictures of the whole run, all of them; they leave the random audit's groups."""
        if self._unsure is None:
            return
        self._census[self._unsure.positions] = True
        for begin in range(0, len(self._unsure.positions), self._batch_size):
            positions = self._unsure.positions[begin : begin + self._batch_size]
            self._judge_batch(self._unsure.pictures[begin : begin + self._batch_size], positions)

    def counts(self, class_index: int, first: int) -> AuditCounts:
        """What is known about the first so many votes for and against the class."""
        labels, standard, census = self._labels[:first], self.standard[:first], self._census[:first]
        ours, known, truly = (labels == class_index) & ~census, (standard != UNSEEN) & ~census, standard == class_index
        others = known & (labels != class_index)
        return AuditCounts(
            votes=int(ours.sum()),
            audited=int((ours & known).sum()),
            mismatched=int((ours & known & ~truly).sum()),
            audited_others=int(others.sum()),
            recovered=int((others & truly).sum()),
            census=int(census.sum()),
            census_hits=int((census & truly).sum()),
        )

    def _judge_waiting(self, number: int) -> None:
        if number == 0:
            return
        pictures = torch.cat(self._waiting)
        for begin in range(0, number, self._batch_size):
            end = min(begin + self._batch_size, number)
            self._judge_batch(pictures[begin:end], np.array(self._waiting_positions[begin:end]))
        self._waiting = [pictures[number:].clone()]
        self._waiting_positions = self._waiting_positions[number:]

    def _judge_batch(self, pictures: Tensor, positions: NDArray[np.int64]) -> None:
        ballot = self._judge.vote(pictures)
        self.standard[positions] = ballot.labels.cpu().numpy()
        self.evaluations += int(ballot.evaluations.sum())
        self.solved += len(positions)

    def _keep_unsure(self, start: int, pictures: Tensor, margins: Tensor) -> None:
        positions = np.arange(start, start + len(margins))
        if self._unsure is not None:
            positions = np.concatenate([self._unsure.positions, positions])
            margins = torch.cat([self._unsure.margins, margins])
            pictures = torch.cat([self._unsure.pictures, pictures])
        order = margins.argsort(stable=True)[: self._census_size]
        self._unsure = _Unsure(positions[order.cpu().numpy()], margins[order], pictures[order])

"""The smoothed classifier's answer on one picture, with its own error probability."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from srs_core.model import Model, device_of
from srs_core.smoothing.bounds import predict_abstains, top_two_p_value
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import StandardVoter

__all__ = ["Prediction", "predict", "predict_stream"]


@dataclass(frozen=True)
class Prediction:
    """The most voted class, or None when the two leading classes are too close to tell apart."""

    class_index: int | None
    votes: tuple[int, ...]
    p_value: float


def predict(model: Model, image: Tensor, settings: Settings) -> Prediction:
    """What the smoothed standard model answers (Cohen et al.'s PREDICT).

    With probability at least 1 - alpha the class is the smoothed model's own, or the answer is "cannot tell". It is
    n cold solves and a two-sided binomial test between the two leading classes; no radius comes with it.
    """
    for answer in predict_stream(model, image, settings):
        last = answer
    return last


def predict_stream(model: Model, image: Tensor, settings: Settings) -> Iterator[Prediction]:
    """`predict` batch by batch: what the votes so far say. The promise of `predict` holds for the last answer only."""
    picture = image.to(device_of(model, image))
    copies = NoisyCopies(picture, settings.sigma, settings.seed, Purpose.PREDICTION)
    voter = StandardVoter(model, settings)
    size = min(settings.batch_size or 64, settings.n)
    votes = np.zeros(0, dtype=np.int64)
    for start in range(0, settings.n, size):
        ballot = voter.vote(copies.batch(start, min(start + size, settings.n)))
        more = np.bincount(ballot.labels.cpu().numpy(), minlength=ballot.classes)
        votes = votes + more if len(votes) else more
        yield _decide(votes, settings.alpha)


def _decide(votes: NDArray[np.int64], alpha: float) -> Prediction:
    leader, second = (int(i) for i in np.argsort(-votes, kind="stable")[:2])
    first, next_ = int(votes[leader]), int(votes[second])
    return Prediction(
        class_index=None if predict_abstains(first, next_, alpha) else leader,
        votes=tuple(votes.tolist()),
        p_value=top_two_p_value(first, next_),
    )

"""The smoothed classifier's answer on one picture, with its own error probability."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from srs_core.model import Model, device_of
from srs_core.smoothing.bounds import predict_abstains, top_two_p_value
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import StandardVoter

__all__ = ["Prediction", "predict"]


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
    picture = image.to(device_of(model, image))
    copies = NoisyCopies(picture, settings.sigma, settings.seed, Purpose.PREDICTION)
    voter = StandardVoter(model, settings)
    size = min(settings.batch_size or 64, settings.n)
    labels, classes = [], 0
    for start in range(0, settings.n, size):
        ballot = voter.vote(copies.batch(start, min(start + size, settings.n)))
        labels.append(ballot.labels.cpu().numpy())
        classes = ballot.classes
    votes = np.bincount(np.concatenate(labels), minlength=classes)
    leader, second = (int(i) for i in np.argsort(-votes, kind="stable")[:2])
    first, next_ = int(votes[leader]), int(votes[second])
    return Prediction(
        class_index=None if predict_abstains(first, next_, settings.alpha) else leader,
        votes=tuple(votes.tolist()),
        p_value=top_two_p_value(first, next_),
    )

"""What an attack must change: the smoothed model's own answer on the picture, established before the attack."""

from torch import Tensor

from srs_core.attacks.settings import AttackSettings
from srs_core.attacks.target import Target
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.noise import Purpose, derive_seed
from srs_core.smoothing.predict import predict

__all__ = ["NOT_ESTABLISHED", "answer_to_change", "smoothed_answer"]

NOT_ESTABLISHED = (
    "On this picture the votes of the smoothed model's two leading answers are too close to tell apart, so there is no "
    "answer that an attack could change. More votes might establish one."
)
CLEAN = 2**32
"""A way of seeds that no search has: searches are counted from 0."""


def smoothed_answer(target: Target, image: Tensor, settings: AttackSettings) -> int | None:
    """The smoothed model's answer on the picture itself, or None when the votes cannot tell.

    It is wrong with probability at most alpha, over noise that neither the searches nor the verdicts use.
    """
    votes = settings.verdict.with_(seed=derive_seed(settings.seed, Purpose.ATTACK, CLEAN))
    return predict(target.answer, image, votes).class_index


def answer_to_change(target: Target, image: Tensor, certificate: Certificate, settings: AttackSettings) -> int | None:
    """The certified answer; where the certificate abstains, what a vote of its own establishes, or None.

    The class of an abstaining certificate is only what a few selection draws favoured. An attack that changed it might
    have changed nothing.
    """
    return smoothed_answer(target, image, settings) if certificate.abstained else certificate.class_index

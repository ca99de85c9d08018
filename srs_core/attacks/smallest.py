"""The smallest radius at which an attack wins, by halving the interval in which it must lie."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from srs_core.attacks.result import AttackResult, AttackSnapshot
from srs_core.attacks.settings import AttackSettings
from srs_core.attacks.stream import attack_stream
from srs_core.attacks.target import Target, as_target
from srs_core.model import Model
from srs_core.smoothing.noise import Purpose, derive_seed

__all__ = ["Hunt", "smallest_radius_stream"]


@dataclass(frozen=True, eq=False)
class Hunt:
    """Where the hunt for the smallest winning radius stands: the attacks made, the current one, how many there will be.

    Any winning attack is an upper bound on how robust the smoothed model is at this picture; a better attack may find a
    smaller one, and no attack may find one inside a certificate that holds. Each verdict errs with probability at
    most alpha, on noise of its own: where the hunt goes next depends on the verdicts before.
    """

    attempts: tuple[AttackResult, ...]
    current: AttackSnapshot
    total: int

    @property
    def smallest(self) -> AttackResult | None:
        """The winning attack that went least far, or None while none has won."""
        won = [attempt for attempt in self.attempts if attempt.outcome == "changed"]
        return min(won, key=lambda attempt: attempt.distance, default=None)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        if self.current.result is None:
            return False
        return len(self.attempts) == self.total or self.smallest is None


def smallest_radius_stream(
    model: Model | Target,
    image: Tensor,
    label: int,
    settings: AttackSettings,
    *,
    low: float = 0.0,
    high: float,
    attacks: int = 7,
) -> Iterator[Hunt]:
    """Attack at `high`; if that wins, keep halving between the largest radius that held and the smallest that did not.

    `low` is a radius known to hold, such as a certified one: nothing below it is tried.
    """
    if not 0 <= low < high:
        raise ValueError(f"The hunt goes from {low} to {high}; the first must be at least 0 and below the second.")
    if attacks < 1:
        raise ValueError(f"attacks is {attacks}; it must be at least 1.")
    target = as_target(model)
    attempts: tuple[AttackResult, ...] = ()
    radius = high
    for _ in range(attacks):
        # One noise for all verdicts would be noise that the hunt has already followed.
        seed = derive_seed(settings.seed, Purpose.ATTACK, len(attempts)) if attempts else settings.seed
        for snapshot in attack_stream(target, image, label, radius, settings.with_(seed=seed)):
            if snapshot.result is not None:
                attempts = (*attempts, snapshot.result)
            yield Hunt(attempts, snapshot, attacks)
        if attempts[-1].outcome == "changed":
            high = attempts[-1].distance
        elif len(attempts) == 1:
            return
        else:
            low = radius
        if high <= low:
            return
        radius = (low + high) / 2

"""What an attack found, and what a running attack shows of itself."""

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from srs_core.attacks.settings import AttackSettings

__all__ = ["AttackPhase", "AttackResult", "AttackSnapshot", "Outcome"]

Outcome = Literal["changed", "same", "undecided"]
AttackPhase = Literal["search", "verdict", "done"]


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The strongest attacked picture that was found, and what the smoothed model answers on it.

    `outcome` is "changed" when the smoothed model answers another class than `label`, "same" when it still answers
    `label`; each holds with probability at least 1 - alpha over the verdict's noise, which the search never
    saw. "undecided" means that the votes of the two leading classes are too close to tell. `answer` is the class
    (None when undecided), `votes` and `p_value` are the verdict's. `plain_answer` is what the standard
    model says to the attacked picture without noise. `distance` is how far the attack really went, at most `radius`.
    """

    outcome: Outcome
    label: int
    answer: int | None
    plain_answer: int
    radius: float
    distance: float
    votes: tuple[int, ...]
    p_value: float
    searches: int
    steps: int
    seconds: float
    settings: AttackSettings
    attacked: Tensor

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; the attacked picture itself is left out."""
        values = {name: value for name, value in vars(self).items() if name not in ("attacked", "settings")}
        return {**values, "votes": list(self.votes), "settings": self.settings.to_dict()}


@dataclass(frozen=True, eq=False)
class AttackSnapshot:
    """Where an attack stands; only the last snapshot carries the result.

    `done` of `total` units of work are behind it; a search that wins early skips its remaining ones. `loss` and
    `share` are the search's latest: minus the logarithm of the mean probability of `label`, and the share of the draws
    that still answer it. `votes` are the verdict's so far.
    """

    settings: AttackSettings
    radius: float
    label: int
    phase: AttackPhase
    done: int
    total: int
    search: int
    step: int
    loss: float
    share: float
    distance: float
    votes: tuple[int, ...]
    seconds: float
    attacked: Tensor
    result: AttackResult | None = None

"""Everything that decides how a training run goes, as one value that can be stored and read back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from srs_core.checks import check_choice
from srs_core.mdeq.variants import find_variant

__all__ = ["GRADIENTS", "OPTIMIZERS", "SCHEDULES", "TrainingSettings"]

OPTIMIZERS = ("adam", "sgd")
SCHEDULES = ("one-cycle", "cosine")
GRADIENTS = ("tail", "implicit")

SHARES = ("rise", "unrolled", "jacobian_frequency", "ema_decay", "label_smoothing", "dropout", "momentum")
COUNTS = (
    "batch_size",
    "unrolled_steps",
    "tail_steps",
    "backward_steps",
    "noise_draws",
    "adversarial_steps",
    "adversarial_draws",
)
NOT_NEGATIVE = (
    "sigma",
    "weight_decay",
    "solve_steps",
    "solve_steps_end",
    "solve_jitter",
    "jacobian_weight",
    "consistency",
    "consistency_entropy",
    "adversarial",
    "seed",
)


@dataclass(frozen=True)
class TrainingSettings:
    """The recipe of a run; the budget (epochs or minutes) and the data are given beside it.

    Shares (`rise`, `unrolled`) are shares of the budget, so that a recipe means the same for a short
    run and a long one.
    """

    variant: str = "small"
    sigma: float = 0.25
    seed: int = 0
    batch_size: int = 64
    optimizer: str = "adam"
    learning_rate: float = 2e-3
    weight_decay: float = 0.0
    momentum: float = 0.9
    schedule: str = "one-cycle"
    rise: float = 0.2
    clip: float = 5.0
    unrolled: float = 0.1
    unrolled_steps: int = 3
    solve_steps: int = 4
    solve_steps_end: int = 6
    solve_jitter: int = 2
    gradient: str = "tail"
    tail_steps: int = 2
    backward_steps: int = 8
    jacobian_weight: float = 0.5
    jacobian_frequency: float = 0.05
    dropout: float = 0.0
    ema_decay: float = 0.999
    label_smoothing: float = 0.0
    noise_draws: int = 1
    consistency: float = 0.0
    consistency_entropy: float = 0.5
    adversarial: float = 0.0
    adversarial_steps: int = 2
    adversarial_draws: int = 4
    mixed_precision: bool = False

    def __post_init__(self) -> None:
        find_variant(self.variant)
        for name, allowed in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES), ("gradient", GRADIENTS)):
            check_choice(name, getattr(self, name), allowed)
        for name in SHARES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be between 0 and 1.")
        for name in ("ema_decay", "dropout", "momentum", "label_smoothing"):
            if getattr(self, name) == 1.0:
                raise ValueError(f"{name} is 1; it must be below 1.")
        for name in COUNTS:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        for name in NOT_NEGATIVE:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must not be negative.")
        for name in ("learning_rate", "clip"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be above 0.")
        if self.consistency > 0.0 and self.draws < 2:
            raise ValueError(
                f"consistency is {self.consistency} but there is 1 noise draw a picture: agreement needs at least "
                "2, so set noise_draws."
            )
        if self.batch_size % self.draws:
            raise ValueError(
                f"batch_size is {self.batch_size}, which {self.draws} noise draws a picture do not divide; choose a "
                "multiple."
            )

    @property
    def draws(self) -> int:
        """Noise draws of each picture in a batch."""
        return self.adversarial_draws if self.adversarial > 0.0 else self.noise_draws

    @property
    def pictures_per_step(self) -> int:
        """Different pictures in a batch; with several draws each, fewer than the batch has entries."""
        return self.batch_size // self.draws

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for a state file or a card."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainingSettings":
        """Read settings back; what an older file does not name keeps its default."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(
                f"The training settings name {', '.join(unknown)}, which this version does not know; "
                "resume with the version that wrote them."
            )
        return cls(**values)

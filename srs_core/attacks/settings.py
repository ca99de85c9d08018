"""The settings of one attack, as a value that cannot be impossible."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from srs_core.checks import check_names, check_whole
from srs_core.smoothing.settings import Settings

__all__ = ["AttackSettings"]


@dataclass(frozen=True)
class AttackSettings:
    """How a picture is attacked and how the outcome is decided; checked when made.

    A search takes `steps` steps uphill on the loss, each of length `step` times the radius (0.1 is the paper's figure;
    as a share of the radius, twenty such steps can cross the whole ball, whatever its size). `samples` is the
    number of noise draws whose mean answer the loss is made of (m in the paper); with 0 the plain model is followed,
    without noise. `restarts` more searches begin at random points of the ball. A search solves roughly: each of its
    steps spends at most `solve_steps` evaluations from where the last step ended, and `gradient_steps` on the
    implicit gradient. That can make an attack weaker but no verdict wrong: the verdict is `predict`'s, with `n`
    votes of the standard model and the error probability `alpha`.
    """

    samples: int = 16
    steps: int = 20
    step: float = 0.1
    restarts: int = 0
    solve_steps: int = 6
    gradient_steps: int = 5
    sigma: float = 0.25
    n: int = 1_000
    alpha: float = 0.001
    reference_solver: str = "anderson"
    reference_steps: int = 30
    tol: float = 1e-3
    batch_size: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("samples", 0), ("steps", 1), ("restarts", 0), ("solve_steps", 1), ("gradient_steps", 0)):
            check_whole(name, getattr(self, name), least)
        if not 0 < self.step <= 2:
            raise ValueError(
                f"step is {self.step}; it is a share of the radius and must be above 0 and at most 2, the whole ball."
            )
        _ = self.verdict  # whose own checks name the remaining values

    @classmethod
    def against(cls, smoothing: Settings, **changes: Any) -> "AttackSettings":
        """An attack on the very model that these settings certify: same noise, same solver, same error probability."""
        names = ("sigma", "alpha", "reference_solver", "reference_steps", "tol", "seed")
        return cls(**{**{name: getattr(smoothing, name) for name in names}, **changes})

    @property
    def verdict(self) -> Settings:
        """How `predict` decides what the smoothed model answers on the attacked picture."""
        return Settings(
            method="rs",
            sigma=self.sigma,
            solver=self.reference_solver,
            steps=self.reference_steps,
            n=self.n,
            alpha=self.alpha,
            tol=self.tol,
            batch_size=self.batch_size,
            seed=self.seed,
        )

    @property
    def label(self) -> str:
        """The paper's name for this attack: PGD, or m=16 for Smooth-PGD with 16 draws."""
        return f"m={self.samples}" if self.samples else "PGD"

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "AttackSettings":
        """Settings from plain values; an unknown name is an error, not a silence."""
        check_names(values, cls, "attack settings")
        return cls(**values)

    def with_(self, **changes: Any) -> "AttackSettings":
        """A copy with some values changed."""
        return replace(self, **changes)

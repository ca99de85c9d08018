"""The settings of one certification, as a value that cannot be impossible."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from srs_core.checks import check_choice, check_names, check_number, check_whole

__all__ = ["ESTIMATORS", "METHODS", "PRECISIONS", "SOLVER_NAMES", "STARTS", "Settings"]

METHODS = ("srs", "rs", "auto")
SOLVER_NAMES = ("naive", "anderson", "broyden")
STARTS = ("previous", "mean", "clean", "zero")
ESTIMATORS = ("joint", "exact", "paper")
PRECISIONS = ("float32", "bfloat16")
DEFAULT_PROXY_STEPS = 3
MOST_VOTES = 100_000_000
MOST_STEPS = 10_000
MOST_SIGMA = 1_000.0
"""A thousand times the pixel range; much more, and single precision no longer holds the picture beside the noise."""


@dataclass(frozen=True)
class Settings:
    """How a picture is certified; checked when made, so that a bad value is named at once.

    The certified model is always the standard one: a cold solve by `reference_solver` with
    `reference_steps` steps, stopped per sample at the relative residual `tol`. Plain smoothing (`rs`) votes
    with it; there `solver` and `steps`, when given, set the standard model itself. Serialized smoothing
    (`srs`) votes with a fast proxy, `steps` steps of `solver` from a warm `start`, and has the standard
    model audit `audit` of the votes at random (`census` of them not at random, but where the proxy was least
    sure). The proxy may compute in `proxy_precision`, because the audit makes any proxy safe; the standard model
    never does. `auto` lets a pilot choose between the two. `anytime` gives bounds that hold while the run goes on, and
    `robust_at` stops it as soon as the question "is it robust at this radius?" is answered.
    """

    method: str = "srs"
    sigma: float = 0.25
    solver: str = "anderson"
    steps: int | None = None
    n0: int = 100
    n: int = 10_000
    audit: int = 1_000
    alpha: float = 0.001
    batch_size: int | None = None
    reference_solver: str = "anderson"
    reference_steps: int = 30
    warm_up_steps: int = 30
    warm_up_solver: str = "anderson"
    restart_every: int | None = None
    start: str = "previous"
    tol: float = 1e-3
    seed: int = 0
    estimator: str = "joint"
    census: int = 0
    proxy_precision: str = "float32"
    anytime: bool = False
    robust_at: float | None = None

    def __post_init__(self) -> None:
        if self.steps is None:
            default = self.reference_steps if self.method == "rs" else DEFAULT_PROXY_STEPS
            object.__setattr__(self, "steps", default)
        if self.method == "rs":
            # Plain smoothing has no proxy: the voting model is the certified one.
            object.__setattr__(self, "reference_solver", self.solver)
            object.__setattr__(self, "reference_steps", self.steps)
        self._check_choices()
        self._check_numbers()
        self._check_audit()

    @property
    def proxy_steps(self) -> int:
        """`steps`, which is always a number once the settings exist."""
        assert self.steps is not None
        return self.steps

    @property
    def audited(self) -> bool:
        """Whether votes come from a proxy and must be audited."""
        return self.method != "rs"

    @property
    def watched(self) -> bool:
        """Whether the run is judged at looks on the way, so that alpha is shared among them."""
        return self.anytime or self.robust_at is not None

    @property
    def label(self) -> str:
        """The paper's name for this setting: MDEQ-30A is plain smoothing, SRS-MDEQ-3A is serialized."""
        prefix = "SRS-MDEQ" if self.method == "srs" else "MDEQ"
        return f"{prefix}-{self.steps}{self.solver[0].upper()}"

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Settings":
        """Settings from plain values; an unknown name is an error, not a silence."""
        check_names(values, cls, "settings")
        return cls(**values)

    def with_(self, **changes: Any) -> "Settings":
        """A copy with some values changed; `steps` falls back to its default when the method changes."""
        if changes.get("method", self.method) != self.method:
            changes.setdefault("steps", None)
        return replace(self, **changes)

    def plain(self) -> "Settings":
        """Plain smoothing of the same standard model on the same noise."""
        return self.with_(
            method="rs", solver=self.reference_solver, steps=self.reference_steps, restart_every=None, census=0
        )

    def _check_choices(self) -> None:
        for name, allowed in (
            ("method", METHODS),
            ("solver", SOLVER_NAMES),
            ("reference_solver", SOLVER_NAMES),
            ("warm_up_solver", SOLVER_NAMES),
            ("start", STARTS),
            ("proxy_precision", PRECISIONS),
        ):
            check_choice(name, getattr(self, name), allowed)
        if self.estimator == "published":
            raise ValueError(
                "estimator is 'published'; that formula does not lower the vote share, so what it gives is not "
                f"a certificate. Choose one of {', '.join(ESTIMATORS)}."
            )
        check_choice("estimator", self.estimator, ESTIMATORS)

    def _check_numbers(self) -> None:
        for name in ("n", "n0"):
            check_whole(name, getattr(self, name), 1, MOST_VOTES)
        check_whole("steps", self.steps, 1, MOST_STEPS)
        for name in ("reference_steps", "warm_up_steps"):
            check_whole(name, getattr(self, name), 1, MOST_STEPS)
        for name in ("audit", "census", "seed"):
            check_whole(name, getattr(self, name), 0)
        for name in ("batch_size", "restart_every"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        for name in ("sigma", "alpha", "tol"):
            check_number(name, getattr(self, name))
        if self.robust_at is not None:
            check_number("robust_at", self.robust_at)
        if not isinstance(self.anytime, bool):
            raise ValueError(f"anytime is {self.anytime!r}; it must be True or False.")
        if not 0 < self.sigma <= MOST_SIGMA:
            raise ValueError(f"sigma is {self.sigma}; it must be a positive number of at most {MOST_SIGMA:g}.")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha is {self.alpha}; it must lie between 0 and 1, both excluded.")
        if not 0 <= self.tol < 1:
            raise ValueError(f"tol is {self.tol}; it must be at least 0 (spend all steps) and below 1.")
        if self.batch_size is not None and self.batch_size > self.n:
            raise ValueError(f"batch_size is {self.batch_size}, more than the n = {self.n} votes; make it smaller.")
        if self.restart_every is not None and self.audited and self.start in ("clean", "zero"):
            raise ValueError(
                f"restart_every is {self.restart_every}, but start = {self.start!r} keeps nothing between batches that "
                "could be restarted; leave one of the two out."
            )
        if self.robust_at is not None and not 0 < self.robust_at < float("inf"):
            raise ValueError(f"robust_at is {self.robust_at}; it must be a positive radius.")

    def _check_audit(self) -> None:
        if not self.audited:
            return
        if not 1 <= self.audit <= self.n:
            raise ValueError(f"audit is {self.audit}; it must be from 1 to n = {self.n}, the number of votes.")
        if self.census >= self.audit:
            raise ValueError(f"census is {self.census}; it is a part of the audit of {self.audit} and must be smaller.")
        if self.census and (self.estimator != "joint" or self.watched):
            raise ValueError(
                f"census is {self.census}; only the estimator 'joint' without anytime bounds knows a census."
            )

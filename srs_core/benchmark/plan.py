"""Which certifications a benchmark times: the headline, all methods side by side, and how time grows."""

from dataclasses import dataclass

from srs_core.smoothing.settings import SOLVER_NAMES, Settings

__all__ = ["BATCHES", "GROUPS", "Group", "benchmark_groups", "expected_evaluations"]

GROUPS = {
    "headline": "the headline: plain smoothing against serialized smoothing with one naive step",
    "methods": "every method on the same noise",
    "votes": "more votes",
    "batches": "more copies at a time",
}
BATCHES = (16, 64, 256)
LEAST = 500
SOLVE = 28
"""About what a full solve of a trained small model takes; for the progress bar only."""


@dataclass(frozen=True)
class Group:
    """Certifications to be held against each other.

    Those of a race take turns, so that whatever else the machine does meets all of them alike, and see the same noise;
    the first is plain smoothing. The others run one after another, which tells their memory apart.
    """

    name: str
    settings: tuple[Settings, ...]
    race: bool


def benchmark_groups(sigma: float, n: int = 10_000, audit: int = 400, cheaper: str | None = None) -> list[Group]:
    """All groups, of which only the headline has the full number of votes, so that the whole takes minutes.

    `cheaper` is a precision for the quick votes that this machine gains by; it joins the headline.
    """
    if n < LEAST:
        raise ValueError(f"n is {n}; the parts of a benchmark take fractions of it, so it must be at least {LEAST}.")
    if not 1 <= audit <= n:
        raise ValueError(f"audit is {audit}; it must be from 1 to n = {n}, the number of votes.")

    def srs(votes: int, steps: int = 1, solver: str = "naive", **more: object) -> Settings:
        return Settings(sigma=sigma, n=votes, n0=100, audit=min(audit, votes), steps=steps, solver=solver).with_(**more)

    few, batches = n // 5, [size for size in BATCHES if size <= n // 5]
    headline = [srs(n)] + ([srs(n, proxy_precision=cheaper)] if cheaper else [])
    methods = [srs(few, steps, solver) for steps in (1, 3) for solver in SOLVER_NAMES]
    votes = [srs(n // 4), srs(n // 2), srs(n)] + [srs(few // parts).plain() for parts in (4, 2, 1)]
    return [
        Group("headline", (headline[0].plain(), *headline), race=True),
        Group("methods", (methods[0].plain(), *methods), race=True),
        Group("votes", tuple(votes), race=False),
        Group("batches", tuple(srs(few, batch_size=size) for size in batches), race=False),
    ]


def expected_evaluations(settings: Settings) -> int:
    """About how many evaluations of f a certification spends."""
    solve = min(SOLVE, settings.reference_steps)
    if not settings.audited:
        return (settings.n + settings.n0) * solve
    return settings.n * settings.proxy_steps + (settings.audit + settings.n0) * solve

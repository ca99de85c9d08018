"""One picture's line in a result file: the usual six columns first, ours after them."""

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from srs_core.smoothing.certificate import Certificate
    from srs_core.smoothing.compare import Measured

__all__ = ["ABSTAIN", "COLUMNS", "USUAL_COLUMNS", "Row", "row_of"]

ABSTAIN = -1
"""What stands under `predict` when nothing could be certified, as in the usual files."""


@dataclass(frozen=True)
class Row:
    """One picture under one setting.

    `idx label predict radius correct time` are the usual columns; `predict` is -1 and `correct` 0 for an abstention.
    `p_a` is the lower bound on the share of votes, `p_m` the bound on mismatches; `votes` of `n` went to `top_class`,
    and the audit's counts are those of the certificate. `true_mismatch`, `gap` and the two `equal_cost` columns are
    known where plain smoothing ran on the same noise. `seed` is this picture's own, so that any row can be run again
    alone. All but `time` depend on the settings only.
    """

    idx: int
    label: int
    predict: int
    radius: float
    correct: int
    time: str
    abstain: int
    top_class: int
    p_a: float
    p_m: float | None
    votes: int
    n: int
    audited: int | None
    mismatched: int | None
    audited_others: int | None
    recovered: int | None
    evaluations: int
    true_mismatch: float | None
    gap: float | None
    equal_cost_n: int | None
    equal_cost_radius: float | None
    seed: int
    setting: str
    model: str
    sigma: float

    def line(self) -> str:
        """The row as a line of the file, complete with its end; what is not known is empty."""
        values = (getattr(self, name) for name in COLUMNS)
        return "\t".join("" if value is None else str(value) for value in values) + "\n"


COLUMNS = tuple(field.name for field in fields(Row))
USUAL_COLUMNS = COLUMNS[:6]


def row_of(index: int, label: int, setting: str, certificate: "Certificate", measured: "Measured | None") -> Row:
    """The row of a certificate, with what was measured against plain smoothing if that ran beside it."""
    c, counts = certificate, certificate.counts
    return Row(
        idx=index,
        label=label,
        predict=ABSTAIN if c.abstained else c.class_index,
        radius=c.radius,
        correct=int(not c.abstained and c.class_index == label),
        time=_clock(c.seconds),
        abstain=int(c.abstained),
        top_class=c.class_index,
        p_a=c.p_a_lower,
        p_m=c.mismatch_bound,
        votes=c.votes[c.class_index],
        n=c.n,
        audited=None if counts is None else counts.audited,
        mismatched=None if counts is None else counts.mismatched,
        audited_others=None if counts is None else counts.audited_others,
        recovered=None if counts is None else counts.recovered,
        evaluations=c.evaluations,
        true_mismatch=None if measured is None else measured.true_mismatch,
        gap=None if measured is None else measured.gap,
        equal_cost_n=None if measured is None else measured.equal_cost.n,
        equal_cost_radius=None if measured is None else measured.equal_cost.radius,
        seed=c.seed,
        setting=setting,
        model=c.model,
        sigma=c.sigma,
    )


def _clock(seconds: float) -> str:
    """Seconds as h:mm:ss.ffffff; always with the fraction, which a whole second would otherwise lose."""
    text = str(timedelta(seconds=round(seconds, 6)))
    return text if "." in text else f"{text}.000000"

"""Naive iteration: the next state is f of this one."""

from torch import Tensor

from srs_core.solvers.state import Rows

__all__ = ["Naive"]


class Naive:
    """Repeat f. It converges wherever f contracts, at the rate at which it contracts."""

    def advance(self, fz: Rows, _gap: Rows) -> tuple[Rows, Tensor | None]:
        """Go where f points."""
        return fz, None

    def keep(self, _order: Tensor) -> None:
        """There is no memory to thin out."""

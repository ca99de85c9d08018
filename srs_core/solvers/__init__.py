"""Fixed-point solvers: naive iteration, Anderson mixing and Broyden's method behind one loop."""

from srs_core.solvers.loop import SOLVERS, Solution, Status, solve

__all__ = ["SOLVERS", "Solution", "Status", "solve"]

"""Anderson mixing: combine the last evaluations of f so that the combined residual is least."""

import torch
from torch import Tensor

from srs_core.solvers.state import Rows, dots, mixture, shrink, solve_symmetric, total

__all__ = ["Anderson"]

MEMORY = 6
REGULARISATION = 1e-4


class Anderson:
    """Anderson mixing with memory 6, ridge 1e-4 and mixing 1, each sample on its own.

    With weights a_i that sum to one and make ||sum a_i (f(z_i) - z_i)||^2 + ridge * ||a||^2 least, the
    next state is sum a_i f(z_i). After one evaluation that is f(z_0).
    """

    def __init__(self) -> None:
        self._values: Rows = []
        self._gaps: Rows = []
        self._gram: Tensor | None = None
        self._evaluations = 0

    def advance(self, fz: Rows, gap: Rows) -> tuple[Rows, Tensor | None]:
        """Remember this evaluation and mix; False marks samples whose mixing weights do not exist."""
        slot = self._evaluations % MEMORY
        self._evaluations += 1
        count = min(self._evaluations, MEMORY)
        if self._gram is None:
            self._values = [row.new_empty(row.shape[0], MEMORY, row.shape[1]) for row in fz]
            self._gaps = [torch.empty_like(memory) for memory in self._values]
            # Small systems of nearly parallel residuals need double precision, which MPS does not have.
            precise = gap[0].dtype if gap[0].device.type == "mps" else torch.float64
            self._gram = gap[0].new_zeros(gap[0].shape[0], MEMORY, MEMORY, dtype=precise)
        for memory, row in zip(self._values, fz, strict=True):
            memory[:, slot] = row
        for memory, row in zip(self._gaps, gap, strict=True):
            memory[:, slot] = row
        products = total(
            dots(row, memory[:, :count]).to(self._gram.dtype) for memory, row in zip(self._gaps, gap, strict=True)
        )
        self._gram[:, slot, :count] = products
        self._gram[:, :count, slot] = products
        if count == 1:
            return fz, None
        weights, healthy = _mixing_weights(self._gram[:, :count, :count])
        weights = weights.to(fz[0].dtype)
        return [mixture(weights, memory[:, :count]) for memory in self._values], healthy

    def keep(self, order: Tensor) -> None:
        """Forget all samples but these."""
        self._values = [shrink(memory, order) for memory in self._values]
        self._gaps = [shrink(memory, order) for memory in self._gaps]
        if self._gram is not None:
            self._gram = shrink(self._gram, order)


def _mixing_weights(gram: Tensor) -> tuple[Tensor, Tensor]:
    ridge = REGULARISATION * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    weights = solve_symmetric(gram + ridge, gram.new_ones(gram.shape[:2]))
    weights = weights / total(weights.unbind(dim=1)).unsqueeze(1)
    return weights, weights.isfinite().all(dim=1)

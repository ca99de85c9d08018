"""States of a batch as rows: what solvers need to know about tensors, and no more.

A state is one tensor, or a tuple of tensors, with the batch first. Solvers see each tensor as rows
[B, D] in the order in which it lies in memory, so that nothing is copied on the way in or out.

A sample's numbers must be the same to the last bit in any batch, because the audit of a certificate builds on labels
that depend on their own picture alone. BLAS and LAPACK do not promise that: what they sum, and in which order, may
change with the size of the batch and with the address of the data. So inner products, mixtures and small systems are
made of torch's own operations, element by element, for some percent more time.
"""

import functools
from collections.abc import Iterable

import torch
from torch import Tensor

__all__ = [
    "Rows",
    "State",
    "anywhere",
    "dots",
    "mixture",
    "norms",
    "parts",
    "rebuild",
    "shrink",
    "solve_symmetric",
    "take",
    "to_rows",
    "total",
]

BLOCK = 16_384
"""Torch sums up to 32,767 values in one go; more of them it may share out among threads, in whatever order."""

State = Tensor | tuple[Tensor, ...]
Rows = list[Tensor]
"""The parts of a state, each as [B, D]."""


def _channels_last(part: Tensor) -> bool:
    return part.dim() == 4 and not part.is_contiguous() and part.is_contiguous(memory_format=torch.channels_last)


def parts(state: State) -> tuple[Tensor, ...]:
    """The tensors of a state."""
    return (state,) if isinstance(state, Tensor) else tuple(state)


def to_rows(state: State) -> Rows:
    """Each part as rows [B, D], a view wherever memory allows."""
    return [
        (part.permute(0, 2, 3, 1) if _channels_last(part) else part).reshape(part.shape[0], -1) for part in parts(state)
    ]


def rebuild(rows: Rows, like: State) -> State:
    """Rows back in the shape and memory order of `like`, whose batch may be of another size."""
    built = []
    for row, part in zip(rows, parts(like), strict=True):
        if _channels_last(part):
            _, c, h, w = part.shape
            built.append(row.view(-1, h, w, c).permute(0, 3, 1, 2))
        else:
            built.append(row.view(-1, *part.shape[1:]))
    return built[0] if isinstance(like, Tensor) else tuple(built)


def take(state: State, index: Tensor) -> State:
    """The samples at these positions, in the same memory order; a position may come more than once."""
    return rebuild([row.index_select(0, index) for row in to_rows(state)], like=state)


def shrink(memory: Tensor, order: Tensor) -> Tensor:
    """The samples of a solver's memory in this order, moved within that memory.

    `order` must name every position that is its own place, or one behind the end of the new order: then only the
    samples that fill a gap are copied, however large the memory is.
    """
    moved = (order != torch.arange(len(order), device=order.device)).nonzero().squeeze(1)
    memory[moved] = memory[order[moved]]
    return memory[: len(order)]


def total(terms: Iterable[Tensor]) -> Tensor:
    """The sum of tensors of one shape, element by element from the first to the last."""
    return functools.reduce(torch.add, terms)


def dots(row: Tensor, others: Tensor) -> Tensor:
    """The inner products [B, M] of each sample's row [B, D] with its others [B, M, D]."""
    # One room for all products is faster than new memory for each.
    products = torch.empty_like(row)
    columns = []
    for other in others.unbind(dim=1):
        torch.mul(row, other, out=products)
        columns.append(total(block.sum(dim=1) for block in torch.split(products, BLOCK, dim=1)))
    return torch.stack(columns, dim=1)


def mixture(weights: Tensor, others: Tensor) -> Tensor:
    """The sums [B, D] of each sample's others [B, M, D] with its weights [B, M]."""
    mixed = weights[:, :1] * others[:, 0]
    products = torch.empty_like(mixed)
    for i in range(1, others.shape[1]):
        # Fused, product and sum could be rounded otherwise at the end of a row than in its middle.
        mixed += torch.mul(weights[:, i : i + 1], others[:, i], out=products)
    return mixed


def solve_symmetric(matrices: Tensor, right: Tensor) -> Tensor:
    """Solutions [B, M] of small positive definite systems [B, M, M], not finite where a pivot is zero."""
    table = torch.cat([matrices, right.unsqueeze(2)], dim=2)
    for i in range(matrices.shape[1]):
        row = table[:, i] / table[:, i, i : i + 1]
        table -= table[:, :, i : i + 1] * row.unsqueeze(1)
        table[:, i] = row
    return table[:, :, -1]


def anywhere(mask: Tensor) -> bool:
    """Whether a mask is true for any sample; on the meta device, where nobody knows, it may be."""
    return mask.is_meta or bool(mask.any())


def norms(rows: Rows) -> Tensor:
    """The Euclidean norm of each sample over all its parts."""
    blocks = (block for row in rows for block in torch.split(row, BLOCK, dim=1))
    return total(torch.linalg.vector_norm(block, dim=1).square() for block in blocks).sqrt()

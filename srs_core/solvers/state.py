"""States of a batch as rows: what solvers need to know about tensors, and no more.

A state is one tensor, or a tuple of tensors, with the batch first. Solvers see each tensor as rows
[B, D] in the order in which it lies in memory, so that nothing is copied on the way in or out.
"""

import torch
from torch import Tensor

__all__ = ["Rows", "State", "anywhere", "dots", "norms", "parts", "rebuild", "shrink", "take", "to_rows"]

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


def dots(row: Tensor, others: Tensor) -> Tensor:
    """The inner products [B, M] of each sample's row [B, D] with its others [B, M, D]."""
    # In this order of the factors BLAS was measured to be ten times as fast as in the other.
    return torch.bmm(row.unsqueeze(1), others.transpose(1, 2)).squeeze(1)


def anywhere(mask: Tensor) -> bool:
    """Whether a mask is true for any sample; on the meta device, where nobody knows, it may be."""
    return mask.is_meta or bool(mask.any())


def norms(rows: Rows) -> Tensor:
    """The Euclidean norm of each sample over all its parts."""
    squares = [torch.linalg.vector_norm(row, dim=1).square() for row in rows]
    return torch.stack(squares).sum(dim=0).sqrt()

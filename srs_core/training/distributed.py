"""Several processes, one model: what they must agree on when torchrun started them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

__all__ = ["Team", "join_team"]


@dataclass(frozen=True)
class Team:
    """The processes of a run; a run of one process is a team of one, for which all this is nothing.

    Gradients are averaged by hand after the backward pass, because a training step calls the parts of the
    network a varying number of times.
    """

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def average_gradients(self, model: nn.Module) -> None:
        """Give every process the mean of all processes' gradients."""
        if self.size == 1:
            return
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        flat /= self.size
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def agree(self, value: float, device: torch.device) -> float:
        """The first process's number, for all."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=device)
        dist.broadcast(shared, 0)
        return float(shared)

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether the flag is set in any process."""
        if self.size == 1:
            return flag
        shared = torch.tensor([float(flag)], device=device)
        dist.all_reduce(shared, dist.ReduceOp.MAX)
        return bool(shared > 0)

    def mean(self, values: Tensor) -> Tensor:
        """The mean of all processes' values."""
        if self.size > 1:
            dist.all_reduce(values)
            values = values / self.size
        return values


@contextmanager
def join_team(device: torch.device) -> Iterator[tuple[Team, torch.device]]:
    """The team that torchrun made, and this process's own device; without torchrun a team of one.

    Whoever ends well waits for the others, so that nobody is stopped while the first still writes its files.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Team(), device
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    # Functions of this module have the group as a default argument, and optimizers import it on first use. It must be
    # imported while there is no group: else the group outlives `destroy_process_group`, and one of its threads that
    # still holds a tensor when Python ends aborts the process ("terminate called without an active exception").
    from torch.distributed.nn import functional  # noqa: F401

    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Team(dist.get_rank(), size), device
        dist.barrier()
    finally:
        dist.destroy_process_group()

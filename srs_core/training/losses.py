"""What training makes small: the classification loss, the Jacobian's size, disagreement between noises."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from srs_core.mdeq.layer import State

__all__ = ["consistency_loss", "jacobian_estimate", "relative_change"]


def jacobian_estimate(f: Callable[[State], State], z: State) -> Tensor:
    """An unbiased estimate of ||J||_F^2 / (number of elements), J being the Jacobian of f at z.

    Hutchinson: for v ~ N(0, I) the expectation of ||v^T J||^2 is ||J||_F^2. The result can be
    differentiated with respect to f's parameters. A small Jacobian is what makes the iteration converge.
    """
    z = tuple(part.detach().requires_grad_() for part in z)
    out = f(z)
    draws = tuple(torch.randn_like(part) for part in out)
    products = torch.autograd.grad(out, z, draws, create_graph=True)
    squares = torch.stack([product.float().square().sum() for product in products]).sum()
    return squares / sum(part.numel() for part in z)


def consistency_loss(logits: Tensor, entropy_weight: float = 0.0) -> Tensor:
    """How much the predictions for several noises of one picture disagree; logits are [draws, B, classes].

    The mean Kullback-Leibler divergence from the draws' mean prediction to each draw's, plus
    `entropy_weight` times that mean's entropy. It is zero when all draws agree and are certain.
    """
    log_p = F.log_softmax(logits, dim=-1)
    log_mean = torch.logsumexp(log_p, dim=0) - torch.log(log_p.new_tensor(float(log_p.shape[0])))
    mean = log_mean.exp()
    divergence = (mean * (log_mean - log_p)).sum(dim=-1).mean()
    entropy = -(mean * log_mean).sum(dim=-1).mean()
    return divergence + entropy_weight * entropy


def relative_change(new: State, old: State) -> Tensor:
    """The mean over samples of ||new - old|| / ||new||, over all resolutions together."""

    def norms(parts: State) -> Tensor:
        return torch.stack([part.float().flatten(1).square().sum(dim=1) for part in parts]).sum(dim=0).sqrt()

    difference = tuple(a.detach() - b.detach() for a, b in zip(new, old, strict=True))
    size = norms(tuple(part.detach() for part in new))
    return (norms(difference) / size.clamp_min(1e-12)).mean()

"""The loss of one batch, as the settings put it together."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from srs_core.mdeq.layer import State
from srs_core.training.adversarial import smooth_attack
from srs_core.training.augment import crop_and_flip
from srs_core.training.equilibrium import Features, equilibrium, implicit, unrolled
from srs_core.training.losses import consistency_loss, jacobian_estimate
from srs_core.training.network import TrainedNetwork
from srs_core.training.schedule import solve_depth
from srs_core.training.settings import TrainingSettings

__all__ = ["Objective", "Outcome"]

ATTACK_RAMP = 0.1
"""The share of a run over which SmoothAdv's epsilon grows to its full size."""


@dataclass(frozen=True)
class Outcome:
    """A batch's loss, to be differentiated, and what it says about the model."""

    loss: Tensor
    accuracy: Tensor
    residual: Tensor
    jacobian: Tensor | None


class Objective:
    """From clean pictures and labels to the loss that training makes small."""

    def __init__(self, network: TrainedNetwork, settings: TrainingSettings) -> None:
        self.network = network
        self.settings = settings

    def __call__(self, pictures: Tensor, labels: Tensor, progress: float) -> Outcome:
        """Augment, add noise, find features, classify, and weigh the terms of the loss.

        Random numbers come from torch's global generators.
        """
        s = self.settings
        pictures = crop_and_flip(pictures)
        noise = s.sigma * torch.randn(s.draws, *pictures.shape, device=pictures.device)
        jitter = int(torch.randint(-s.solve_jitter, s.solve_jitter + 1, ()))
        depth = max(0, solve_depth(s, progress) + jitter)
        if s.adversarial > 0.0:
            pictures = self._attacked(pictures, labels, noise, progress, depth)
        labels = labels.repeat(s.draws)
        x = (pictures + noise).flatten(0, 1).contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=s.mixed_precision):
            injection = self.network.inject(x)
            features = self._features(x, injection, progress, depth)
            logits = self.network.classify(features.z).float()
        loss = F.cross_entropy(logits, labels, label_smoothing=s.label_smoothing)
        if s.consistency > 0.0:
            by_draw = logits.view(s.draws, -1, logits.shape[1])
            loss = loss + s.consistency * consistency_loss(by_draw, s.consistency_entropy / s.consistency)
        jacobian = self._jacobian(features.z, injection, progress)
        if jacobian is not None:
            loss = loss + s.jacobian_weight * jacobian
        accuracy = (logits.detach().argmax(dim=1) == labels).float().mean()
        return Outcome(loss, accuracy, features.residual, jacobian)

    def _features(self, x: Tensor, injection: Tensor, progress: float, depth: int) -> Features:
        s, z = self.settings, self.network.initial(x)
        masks = self.network.model.masks(z)
        if progress < s.unrolled:
            return unrolled(lambda z: self.network.step(z, injection, masks), z, s.unrolled_steps)
        if s.gradient == "implicit":
            return implicit(lambda z: self.network.plain_step(z, injection, masks), z, depth, s.backward_steps)
        return equilibrium(lambda z: self.network.step(z, injection, masks), z, depth, s.tail_steps)

    def _jacobian(self, z: State, injection: Tensor, progress: float) -> Tensor | None:
        """The Jacobian's estimated size, on a random share of the steps of the equilibrium phase."""
        s = self.settings
        chosen = float(torch.rand(())) < s.jacobian_frequency
        if not chosen or s.jacobian_weight == 0.0 or progress < s.unrolled:
            return None
        fixed = injection.detach()
        return jacobian_estimate(lambda z: self.network.plain_step(z, fixed, None), z)

    def _attacked(self, pictures: Tensor, labels: Tensor, noise: Tensor, progress: float, depth: int) -> Tensor:
        s, model = self.settings, self.network.model

        def logits_of(x: Tensor) -> Tensor:
            injection = model.inject(x)
            z = self.network.initial(x)
            if progress < s.unrolled:
                features = unrolled(lambda z: model.step(z, injection), z, s.unrolled_steps)
            else:
                features = equilibrium(lambda z: model.step(z, injection), z, depth, s.tail_steps)
            logits: Tensor = model.classify(features.z)
            return logits

        epsilon = s.adversarial * min(1.0, progress / ATTACK_RAMP)
        model.eval()  # the attack must not move the batch statistics
        moved = smooth_attack(logits_of, pictures, labels, noise, epsilon, s.adversarial_steps)
        model.train()
        return moved

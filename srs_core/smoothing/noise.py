"""Noisy copies of a picture that can be drawn again, in any batches, exactly as they were."""

from enum import IntEnum

import numpy as np
import torch
from torch import Tensor

__all__ = ["NoisyCopies", "Purpose", "derive_seed"]

BLOCK = 32


class Purpose(IntEnum):
    """What random numbers are for; each purpose has a generator of its own, independent of the others."""

    SELECTION = 0
    ESTIMATION = 1
    AUDIT = 2
    PREDICTION = 3
    IMAGE = 4
    ATTACK = 5


def derive_seed(seed: int, *path: int) -> int:
    """A seed for one use, made from the user's seed and the way to that use."""
    state = np.random.SeedSequence((seed, *path)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


class NoisyCopies:
    """The picture plus Gaussian noise of deviation sigma, by position.

    Noise is made in blocks with a seed each, so that copy i is the same whatever the batch it is drawn in,
    on one device, and nothing is kept.
    """

    def __init__(self, image: Tensor, sigma: float, seed: int, purpose: Purpose) -> None:
        self._image = image
        self._sigma = sigma
        self._seed = seed
        self._purpose = purpose
        # The meta device, on which shapes and devices are tested, has no generators.
        self._generator = None if image.is_meta else torch.Generator(device=image.device)

    def batch(self, start: int, stop: int) -> Tensor:
        """The copies at positions start to stop - 1, with the batch in front."""
        first, last = start // BLOCK, -(-stop // BLOCK)
        noise = self._image.new_empty(((last - first) * BLOCK, *self._image.shape))
        for block in range(first, last):
            part = noise[(block - first) * BLOCK : (block - first + 1) * BLOCK]
            if self._generator is not None:
                self._generator.manual_seed(derive_seed(self._seed, self._purpose, block))
            part.normal_(0.0, self._sigma, generator=self._generator)
        return noise[start - first * BLOCK : stop - first * BLOCK].add_(self._image)

"""Data-parallel training: workers with different rows and the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed
from torch.distributed import ProcessGroup

from calibrant.training.checkpoints import Checkpoints

_LARGE_PRIME = 1_000_003


@dataclass(frozen=True)
class Workers:
    """The workers of a data-parallel training, seen from one of them.

    All workers must have the same number of rows, and take the same number of steps.

    Parameters
    ----------
    group : torch ProcessGroup
    checkpoints : Checkpoints or None
        For this worker. All workers call `write`, with the same state.
    """

    group: ProcessGroup
    checkpoints: Checkpoints | None = None

    def share(self, batch_size: int) -> int:
        """Number of rows of a batch that each worker has."""
        return max(1, -(-batch_size // self.group.size()))

    def seed(self, seed: int, epoch: int) -> None:
        """Seed torch for an epoch, differently in each worker and the same after a restart."""
        torch.manual_seed(seed + _LARGE_PRIME * (epoch * self.group.size() + self.group.rank()))

    def average_gradients(self, weights: Sequence[Tensor]) -> None:
        """Replace the gradients by their means over the workers, which exchange one message."""
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        flat = self.mean(torch.cat([each.flatten() for each in gradients]))
        for each, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            each.copy_(mean.view_as(each))

    def mean(self, value: Tensor) -> Tensor:
        """Mean over the workers; the tensor is overwritten."""
        distributed.all_reduce(value, group=self.group)
        return value.div_(self.group.size())

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether the flag is set in any of the workers."""
        return bool(self.mean(torch.tensor(float(flag), device=device)))

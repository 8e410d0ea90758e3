"""The best weights so far, member by member."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from calibrant.networks import MemberNetworks


class BestWeights:
    """Keeps the weights of each member's best epoch, and tracks which members may still improve.

    With `latest` it keeps the last epoch of each member instead, because members of one batch stop
    at different epochs.

    All state is on the device of the network and is updated in place, so that an update can be
    captured in a CUDA graph and the host need not wait for it.

    Parameters
    ----------
    network : MemberNetworks
    score : tensor of shape (M,), or one number per model if its members stop together
        Score before the first step: epoch 0.
    patience : int
    latest : bool
        Keep the weights of the last epoch before the patience of a member ends.
    """

    def __init__(
        self, network: MemberNetworks, score: Tensor, patience: int, *, latest: bool = False
    ) -> None:
        self._latest = latest
        self.score = score.clone()
        self.epoch = torch.zeros_like(score, dtype=torch.long)
        self._patience = patience
        self._network = network
        self._weights = {name: value.clone() for name, value in network.by_name().items()}
        self._active = torch.ones_like(score, dtype=torch.bool)
        self._now = torch.zeros((), dtype=torch.long, device=score.device)

    def update(self, score: Tensor) -> None:
        """Add an epoch."""
        self._now += 1
        # Any number is better than NaN, the score of a network that diverged at the start.
        better = self._active & ((score < self.score) | (self.score.isnan() & ~score.isnan()))
        if better.is_cuda or better.any() or self._latest:
            torch.where(better, score, self.score, out=self.score)
            torch.where(better, self._now, self.epoch, out=self.epoch)
            each = self._network.size // len(better)
            kept = self._active if self._latest else better
            moved = kept[:, None].expand(-1, each).reshape(-1)
            for name, value in self._network.by_name().items():
                own = self._weights[name]
                torch.where(moved.view(-1, *[1] * (value.ndim - 1)), value, own, out=own)
        self._active &= self._now - self.epoch < self._patience

    def has_patience(self) -> bool:
        """Whether any member may still improve; the host waits for the device."""
        return bool(self._active.any())

    def by_name(self) -> dict[str, Tensor]:
        """Scores, epochs and weights."""
        weights = {f"weights.{name}": value for name, value in self._weights.items()}
        return weights | {
            "score": self.score,
            "epoch": self.epoch,
            "active": self._active,
            "now": self._now,
        }

    def load_by_name(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that `by_name` returned."""
        for name, value in self.by_name().items():
            value.copy_(state[name])

    def restore(self) -> None:
        """Put the best weights back into the network."""
        self._network.load_by_name(self._weights)

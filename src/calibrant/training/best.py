"""The best weights so far, member by member."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
    score : callable
        Returns the score of the present weights, (M,), or one number per model if its members
        stop together. The first call scores the network before the first step: epoch 0.
    patience : int
    latest : bool
        Keep the weights of the last epoch before the patience of a member ends.

    Attributes
    ----------
    score, epoch : tensors of shape (M,)
        Best score of each member so far, and its epoch.
    """

    def __init__(
        self,
        network: MemberNetworks,
        score: Callable[[], Tensor],
        patience: int,
        *,
        latest: bool,
    ) -> None:
        self._latest = latest
        self._score_now = score
        self.score = score().clone()
        self.epoch = torch.zeros_like(self.score, dtype=torch.long)
        self._patience = patience
        self._network = network
        self._weights = {name: value.clone() for name, value in network.by_name().items()}
        self._active = torch.ones_like(self.score, dtype=torch.bool)
        self._now = torch.zeros((), dtype=torch.long, device=self.score.device)

    def update(self) -> Tensor:
        """Score the weights after an epoch, keep those of members that improved; return scores."""
        score = self._score_now()
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
        return score

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

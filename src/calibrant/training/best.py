"""The best weights so far, member by member."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant.networks import MemberNetworks


class BestWeights:
    """Keeps the weights of each member's best epoch and says who has run out of patience.

    Parameters
    ----------
    network : MemberNetworks
    score : tensor of shape (M,), or (1,) where the members stop as one
        Score before the first step: epoch 0.
    patience : int
    """

    def __init__(self, network: MemberNetworks, score: Tensor, patience: int) -> None:
        self.score = score.clone()
        self.epoch = torch.zeros(len(score), dtype=torch.long)
        self._patience = patience
        self._network = network
        self._weights = {name: value.clone() for name, value in network.by_name().items()}
        self._active = torch.ones(len(score), dtype=torch.bool)

    def update(self, score: Tensor, epoch: int) -> bool:
        """Take in an epoch; returns whether any member still has patience."""
        # An unscored start (nan of an exploding network) loses to any number.
        better = self._active & ((score < self.score) | (self.score.isnan() & ~score.isnan()))
        if better.any():
            self.score[better], self.epoch[better] = score[better], epoch
            moved = better.expand(self._network.size) if len(better) == 1 else better
            for name, value in self._network.by_name().items():
                self._weights[name][moved] = value[moved]
        self._active &= epoch - self.epoch < self._patience
        return bool(self._active.any())

    def restore(self) -> None:
        """Put the best weights back into the network."""
        self._network.load_by_name(self._weights)

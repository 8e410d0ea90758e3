"""A running average of the weights."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from calibrant.networks import MemberNetworks


class WeightAverage:
    """Exponential average of the weights over the last steps.

    Steps of a constant size end up around an optimum, not in it; the average of where they
    have been lies nearer.

    Parameters
    ----------
    network : MemberNetworks
    steps : float
        Over how many steps the average reaches back.
    """

    def __init__(self, network: MemberNetworks, steps: float) -> None:
        self._live: list[torch.Tensor] = list(network.parameters())
        # A network moves as a whole: that lays the weights of torch's recurrent layers into the
        # one block that cuDNN wants.
        twin = copy.deepcopy(network).to(self._live[0].device)
        self._mean = [weight.detach() for weight in twin.parameters()]
        self._least = 1.0 / max(steps, 1.0)
        self._taken = 0

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights after a step."""
        self._taken += 1
        # A plain mean at first, so that where it began is forgotten soon.
        share = max(self._least, 1.0 / (1.0 + self._taken))
        torch._foreach_lerp_(self._mean, self._live, share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network have the average for a while."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for live, mean in zip(self._live, self._mean, strict=True):
            live.data, mean.data = mean.data, live.data

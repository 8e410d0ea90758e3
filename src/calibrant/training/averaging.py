"""Running average of the weights."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

from calibrant.networks import MemberNetworks


class WeightAverage:
    """Exponential average of the weights over the last steps.

    With a constant learning rate the weights fluctuate around an optimum, and their average is
    closer to it.

    Parameters
    ----------
    network : MemberNetworks
    steps : float
        Number of steps that the average reaches back.
    """

    def __init__(self, network: MemberNetworks, steps: float) -> None:
        self._live: list[torch.Tensor] = list(network.parameters())
        # Moving the whole network puts the weights of torch's recurrent layers into one block of
        # memory, as cuDNN requires.
        twin = copy.deepcopy(network).to(self._live[0].device)
        self._mean = [weight.detach() for weight in twin.parameters()]
        self._least = 1.0 / max(steps, 1.0)
        self._taken = 0

    @torch.no_grad()
    def update(self) -> None:
        """Add the weights after a step."""
        self._taken += 1
        # A plain mean at first, so that the initial weights are soon forgotten.
        share = max(self._least, 1.0 / (1.0 + self._taken))
        torch._foreach_lerp_(self._mean, self._live, share)

    def by_name(self) -> dict[str, torch.Tensor]:
        """Averages by the number of the weight, and the number of steps."""
        return {str(i): mean for i, mean in enumerate(self._mean)} | {
            "taken": torch.tensor(self._taken)
        }

    def load_by_name(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore the state that `by_name` returned."""
        for i, mean in enumerate(self._mean):
            mean.copy_(state[str(i)])
        self._taken = int(state["taken"])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the average into the network inside this context."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for live, mean in zip(self._live, self._mean, strict=True):
            live.data, mean.data = mean.data, live.data

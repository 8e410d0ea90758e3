"""Minimal Adam without torch's per-step overhead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.optim.adam import adam

_PARTS = ("mean", "square", "count")


class Adam:
    """Adam (Kingma and Ba 2015), with the same results as `torch.optim.Adam`.

    Torch's class imports torch's compiler when it is first made, which takes a second, and checks
    its groups, hooks and options in every step, which nearly doubles the time to update a small
    network; here it is one call of torch's fused operation.

    Parameters
    ----------
    weights : sequence of tensors
        Weights to train, all on one device; those without a gradient are left unchanged.
    rate : float
        Learning rate.
    decay : float
        Weight decay: L2 penalty added to the gradient.
    beta2 : float
        Decay of the mean of squared gradients per step.
    """

    def __init__(
        self, weights: Sequence[Tensor], rate: float, decay: float, beta2: float = 0.999
    ) -> None:
        device = weights[0].device
        self._on_gpu = device.type == "cuda"
        self._fused = self._on_gpu or device.type == "cpu"
        # On a GPU rate and step count are tensors, which a captured step reads.
        self._rate = torch.tensor(rate, device=device) if self._on_gpu else rate
        self._decay, self._beta2 = decay, beta2
        count = partial(torch.zeros, (), device=device)
        self.weights = list(weights)
        self._state = [(w, torch.zeros_like(w), torch.zeros_like(w), count()) for w in self.weights]

    @torch.no_grad()
    def step(self) -> None:
        """Update the weights from their gradients."""
        moving = [each for each in self._state if each[0].grad is not None]
        if not moving:
            return
        weights, means, squares, counts = map(list, zip(*moving, strict=True))
        gradients = [weight.grad for weight in weights]
        if self._fused:
            torch._foreach_add_(counts, 1)
        (torch._fused_adam_ if self._fused else adam)(
            weights, gradients, means, squares, [], counts, amsgrad=False, beta1=0.9,
            beta2=self._beta2, lr=self._rate, weight_decay=self._decay, eps=1e-8, maximize=False,
        )  # fmt: skip

    def by_name(self) -> dict[str, Tensor]:
        """Means, squares and counts of the gradients, by the number of the weight."""
        return {
            f"{i}.{name}": value
            for i, (_, *own) in enumerate(self._state)
            for name, value in zip(_PARTS, own, strict=True)
        }

    @torch.no_grad()
    def load_by_name(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state that `by_name` returned."""
        for name, value in self.by_name().items():
            value.copy_(state[name])

    def set_rate(self, rate: float) -> None:
        """Change the learning rate, in place if it is on a device."""
        if isinstance(self._rate, Tensor):
            self._rate.fill_(rate)
        else:
            self._rate = rate

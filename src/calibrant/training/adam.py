"""Adam (Kingma and Ba 2015) in few words of Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """The step of `torch.optim.Adam`, with the same numbers.

    Torch's class looks at its groups, hooks and options in every step, which takes as long as a
    small network's forward pass; here they are settled once, down to torch's fused operation.

    Parameters
    ----------
    weights : sequence of tensors
        What moves, all on one device; those without a gradient stay.
    rate : float
        Learning rate.
    decay : float
        Times a weight added to its gradient.
    """

    def __init__(self, weights: Sequence[Tensor], rate: float, decay: float) -> None:
        device = weights[0].device
        self._on_gpu = device.type == "cuda"
        self._fused = self._on_gpu or device.type == "cpu"
        # On a GPU the rate and the steps are numbers that recorded work reads.
        self._rate = torch.tensor(rate, device=device) if self._on_gpu else rate
        self._decay = decay
        count = partial(torch.zeros, (), device=device)
        self._state = [(w, torch.zeros_like(w), torch.zeros_like(w), count()) for w in weights]

    @torch.no_grad()
    def step(self) -> None:
        """Move the weights along their gradients."""
        moving = [each for each in self._state if each[0].grad is not None]
        if not moving:
            return
        weights, means, squares, counts = map(list, zip(*moving, strict=True))
        gradients = [weight.grad for weight in weights]
        if self._fused:
            torch._foreach_add_(counts, 1)
        (torch._fused_adam_ if self._fused else adam)(
            weights, gradients, means, squares, [], counts, amsgrad=False, beta1=0.9, beta2=0.999,
            lr=self._rate, weight_decay=self._decay, eps=1e-8, maximize=False,
        )  # fmt: skip

    def set_rate(self, rate: float) -> None:
        """Change the learning rate, in place where it lives on a device."""
        if isinstance(self._rate, Tensor):
            self._rate.fill_(rate)
        else:
            self._rate = rate

"""Dropout that stays on: Monte-Carlo passes as one batch."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from calibrant.errors import ParameterError


class BalancedDropout(nn.Module):
    """T thinned networks at once: drops units by masks of its own, (T, 1, width).

    A pass drops the same units for every row, so the answer of a row depends neither on the
    rows beside it nor on their number. Every unit is dropped in the same share of the passes,
    which takes the first-order Monte-Carlo error out of their mean: without that all rows
    would be off to the same side.

    Parameters
    ----------
    p : float
        Share of passes in which a unit is dropped.
    count : int
        The T.
    generator : torch.Generator
        On the CPU, so that every device draws the same masks.
    """

    def __init__(self, p: float, count: int, generator: torch.Generator) -> None:
        super().__init__()
        self.p, self.count, self.generator = p, count, generator

    def forward(self, x: Tensor) -> Tensor:
        """Multiply (n, width) or (T, n, width) by the masks; the result is (T, n, width)."""
        order = torch.rand(self.count, x.shape[-1], generator=self.generator).argsort(dim=0)
        dropped = round(self.p * self.count)
        keep = (order >= dropped).to(x) * (self.count / (self.count - dropped))
        return x * keep[:, None, :]


def monte_carlo_passes(network: nn.Module, x: Tensor, count: int, seed: int) -> Tensor:
    """Outputs of T passes with dropout on, (T, n, n_outputs).

    Parameters
    ----------
    network : nn.Module
        With nn.Dropout layers; the layers behind them must take leading dimensions.
    x : tensor of shape (n, d)
    count, seed : int
        Number of passes, and the seed of what they drop.
    """
    thinned = copy.deepcopy(network).eval()
    generator = torch.Generator().manual_seed(seed)
    found = [
        (module, name, child)
        for module in thinned.modules()
        for name, child in module.named_children()
        if isinstance(child, nn.Dropout)
    ]
    if not found:
        raise ParameterError(
            "Monte-Carlo passes need dropout: set dropout > 0, or put nn.Dropout layers into your "
            "own network."
        )
    for module, name, child in found:
        setattr(module, name, BalancedDropout(child.p, count, generator))
    result: Tensor = thinned(x)
    return result

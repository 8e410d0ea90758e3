"""Dropout that stays on: Monte-Carlo passes as one batch."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from calibrant.errors import ParameterError


class SequenceDropout(nn.Dropout):
    """Dropout of sequences (n, steps, width): a unit is dropped in all steps of a row, or in none.

    Those of members, time in front of the rows, are (M, steps, n, width).

    Dropping anew in every step would wash the memory out, and would differ from what a
    Monte-Carlo pass drops (Gal and Ghahramani 2016, "A theoretically grounded application of
    dropout in recurrent neural networks").
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop units of sequences while training."""
        if not self.training:
            return input
        return input * super().forward(torch.ones_like(input[:, :1]))


class BalancedDropout(nn.Module):
    """T thinned networks at once: drops units by masks of its own, (T, width).

    A pass drops the same units for every row (and every step of it), so the answer of a row
    depends neither on the rows beside it nor on their number. Every unit is dropped in the same
    share of the passes, which takes the first-order Monte-Carlo error out of their mean: without
    that all rows would be off to the same side.

    Parameters
    ----------
    p : float
        Share of passes in which a unit is dropped.
    count : int
        The T.
    n_rows : int
        Rows of one pass, n.
    generator : torch.Generator
        On the CPU, so that every device draws the same masks.
    """

    def __init__(self, p: float, count: int, n_rows: int, generator: torch.Generator) -> None:
        super().__init__()
        self.p, self.count, self.n_rows, self.generator = p, count, n_rows, generator

    def forward(self, x: Tensor) -> Tensor:
        """Multiply by the masks; the result is (T * n, ..., width), pass after pass.

        Parameters
        ----------
        x : tensor of shape (n, ..., width), the same in all passes, or (T * n, ..., width)
        """
        order = torch.rand(self.count, x.shape[-1], generator=self.generator).argsort(dim=0)
        dropped = round(self.p * self.count)
        keep = (order >= dropped).to(x) * (self.count / (self.count - dropped))
        passes = x.view(-1, self.n_rows, *x.shape[1:])  # (1 or T, n, ..., width)
        return (passes * keep.view(self.count, *[1] * (x.ndim - 1), -1)).flatten(0, 1)


def monte_carlo_passes(
    network: nn.Module,
    x: Tensor,
    count: int,
    seed: int,
    weights: Mapping[str, Tensor] | None = None,
) -> Tensor:
    """Outputs of T passes with dropout on, (T, n, n_outputs).

    Parameters
    ----------
    network : nn.Module
        With nn.Dropout layers.
    x : tensor of shape (n, d) or (n, steps, d)
    count, seed : int
        Number of passes, and the seed of what they drop.
    weights : mapping, optional
        Weights by name that stand in for the network's own.
    """
    # Moved even if it is there: that lays the weights of torch's recurrent layers, each copied by
    # itself, into the one block that cuDNN wants.
    thinned = copy.deepcopy(network).to(x.device).eval()
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
        setattr(module, name, BalancedDropout(child.p, count, len(x), generator))
    result: Tensor = thinned(x) if weights is None else functional_call(thinned, dict(weights), x)
    return result.view(count, len(x), -1)

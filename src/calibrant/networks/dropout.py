"""Dropout for sequences, and Monte-Carlo passes with dropout as one batch."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from calibrant.errors import ParameterError


class SequenceDropout(nn.Dropout):
    """Dropout of sequences (n, steps, width): a unit is dropped in all steps of a row, or in none.

    For members, with time before the rows, sequences are (M, steps, n, width).

    Dropping other units in every step would erase the memory, and would differ from a Monte-Carlo
    pass (Gal and Ghahramani 2016, "A theoretically grounded application of dropout in recurrent
    neural networks").
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop units of sequences while training."""
        if not self.training:
            return input
        return input * super().forward(torch.ones_like(input[:, :1]))


class BalancedDropout(nn.Module):
    """Dropout of T passes at once, with balanced masks (T, width).

    A pass drops the same units for every row (and all its steps), so that the prediction of a row
    does not depend on other rows. Every unit is dropped in the same share of the passes, which
    removes the first-order Monte-Carlo error of their mean, an error of the same sign in all rows.

    Parameters
    ----------
    p : float
        Share of passes in which a unit is dropped.
    count : int
        Number of passes T.
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
        Network with nn.Dropout layers.
    x : tensor of shape (n, d) or (n, steps, d)
    count, seed : int
        Number of passes, and the seed of their masks.
    weights : mapping, optional
        Weights by name that replace those of the network.
    """
    # Moving the copy, even to the same device, lays the weights of torch's recurrent layers out in
    # one block, as cuDNN requires.
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

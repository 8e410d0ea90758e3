"""Dropout for sequences, and Monte-Carlo passes with dropout as one batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

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


def monte_carlo_passes(
    network: nn.Module,
    x: Tensor,
    count: int,
    seed: int,
    weights: Mapping[str, Tensor] | None = None,
) -> Tensor:
    """Outputs of T passes with dropout on, (T, n, n_outputs), as one batch of T * n rows.

    Parameters
    ----------
    network : nn.Module
        With nn.Dropout layers; it is left in evaluation mode.
    x : tensor of shape (n, d) or (n, steps, d)
    count, seed : int
        Number of passes, and the seed of their masks.
    weights : mapping, optional
        Weights by name that replace those of the network.
    """
    layers = [module for module in network.modules() if isinstance(module, nn.Dropout)]
    if not layers:
        raise ParameterError(
            "Monte-Carlo passes need dropout: set dropout > 0, or put nn.Dropout layers into your "
            "own network."
        )
    generator = torch.Generator().manual_seed(seed)  # on the CPU: every device drops the same

    def drop(layer: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        mask = balanced_mask(cast(float, layer.p), count, inputs[0].shape[-1], generator)
        return drop_in_passes(inputs[0], mask.to(inputs[0]), len(x))

    network.eval()
    hooks = [layer.register_forward_hook(drop) for layer in layers]
    try:
        result: Tensor = (
            network(x) if weights is None else functional_call(network, dict(weights), x)
        )
    finally:
        for hook in hooks:
            hook.remove()
    return result.view(count, len(x), -1)


def balanced_mask(p: float, count: int, width: int, generator: torch.Generator) -> Tensor:
    """Which units each of T passes keeps, (T, width): 0 for dropped ones, above 1 for the others.

    Every unit is dropped in the same share of the passes, which removes the first-order
    Monte-Carlo error of their mean: otherwise all rows would be biased in the same direction.
    """
    order = torch.rand(count, width, generator=generator).argsort(dim=0)
    dropped = round(p * count)
    return (order >= dropped).double() * (count / (count - dropped))


def drop_in_passes(x: Tensor, mask: Tensor, n_rows: int) -> Tensor:
    """Drop units of all passes, (T * n, ..., width), pass after pass.

    A pass drops the same units for every row (and every step of it), so the prediction of a row
    does not depend on the other rows.

    Parameters
    ----------
    x : tensor of shape (n, ..., width), the same in all passes, or (T * n, ..., width)
    mask : tensor of shape (T, width)
    """
    passes = x.view(-1, n_rows, *x.shape[1:])  # (1 or T, n, ..., width)
    return (passes * mask.view(len(mask), *[1] * (x.ndim - 1), -1)).flatten(0, 1)

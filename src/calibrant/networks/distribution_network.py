"""A network with a body and a head, and switches for its inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from calibrant.networks.embeddings import InputGate, PeriodicEmbedding
from calibrant.networks.heads import Head
from calibrant.networks.mlp import MLP


class DistributionNetwork(nn.Module):
    """Network whose outputs a head turns into distributions.

    Parameters
    ----------
    body : nn.Module
        Maps (n, d), or sequences (n, steps, d), to features (n, k).
    n_hidden : int
        Number of features k.
    head : Head
    fixed : sequence of float, optional
        The last outputs of the head, equal for all rows and not learned.
    """

    fixed: Tensor

    def __init__(
        self, body: nn.Module, n_hidden: int, head: Head, fixed: Sequence[float] = ()
    ) -> None:
        super().__init__()
        self.body = body
        self.output = nn.Linear(n_hidden, head.n_outputs - len(fixed))
        self.head = head
        if fixed:
            self.register_buffer("fixed", torch.tensor(fixed, dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the last layer and the fixed ones, (n, head.n_outputs)."""
        result: Tensor = self.output(self.body(x))
        return with_fixed(result, getattr(self, "fixed", None))


def with_fixed(outputs: Tensor, fixed: Tensor | None) -> Tensor:
    """Append fixed outputs, (..., g), to those of a last layer, (..., n, k)."""
    if fixed is None:
        return outputs
    beside = fixed.unsqueeze(-2).expand(*outputs.shape[:-1], fixed.shape[-1])
    return torch.cat([outputs, beside], dim=-1)


def hide_inputs(network: DistributionNetwork, columns: slice) -> None:
    """Hide some inputs from a network with an `InputGate`: they are set to zero."""
    for module in network.modules():
        if isinstance(module, InputGate):
            module.shown[columns] = 0.0


def disable_embedding(network: DistributionNetwork) -> None:
    """Turn off the periodic embedding of an untrained network.

    The first layer is rescaled to the initialisation of a layer with the remaining inputs.
    """
    if not isinstance(network.body, nn.Sequential):
        return
    for embedding, mlp in pairwise(network.body):
        if isinstance(embedding, PeriodicEmbedding) and isinstance(mlp, MLP):
            embedding.gate.zero_()
            first = cast(nn.Linear, mlp[0])
            larger = math.sqrt(embedding.expansion)
            for weight in first.parameters():
                weight.detach().mul_(larger)

"""Learned embeddings of numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

_FREQUENCIES = 32
_WIDTH = 16


def close_gates(network: nn.Module) -> None:
    """Let a network see its inputs as they are, without the embeddings it may have."""
    for module in network.modules():
        if isinstance(module, PeriodicEmbedding):
            module.gate.zero_()


class PeriodicEmbedding(nn.Module):
    """Sines and cosines of every input at learned frequencies, beside the input itself.

    ``x_j -> [x_j, relu(W_j [sin(2 pi c_j x_j), cos(2 pi c_j x_j)] + b_j)]`` with 32 frequencies
    c_j and 16 outputs for every input j (Gorishniy et al. 2022). A network on top sees steps and
    wiggles of an input that it would need many layers to build from the number alone.

    Parameters
    ----------
    n_features : int
        The d.
    scale : float
        The frequencies start as draws from N(0, scale^2), in cycles per unit of the scaled
        input: the larger, the finer the structure that is seen first.
    """

    def __init__(self, n_features: int, scale: float) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(scale * torch.randn(n_features, _FREQUENCIES))
        bound = 1.0 / math.sqrt(2 * _FREQUENCIES)
        self.weight = nn.Parameter(
            torch.empty(n_features, 2 * _FREQUENCIES, _WIDTH).uniform_(-bound, bound)
        )
        self.bias = nn.Parameter(torch.empty(n_features, _WIDTH).uniform_(-bound, bound))
        self.n_outputs = n_features * (1 + _WIDTH)
        # 1, or 0 for a network that is to see the numbers alone: among members both kinds then
        # have one shape.
        self.register_buffer("gate", torch.ones(()))

    gate: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Embedded rows (n, d + 16 d) of rows (n, d)."""
        angle = 2.0 * math.pi * self.frequencies * x[:, :, None]  # (n, d, 32)
        waves = torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)
        # (d, n, 64) @ (d, 64, 16): one product for each input, all at once
        mixed = torch.baddbmm(self.bias[:, None], waves.transpose(0, 1), self.weight)
        return torch.cat([x, self.gate * mixed.relu().transpose(0, 1).flatten(1)], dim=1)

"""Periodic embeddings of numeric inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

_FREQUENCIES = 16
_WIDTH = 3


class PeriodicEmbedding(nn.Module):
    """Every numeric input, followed by learned combinations of its cosines.

    ``x_j -> [x_j, W_j cos(2 pi (c_j x_j + p_j)) + b_j]`` with 16 frequencies c_j and phases p_j and
    3 outputs for every embedded input j (the PBLD embedding of Holzmueller et al. 2024, after
    Gorishniy et al. 2022). A network can then easily learn steps and oscillations, for which it
    would otherwise need many layers.

    Parameters
    ----------
    n_features : int
        Number of inputs d.
    scale : float
        The frequencies are initialised from N(0, scale^2), in cycles per unit of the scaled input:
        the larger, the finer the structure that is learned first.
    columns : sequence of int, optional
        Inputs to embed; by default all. A column of two values gains nothing.
    """

    columns: Tensor

    def __init__(self, n_features: int, scale: float, columns: Sequence[int] | None = None) -> None:
        super().__init__()
        chosen = range(n_features) if columns is None else columns
        self.register_buffer("columns", torch.tensor(chosen, dtype=torch.long))
        self.all_columns = len(chosen) == n_features
        size, bound = len(chosen), 1.0 / math.sqrt(_FREQUENCIES)
        self.frequencies = nn.Parameter(scale * torch.randn(size, _FREQUENCIES))
        self.phases = nn.Parameter(torch.empty(size, _FREQUENCIES).uniform_(-0.5, 0.5))
        weight = torch.empty(size, _FREQUENCIES, _WIDTH)
        self.weight = nn.Parameter(weight.uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(size, _WIDTH).uniform_(-bound, bound))
        self.n_outputs = n_features + _WIDTH * size
        self.turn = 2.0 * math.pi

    @torch.no_grad()
    def use_radians(self) -> None:
        """Store frequencies and phases per radian, so that no factor is left that could round."""
        self.frequencies.mul_(self.turn)
        self.phases.mul_(self.turn)
        self.turn = 1.0

    def sources(self) -> Tensor:
        """Input that each output is computed from, (n_outputs,)."""
        first = torch.arange(self.n_outputs - _WIDTH * len(self.columns))
        return torch.cat([first, self.columns.cpu().repeat_interleave(_WIDTH)])

    def forward(self, x: Tensor) -> Tensor:
        """Embedded rows (n, n_outputs) of rows (n, d)."""
        return self.batched(x[None], *(getattr(self, part)[None] for part in self.parts))[0]

    parts = ("frequencies", "phases", "weight", "bias", "columns")

    def batched(
        self,
        x: Tensor,
        frequencies: Tensor,
        phases: Tensor,
        weight: Tensor,
        bias: Tensor,
        columns: Tensor,
    ) -> Tensor:
        """Embedded rows (M, n, n_outputs) of rows (M, n, d), from the `parts` of M members."""
        chosen = x if self.all_columns else x[..., columns[0]]
        turns = torch.addcmul(phases[:, :, None], chosen.mT[..., None], frequencies[:, :, None])
        waves = torch.cos(self.turn * turns)  # (M, columns, n, 16)
        # (M c, n, 16) @ (M c, 16, 3): one product for each column of each member, all at once
        mixed = torch.baddbmm(
            bias.flatten(0, 1)[:, None], waves.flatten(0, 1), weight.flatten(0, 1)
        )
        mixed = mixed.unflatten(0, bias.shape[:2]).transpose(1, 2).flatten(2)
        return torch.cat([x, mixed], dim=-1)

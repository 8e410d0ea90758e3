"""Layers in front of the MLP: periodic embeddings of the inputs, and a gate that hides some."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd import Function

_FREQUENCIES = 32
_WIDTH = 16


class PeriodicEmbedding(nn.Module):
    """Every input together with sines and cosines of it at learned frequencies.

    ``x_j -> [x_j, relu(W_j [sin(2 pi c_j x_j), cos(2 pi c_j x_j)] + b_j)]`` with 32 frequencies
    c_j and 16 outputs for every input j (Gorishniy et al. 2022). A network can then easily learn
    steps and oscillations, for which it would otherwise need many layers.

    Parameters
    ----------
    n_features : int
        Number of inputs d.
    scale : float
        The frequencies are initialised from N(0, scale^2), in cycles per unit of the scaled input:
        the larger, the finer the structure that is learned first.
    """

    def __init__(self, n_features: int, scale: float) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(scale * torch.randn(n_features, _FREQUENCIES))
        bound = 1.0 / math.sqrt(2 * _FREQUENCIES)
        self.weight = nn.Parameter(
            torch.empty(n_features, 2 * _FREQUENCIES, _WIDTH).uniform_(-bound, bound)
        )
        self.bias = nn.Parameter(torch.empty(n_features, _WIDTH).uniform_(-bound, bound))
        # 1, or 0 for a network without the embedding: members of both kinds then have one shape.
        self.register_buffer("gate", torch.ones(()))

    gate: Tensor
    expansion = 1 + _WIDTH  # outputs per input

    def forward(self, x: Tensor) -> Tensor:
        """Embedded rows (n, d + 16 d) of rows (n, d)."""
        parts = (self.frequencies, self.weight, self.bias, self.gate)
        return embed(x[None], *(part[None] for part in parts))[0]


def embed(x: Tensor, frequencies: Tensor, weight: Tensor, bias: Tensor, gate: Tensor) -> Tensor:
    """Embedded rows (M, n, d + 16 d) of M members, from rows (M, n, d) and stacked weights."""
    angle = 2.0 * math.pi * frequencies[:, :, None] * x.mT[..., None]  # (M, d, n, 32)
    waves = cast(Tensor, _Waves.apply(angle))  # type: ignore[no-untyped-call]
    # (M d, n, 64) @ (M d, 64, 16): one product for each input of each member, all at once
    columns = waves.flatten(0, 1)
    mixed = torch.baddbmm(bias.flatten(0, 1)[:, None], columns, weight.flatten(0, 1)).relu()
    mixed = mixed.unflatten(0, frequencies.shape[:2]).transpose(1, 2).flatten(2)
    return torch.cat([x, gate.view(-1, 1, 1) * mixed], dim=-1)


class _Waves(Function):
    """Sines and cosines, concatenated; the output is saved, as it contains the derivatives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(angle: Tensor) -> Tensor:
        return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (waves,) = ctx.saved_tensors
        sine, cosine = waves.chunk(2, dim=-1)
        by_sine, by_cosine = grad.chunk(2, dim=-1)
        return torch.addcmul(by_sine * cosine, by_cosine, sine, value=-1.0)


class InputGate(nn.Module):
    """Inputs times 1 or 0, so that members which read different inputs have one shape.

    Parameters
    ----------
    n_features : int
        Number of inputs d.
    """

    shown: Tensor

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.register_buffer("shown", torch.ones(n_features))

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, d) with hidden inputs set to 0."""
        return x * self.shown

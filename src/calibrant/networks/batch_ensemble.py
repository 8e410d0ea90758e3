"""Perceptrons that share their weight matrices: an ensemble for little more than one network.

The functions `batched` have M such networks in their first dimension; `forward` is the case of one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from calibrant.networks.embeddings import PeriodicEmbedding

_FASTER = 6.0  # the scale of an input is learned this much faster than other weights
ACTIVATIONS = {"relu": torch.relu_, "silu": functional.silu}


class SharedLinear(nn.Module):
    """Linear layers of K submodels with one weight matrix W: ``s_k * (W (r_k * x)) + b_k``.

    Parameters
    ----------
    n_in, n_out, submodels : int
    signs : tensor of shape (K, n_in) or None
        Initial r, the vectors that tell the submodels apart; None is 1.
    """

    def __init__(self, n_in: int, n_out: int, submodels: int, signs: Tensor | None) -> None:
        super().__init__()
        bound = 1.0 / math.sqrt(n_in)
        self.weight = nn.Parameter(torch.empty(n_in, n_out).uniform_(-bound, bound))
        self.before = nn.Parameter(torch.ones(submodels, n_in) if signs is None else signs)
        self.after = nn.Parameter(torch.ones(submodels, n_out))
        self.bias = nn.Parameter(torch.empty(submodels, n_out).uniform_(-bound, bound))

    @staticmethod
    def batched(x: Tensor, weight: Tensor, before: Tensor, after: Tensor, bias: Tensor) -> Tensor:
        """Outputs (M, K, n, n_out) of inputs (M, K, n, n_in), or (M, 1, n, n_in)."""
        scaled = x * before[:, :, None]
        product = torch.bmm(scaled.flatten(1, 2), weight).view(*scaled.shape[:3], -1)
        return torch.addcmul(bias[:, :, None], product, after[:, :, None])


class BatchEnsembleMLP(nn.Module):
    """K perceptrons that share their weight matrices (Wen et al. 2020, Gorishniy et al. 2024).

    Each submodel has its own scaling of the inputs and outputs of every layer, and its own biases.
    They start with the same weights but for random signs of the inputs, are trained by a loss each,
    and share what they learn, which regularises them. Every input has a learned scale.

    Parameters
    ----------
    n_features : int
        Width of the input; for sequences, steps times features.
    hidden : sequence of int
        Widths of the hidden layers.
    submodels : int
        Number K of submodels.
    activation : {"relu", "silu"}
    dropout : float
    embedding : PeriodicEmbedding, optional
    """

    def __init__(
        self,
        n_features: int,
        hidden: Sequence[int],
        submodels: int,
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        embedding: PeriodicEmbedding | None = None,
    ) -> None:
        super().__init__()
        self.submodels, self.dropout = submodels, dropout
        self._activation = ACTIVATIONS[activation]
        # The scale is 1 + 6 * `scale`: a step of Adam then moves it by six times the learning rate.
        self.scale = nn.Parameter(torch.zeros(n_features))
        self.embedding = embedding
        sources = torch.arange(n_features) if embedding is None else embedding.sources()
        # An input and its embedding have one sign: their submodels see x_j or -x_j.
        signs = torch.randn(submodels, n_features).sign()[:, sources]
        widths = [len(sources), *hidden]
        self.layers = nn.ModuleList(
            SharedLinear(before, after, submodels, signs if i == 0 else None)
            for i, (before, after) in enumerate(pairwise(widths))
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features (K, n, hidden[-1]) of rows (n, n_features), or of sequences (n, steps, d)."""
        weights = {name: value[None] for name, value in self.state_dict(keep_vars=True).items()}
        return self.batched(x.flatten(1)[None], weights)[0]

    def batched(self, x: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
        """Features (M, K, n, hidden[-1]) of rows (M, n, n_features).

        Parameters
        ----------
        weights : mapping
            Weights and buffers of M networks by the names of one network, (M, ...).
        """
        x = x * (1.0 + _FASTER * weights["scale"])[:, None]
        if self.embedding is not None:
            parts = (weights[f"embedding.{part}"] for part in self.embedding.parts)
            x = self.embedding.batched(x, *parts)
        x = x[:, None]
        for i, layer in enumerate(self.layers):
            names = (name for name, _ in layer.named_parameters())
            x = SharedLinear.batched(x, *(weights[f"layers.{i}.{name}"] for name in names))
            x = self._activation(x)
            if self.dropout:
                x = functional.dropout(x, self.dropout, self.training)
        return x


class SubmodelOutput(nn.Module):
    """Last layer of a `BatchEnsembleMLP`: a linear one for each submodel.

    Parameters
    ----------
    n_in, n_out, submodels : int
        `n_out` outputs for each of K submodels.
    """

    def __init__(self, n_in: int, n_out: int, submodels: int) -> None:
        super().__init__()
        bound = 1.0 / math.sqrt(n_in)
        self.weight = nn.Parameter(torch.empty(submodels, n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(submodels * n_out))

    def forward(self, features: Tensor) -> Tensor:
        """Outputs (n, K n_out) of features (K, n, n_in)."""
        return self.batched(features[None], self.weight[None], self.bias[None])[0]

    @staticmethod
    def batched(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Outputs (M, n, K n_out) of features (M, K, n, n_in)."""
        return torch.matmul(features, weight).transpose(1, 2).flatten(2) + bias[:, None]

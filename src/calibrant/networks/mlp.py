"""Multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn


class MLP(nn.Sequential):
    """Multi-layer perceptron with ReLU and optional dropout: a body without its head.

    Parameters
    ----------
    n_features : int
        Width of the input; for sequences, steps times features.
    hidden : sequence of int
        Widths of the hidden layers; the last one is the width of the output.
    dropout : float, default 0
        Share of the units of each hidden layer that are dropped.
    """

    def __init__(
        self, n_features: int, hidden: Sequence[int] = (256, 256), dropout: float = 0.0
    ) -> None:
        layers: list[nn.Module] = []
        for before, after in pairwise([n_features, *hidden]):
            layers += [nn.Linear(before, after), nn.ReLU(inplace=True)]
            if dropout > 0:
                layers.append(nn.Dropout(dropout))
        super().__init__(*layers)

    def forward(self, input: Tensor) -> Tensor:
        """Features (n, hidden[-1]) of rows (n, n_features), or of sequences (n, steps, d)."""
        x = input.flatten(1)
        for layer in self:
            x = layer(x)
        return x

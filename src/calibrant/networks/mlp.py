"""Multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


class MLP(nn.Sequential):
    """Linear layers with ReLU between them: the body of a network, without its head.

    Parameters
    ----------
    n_features : int
        Width of the input.
    hidden : sequence of int
        Widths of the hidden layers; the last one is the width of the output.
    """

    def __init__(self, n_features: int, hidden: Sequence[int] = (256, 256)) -> None:
        widths = [n_features, *hidden]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU()]
        super().__init__(*layers)

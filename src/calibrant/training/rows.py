"""Rows of data as tensors."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Rows(NamedTuple):
    """Scaled inputs, scaled targets and weights of n rows, on one device."""

    x: Tensor  # (n, d)
    y: Tensor  # (n,)
    weight: Tensor  # (n,), of mean 1

    def take(self, index: Tensor) -> Rows:
        """Return the rows of an index tensor."""
        return Rows(self.x[index], self.y[index], self.weight[index])

"""Rows of data as tensors."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Rows(NamedTuple):
    """Scaled inputs, scaled targets and weights of rows on one device.

    All rows of a data set are (n, d), (n,) and (n,); a batch has the members in front, each
    with rows of its own: (M, b, d), (M, b) and (M, b).
    """

    x: Tensor
    y: Tensor
    weight: Tensor  # of mean 1 over the data set

    def take(self, index: Tensor) -> Rows:
        """Return the rows of an index tensor, (b,) or (M, b)."""
        return Rows(self.x[index], self.y[index], self.weight[index])

    def target_moments(self) -> tuple[float, float]:
        """Weighted mean and spread of the scaled targets; a spread of 0 counts as 1."""
        mean = float((self.weight * self.y).mean())
        return mean, float((self.weight * (self.y - mean) ** 2).mean().sqrt()) or 1.0

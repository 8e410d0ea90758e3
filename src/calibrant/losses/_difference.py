"""The two marginals that distribution matching compares, as one signed measure."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from calibrant.kernels import Kernel
from calibrant.losses._prediction import Prediction, score_rows


class Difference(NamedTuple):
    """Targets less predictions: point masses minus weighted normals, of total mass 0.

    A squared MMD is a quadratic form of it: the sum over pairs of the product of their masses
    times the kernel. B batches stand in front; n rows have n targets and n K normals.
    """

    y: Tensor  # (B, n)
    share: Tensor  # (B, n), mass of the targets, of sum 1
    means: Tensor  # (B, n, K)
    variances: Tensor  # (B, n, K)
    masses: Tensor  # (B, n, K), of sum -1

    @classmethod
    def of(cls, prediction: Prediction, y: Tensor, counts: Tensor) -> Difference:
        """Compare predictions (..., n, K) with targets; `counts` (..., n) weigh the rows."""
        share = counts / counts.sum(dim=-1, keepdim=True)
        rows, (n, k) = prediction.means.shape[:-1], prediction.means.shape[-2:]
        flat = [part.reshape(-1, n, k) for part in prediction]
        share = share.expand(rows).reshape(-1, n)
        return cls(
            y.expand(rows).reshape(-1, n), share, flat[1], flat[2], -share[..., None] * flat[0]
        )

    @torch.no_grad()
    def reach(self) -> tuple[float, float]:
        """Largest distance between two positions, and largest variance."""
        low = torch.minimum(self.y.min(), self.means.min())
        high = torch.maximum(self.y.max(), self.means.max())
        return float(high - low), float(self.variances.max())


def without_diagonal(
    value: Tensor, prediction: Prediction, y: Tensor, kernel: Kernel, counts: Tensor
) -> Tensor:
    """U-statistic of a V-statistic: take out the terms i = j, which are kernel scores."""
    share = counts / counts.sum(dim=-1, keepdim=True)
    scores = score_rows(prediction, y, kernel)
    return over_pairs(value - (share.square() * scores).sum(dim=-1), counts)


def over_pairs(value: Tensor, counts: Tensor) -> Tensor:
    """U-statistic of a sum over i != j whose masses add up to 1 over the rows."""
    share = counts / counts.sum(dim=-1, keepdim=True)
    pairs = 1.0 - share.square().sum(dim=-1)
    some = pairs > 1e-12  # a batch of one row has no pairs: its U-statistic is 0
    return torch.where(some, value / torch.where(some, pairs, 1.0), 0.0)

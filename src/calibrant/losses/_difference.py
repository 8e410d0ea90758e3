"""The two marginals that distribution matching compares, as one signed measure."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from calibrant.kernels import Kernel
from calibrant.losses._prediction import Prediction, score_rows

_SOME = 32  # targets that tell where the others are


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
        rows, (n, k) = prediction.means.shape[:-1], prediction.means.shape[-2:]
        weights, means, variances = (part.reshape(-1, n, k) for part in prediction)
        y, counts = (part.expand(rows).reshape(-1, n) for part in (y, counts))
        share = shares(counts).to(means.dtype)
        # Only distances count: from amidst the targets they keep their digits in float32. The
        # median of some of them, since one alone may lie far from all others.
        some = y[:, :: max(1, n // _SOME)].sort(dim=1).values
        origin = some[:, some.shape[1] // 2, None]
        return cls(
            y - origin, share, means - origin[..., None], variances, -share[..., None] * weights
        )

    @torch.no_grad()
    def ends(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest position of every batch, (B,) each."""
        low = torch.minimum(self.y.amin(dim=1), self.means.amin(dim=(1, 2)))
        high = torch.maximum(self.y.amax(dim=1), self.means.amax(dim=(1, 2)))
        return low, high

    @torch.no_grad()
    def reach(self) -> tuple[float, float]:
        """Largest distance between two positions of a batch, and largest variance.

        Batches with an infinite number or none do not count: the others must not suffer.
        """
        low, high = self.ends()
        both = torch.stack([high - low, self.variances.amax(dim=(1, 2))])
        finite = both.isfinite().all(dim=0)
        distance, variance = torch.where(finite, both, 0.0).amax(dim=1).tolist()
        return distance, variance


def without_diagonal(
    value: Tensor, prediction: Prediction, y: Tensor, kernel: Kernel, counts: Tensor
) -> Tensor:
    """U-statistic of a V-statistic: take out the terms i = j, which are kernel scores."""
    scores = score_rows(prediction, y, kernel)
    return over_pairs(value - (shares(counts).square() * scores).sum(dim=-1), counts)


def over_pairs(value: Tensor, counts: Tensor) -> Tensor:
    """U-statistic of a sum over i != j whose masses add up to 1 over the rows."""
    pairs = 1.0 - shares(counts).square().sum(dim=-1)
    # A batch of one row has no pairs, and one of no weight has none that count: 0.
    some = (pairs > 1e-12) & (counts.sum(dim=-1) > 0)
    return torch.where(some, value / torch.where(some, pairs, 1.0), 0.0)


def shares(counts: Tensor) -> Tensor:
    """Weights of the rows, (..., n), as shares of their sum; of nothing each has none."""
    total = counts.sum(dim=-1, keepdim=True)
    return counts / torch.where(total > 0, total, 1.0)

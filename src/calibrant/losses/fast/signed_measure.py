"""The two marginals that distribution matching compares, as one signed measure."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from calibrant.losses.prediction import Prediction

_LOCATING = 32  # targets whose median is the origin


class Extent(NamedTuple):
    """How far a measure reaches, which determines the resolution that it needs."""

    distance: float  # largest distance between two positions
    variance: float  # largest variance of a normal


class SignedMeasure(NamedTuple):
    """Targets minus predictions: point masses minus weighted normals, of total mass 0.

    A squared MMD is a quadratic form of it: the sum over pairs of the product of their masses
    times the kernel. It holds B batches of n rows, with n targets and n K normals each.
    """

    y: Tensor  # (B, n)
    y_masses: Tensor  # (B, n), of sum 1
    means: Tensor  # (B, n, K)
    variances: Tensor  # (B, n, K)
    masses: Tensor  # (B, n, K), of sum -1

    @classmethod
    def of(cls, prediction: Prediction, y: Tensor, row_weights: Tensor) -> SignedMeasure:
        """Measure of predictions (..., n, K), targets (..., n) and weights of rows (..., n)."""
        rows, (n, k) = prediction.means.shape[:-1], prediction.means.shape[-2:]
        weights, means, variances = (part.reshape(-1, n, k) for part in prediction)
        y, row_weights = (part.expand(rows).reshape(-1, n) for part in (y, row_weights))
        y_masses = shares(row_weights).to(means.dtype)
        # Only distances matter, and positions relative to a central target keep their digits in
        # float32. It is the median of some targets: a single one may be an outlier.
        some = y[:, :: max(1, n // _LOCATING)].sort(dim=1).values
        origin = some[:, some.shape[1] // 2, None]
        masses = -y_masses[..., None] * weights
        return cls(y - origin, y_masses, means - origin[..., None], variances, masses)

    @torch.no_grad()
    def limits(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest position of every batch, (B,) each."""
        low = torch.minimum(self.y.amin(dim=1), self.means.amin(dim=(1, 2)))
        high = torch.maximum(self.y.amax(dim=1), self.means.amax(dim=(1, 2)))
        return low, high

    @torch.no_grad()
    def extent(self) -> Extent:
        """Largest extent of the batches, without those that hold a value that is not finite."""
        low, high = self.limits()
        both = torch.stack([high - low, self.variances.amax(dim=(1, 2))])
        finite = both.isfinite().all(dim=0)
        distance, variance = torch.where(finite, both, 0.0).amax(dim=1).tolist()
        return Extent(distance, variance)


def u_statistic(off_diagonal: Tensor, total: Tensor, squares: Tensor) -> Tensor:
    """U-statistic, (...), of the sum over pairs i != j with row weights of sum 1.

    `total` and `squares` are the sums of the row weights and of their squares, (...).
    """
    pairs = 1.0 - squares / torch.where(total > 0, total, 1.0).square()
    # 0 for a batch of one row, which has no pairs, or of weight 0.
    some = (pairs > 1e-12) & (total > 0)
    return torch.where(some, off_diagonal / torch.where(some, pairs, 1.0), 0.0)


def shares(row_weights: Tensor) -> Tensor:
    """Weights of rows, (..., n), divided by their sum; all 0 where the sum is 0."""
    total = row_weights.sum(dim=-1, keepdim=True)
    return row_weights / torch.where(total > 0, total, 1.0)

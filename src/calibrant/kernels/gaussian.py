"""Sum of Gaussian kernels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from calibrant.errors import ParameterError


class GaussianKernel:
    """``k(a, b) = sum_h exp(-(a - b)^2 / (2 h))``.

    Parameters
    ----------
    bandwidths : sequence of float
        The h, positive, in squared units of the target.
    """

    def __init__(self, bandwidths: Sequence[float]) -> None:
        self.bandwidths = tuple(float(h) for h in bandwidths)
        if not self.bandwidths or not all(h > 0 for h in self.bandwidths):
            raise ParameterError(
                f"bandwidths must be a non-empty list of positive numbers, got {bandwidths!r}."
            )

    def expectation(self, distance: Tensor, variance: Tensor) -> Tensor:
        """``sum_h sqrt(h / (h + v)) exp(-d^2 / (2 (h + v)))``, of the broadcast shape."""
        squared = distance**2
        total = torch.zeros_like(squared)
        for h in self.bandwidths:
            wide = h + variance
            total = total + torch.sqrt(h / wide) * torch.exp(-0.5 * squared / wide)
        return total

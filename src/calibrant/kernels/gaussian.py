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

    def slopes(self, distance: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``sum_h r e - 1`` with ``r = sqrt(h / (h + v))``, ``e = exp(-d^2 r^2 / (2 h))``.

        The derivatives are ``-r^3 e d / h`` and ``r^3 e (d^2 r^2 / h - 1) / (2 h)``.
        """
        squared = distance * distance
        value = torch.zeros_like(squared + variance)
        by_distance, by_variance = torch.zeros_like(value), torch.zeros_like(value)
        for h in self.bandwidths:
            ratio = variance / h
            r = torch.rsqrt(1.0 + ratio)
            r2 = r * r
            exponent = squared * r2 / h
            less_one = torch.expm1(-0.5 * exponent)
            # r e - 1, of two small terms instead of a difference of two large ones
            value += r * less_one - ratio * r2 / (1.0 + r)
            density = (less_one + 1.0) * r * r2 / h
            by_distance -= density
            by_variance += density * (exponent - 1.0)
        return value, by_distance * distance, 0.5 * by_variance

"""Sum of Gaussian kernels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from calibrant.errors import ParameterError

# Logarithm of what counts as nothing: below float32's smallest normal number arithmetic is many
# times slower.
_NOTHING = -80.0


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
            exponent = ((-0.5 / wide) * squared).clamp_min(_NOTHING)
            total = total + torch.sqrt(h / wide) * torch.exp(exponent)
        return total

    def slopes(self, distance: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``sum_h e`` with ``q = 1 / (h + v)``, ``e = sqrt(h q) exp(-d^2 q / 2)``.

        The derivatives are ``-d sum_h q e`` and ``sum_h q e (d^2 q - 1) / 2``.
        """
        squared = distance * distance
        value, steep, curved = (torch.zeros_like(squared) for _ in range(3))
        for h in self.bandwidths:
            # q and its root are as small as `variance`, which broadcasts: one number a row
            # where the other side are points.
            q = 1.0 / (h + variance)
            exponent = squared * q
            e = (-0.5 * exponent).clamp_min_(_NOTHING).exp_().mul_(torch.sqrt(h * q))
            value += e
            e *= q
            steep += e
            curved.addcmul_(e, exponent)
        return value, -steep * distance, 0.5 * (curved - steep)

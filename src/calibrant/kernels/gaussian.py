"""Sum of Gaussian kernels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.kernels.kernel import Kernel

# Exponents are clamped here: arithmetic on numbers below float32's smallest normal one (e^-87) is
# many times slower.
_LOWEST_EXPONENT = -80.0


class GaussianKernel(Kernel):
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
        """``sum_h sqrt(h / (h + v)) exp(-d^2 / (2 (h + v)))``."""
        squared = distance**2
        total = torch.zeros_like(squared)
        for h in self.bandwidths:
            wide = h + variance
            exponent = ((-0.5 / wide) * squared).clamp_min(_LOWEST_EXPONENT)
            total = total + torch.sqrt(h / wide) * torch.exp(exponent)
        return total

    def value_and_grad(self, distance: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Closed form, with ``q = 1 / (h + v)`` and ``e = sqrt(h q) exp(-d^2 q / 2)``.

        The value is ``sum_h e``, its derivatives are ``-d sum_h q e`` and
        ``sum_h q e (d^2 q - 1) / 2``.
        """
        squared = distance * distance
        value, sum_qe, sum_qed = (torch.zeros_like(squared) for _ in range(3))
        for h in self.bandwidths:
            # q and its root have the shape of `variance`, which is the smaller one: one number
            # per row where the other side are points.
            q = 1.0 / (h + variance)
            exponent = squared * q
            e = (-0.5 * exponent).clamp_min_(_LOWEST_EXPONENT).exp_().mul_(torch.sqrt(h * q))
            value += e
            e *= q
            sum_qe += e
            sum_qed.addcmul_(e, exponent)
        return value, -sum_qe * distance, 0.5 * (sum_qed - sum_qe)

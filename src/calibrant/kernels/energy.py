"""The energy-distance kernel, whose kernel score is the CRPS."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from calibrant.kernels.kernel import Kernel

_TINY = 1e-30  # smallest variance: keeps the derivative of the root finite between points


class EnergyKernel(Kernel):
    """``k(a, b) = -|a - b|``, conditionally positive definite.

    It has no bandwidth. Its matching loss is the energy distance, its kernel score is twice the
    CRPS.
    """

    def expectation(self, distance: Tensor, variance: Tensor) -> Tensor:
        """``-E|D|``: minus ``d (2 Phi(d / s) - 1) + 2 s phi(d / s)`` with ``s^2 = v``."""
        return self.value_and_grad(distance, variance)[0]

    def value_and_grad(self, distance: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``-E|D|``, ``-(2 Phi(d / s) - 1)`` and ``-phi(d / s) / s``."""
        scale = torch.sqrt(variance.clamp_min(_TINY))
        z = distance / scale
        density = torch.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        spread = torch.erf(z / math.sqrt(2.0))
        return -(distance * spread + 2.0 * scale * density), -spread, -density / scale

"""Kernels on targets and on conditions, their Gaussian expectations, bandwidth rules.

The parametrisation of the whole library is written down here once: a bandwidth h divides the
squared distance as ``exp(-d^2 / (2 h))``, so h is in squared units of its argument.
"""

from calibrant.kernels.bandwidths import (
    ADAPTIVE_FACTORS,
    PUBLISHED_BANDWIDTHS,
    adaptive_bandwidths,
    median_rows,
    median_squared_distance,
)
from calibrant.kernels.condition import condition_kernel
from calibrant.kernels.energy import EnergyKernel
from calibrant.kernels.gaussian import GaussianKernel
from calibrant.kernels.kernel import Kernel

__all__ = [
    "ADAPTIVE_FACTORS",
    "PUBLISHED_BANDWIDTHS",
    "EnergyKernel",
    "GaussianKernel",
    "Kernel",
    "adaptive_bandwidths",
    "condition_kernel",
    "median_rows",
    "median_squared_distance",
]

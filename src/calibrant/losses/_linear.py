"""Marginal matching linear in n: which exact method for which kernel."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.kernels import EnergyKernel, GaussianKernel, Kernel
from calibrant.losses._device import in_triton
from calibrant.losses._difference import Difference
from calibrant.losses._energy import energy_v
from calibrant.losses._gridded import alike, gridded_v
from calibrant.losses._moments import has_few_moments, moments_v
from calibrant.losses._sorted import sorted_v
from calibrant.losses._spectral import count_waves, spectral_v, waves

_MOST_WAVES = 100  # of one kernel; above, a few dozen cells of a grid are cheaper
_MANY = 1 << 12  # rows from which on it pays to look for moments


def linear_v(difference: Difference, kernel: Kernel) -> Tensor:
    """Squared MMD of the marginals, V-statistic, (B,), in time and memory linear in n.

    Gaussian kernels go through characteristic functions, with many rows and wide kernels by way
    of moments, narrow kernels through a grid; the energy kernel sorts, in O(n log n). Numbers in
    float32 on a CUDA device go through characteristic functions in Triton.
    """
    if isinstance(kernel, GaussianKernel) and in_triton(difference.y):
        from calibrant.losses._triton_waves import waves_v

        return waves_v(difference, kernel)
    reach, variance = difference.reach()
    if isinstance(kernel, EnergyKernel):
        points = variance == 0
        return sorted_v(difference) if points else energy_v(difference, reach, variance)
    if not isinstance(kernel, GaussianKernel):
        raise ParameterError(
            'method="linear" needs Gaussian kernels or the energy kernel, got '
            f'{type(kernel).__name__}; use method="fused".'
        )
    many = difference.y.numel() >= _MANY
    values = []
    left = sorted(kernel.bandwidths)
    while left and count_waves(left[0], reach, variance) > _MOST_WAVES:
        on_grid = alike(left, variance)
        values.append(gridded_v(difference, on_grid, reach, variance))
        left = left[len(on_grid) :]
    in_moments, in_waves = [], []
    for h in left:
        if many and has_few_moments(h, reach, variance):
            in_moments.append(waves(h, reach, variance))
        else:
            in_waves.append(waves(h, reach, variance))
    if in_moments:
        values.append(moments_v(difference, in_moments, reach, variance))
    if in_waves:
        values.append(spectral_v(difference, in_waves))
    return torch.stack(values).sum(dim=0)

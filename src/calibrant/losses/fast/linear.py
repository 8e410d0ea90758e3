"""Marginal matching under Gaussian kernels in time linear in n: the rule for each bandwidth."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant.kernels import GaussianKernel
from calibrant.losses.fast.characteristic import characteristic_mmd
from calibrant.losses.fast.frequencies import count_frequencies, gaussian_frequencies
from calibrant.losses.fast.grid import grid_mmd, on_one_grid
from calibrant.losses.fast.power_series import has_short_series, power_series_mmd
from calibrant.losses.fast.signed_measure import SignedMeasure

_MOST_FREQUENCIES = 100  # of one kernel; above, a few dozen cells of a grid are cheaper
_MANY = 1 << 12  # targets from which on a power series is cheaper than its frequencies


def linear_mmd(measure: SignedMeasure, kernel: GaussianKernel) -> Tensor:
    """Squared MMD of the marginals, V-statistic, (B,), exact to about 1e-12.

    Narrow kernels go onto a grid, wide ones of many rows through power series, and the others
    through their frequencies.
    """
    extent = measure.extent()
    many = measure.y.numel() >= _MANY
    values = []
    left = sorted(kernel.bandwidths)
    while left and count_frequencies(left[0], extent) > _MOST_FREQUENCIES:
        narrow = on_one_grid(left, extent.variance)
        values.append(grid_mmd(measure, narrow, extent))
        left = left[len(narrow) :]
    wide = [h for h in left if many and has_short_series(h, extent)]
    others = [h for h in left if h not in wide]
    if wide:
        rules = [gaussian_frequencies(h, extent) for h in wide]
        values.append(power_series_mmd(measure, rules, extent))
    if others:
        rules = [gaussian_frequencies(h, extent) for h in others]
        values.append(characteristic_mmd(measure, rules))
    return torch.stack(values).sum(dim=0)

"""Distributions of torch as distributions of calibrant."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor
from torch.distributions import (
    Categorical,
    Gamma,
    Independent,
    MixtureSameFamily,
    Normal,
    StudentT,
)
from torch.distributions import Distribution as TorchDistribution

from calibrant.calibration.answers import LEVELS, quantiles_at
from calibrant.checks import Array
from calibrant.distributions import Distribution, Mixture
from calibrant.distributions import Normal as NormalRows
from calibrant.errors import ParameterError


def from_torch(dist: TorchDistribution) -> Distribution:
    """Return a torch distribution of n rows, (n,) or (n, 1), as one of calibrant.

    Normals and mixtures of normals are the same distributions; others become quantiles at 103
    levels.
    """
    while isinstance(dist, Independent):
        dist = dist.base_dist
    if isinstance(dist, Normal):
        return NormalRows(per_row(dist.loc), per_row(dist.scale))
    if isinstance(dist, MixtureSameFamily):
        mixing, parts = dist.mixture_distribution, dist.component_distribution
        if isinstance(mixing, Categorical) and isinstance(parts, Normal):
            return Mixture(*(_array(part) for part in (mixing.probs, parts.loc, parts.scale)))
    return quantiles_at(_quantiles(dist), LEVELS)


def per_row(values: Tensor) -> Array:
    """Return (n,) or (n, 1) numbers as an array (n,)."""
    array = _array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ParameterError(f"Expected one number per row, got shape {array.shape}.")
    return array


def _quantiles(dist: TorchDistribution) -> Array:
    """Quantiles of every row at `LEVELS`, (n, 103)."""
    if isinstance(dist, StudentT):
        parts = (per_row(part)[:, None] for part in (dist.df, dist.loc, dist.scale))
        return np.asarray(stats.t.ppf(LEVELS, *parts))
    if isinstance(dist, Gamma):
        shape, rate = (per_row(part)[:, None] for part in (dist.concentration, dist.rate))
        return np.asarray(stats.gamma.ppf(LEVELS, shape, scale=1.0 / rate))
    try:
        level = torch.as_tensor(LEVELS, dtype=torch.float32)
        return _array(torch.stack([dist.icdf(each).reshape(-1) for each in level], dim=1))
    except NotImplementedError as cause:
        raise ParameterError(
            f"{type(dist).__name__} has no quantile function (icdf) in torch. Return a Normal, a "
            "mixture of normals, or quantiles at levels instead."
        ) from cause


def _array(values: Any) -> Array:
    array: Array = values.detach().cpu().double().numpy()
    return array

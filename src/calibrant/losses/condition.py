"""The condition under which rows are compared: none, the input, or the prediction."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.kernels import median_squared_distance
from calibrant.losses.prediction import Prediction

Match = Literal["marginal", "joint", "distribution"]


def condition_of(match: Match, prediction: Prediction, x: Tensor | None) -> Tensor | None:
    """Condition z of every row, (..., n, d), in float64; None compares all rows alike."""
    if match == "marginal":
        return None
    if match == "joint":
        if x is None:
            raise ParameterError('match="joint" compares given the input: pass x, (n, d).')
        return x.detach().double()
    return _mean_and_log_spread(prediction).double()


def scaled_condition(z: Tensor, bandwidth: float | Tensor | None, batches: torch.Size) -> Tensor:
    """Condition in units in which its bandwidth is 1, (..., n, d).

    Parameters
    ----------
    z : tensor of shape (..., n, d)
    bandwidth : float, tensor of shape (M,) or None
        The h of ``K = exp(-|z - z'|^2 / (2 h))``, one for all or one for each of M batches; None
        is a tenth of the median squared distance in each batch.
    batches : shape of the batches of the predictions
    """
    # Squared distances of rows far from 0 would be differences of large numbers.
    z = z - z.mean(dim=-2, keepdim=True)
    if bandwidth is None:
        bandwidth = 0.1 * median_squared_distance(z)
    if not isinstance(bandwidth, Tensor):
        return z / math.sqrt(bandwidth)
    if bandwidth.ndim and bandwidth.shape not in (batches, z.shape[:-2]):
        raise ParameterError(
            "condition_bandwidth must be a number or one number for each batch, of shape "
            f"{tuple(batches)}, got shape {tuple(bandwidth.shape)}."
        )
    return z / bandwidth.to(z).sqrt()[..., None, None]


def _mean_and_log_spread(prediction: Prediction) -> Tensor:
    """Mean and logarithm of the standard deviation of every row, (..., n, 2)."""
    # Without gradient: moving conditions apart must not count as calibration.
    w, m, v = (part.detach() for part in prediction)
    mean = (w * m).sum(dim=-1)
    variance = (w * (v + m**2)).sum(dim=-1) - mean**2
    return torch.stack([mean, 0.5 * variance.log()], dim=-1)

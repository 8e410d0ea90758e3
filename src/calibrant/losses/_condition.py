"""What rows are compared given: nothing, the input, or the prediction."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.kernels import median_squared_distance
from calibrant.losses._prediction import Prediction

Match = Literal["marginal", "joint", "distribution"]


class Condition(NamedTuple):
    """Rows z and the bandwidth of ``K = exp(-|z - z'|^2 / (2 bandwidth))``, without gradient."""

    z: Tensor  # (..., n, d)
    bandwidth: float

    def of_batches(self, shape: torch.Size, dtype: torch.dtype) -> Condition:
        """Rows for batches of `shape` (..., n) that stand in one row, (B, n, d)."""
        z = self.z.to(dtype).expand(*shape, -1)
        return Condition(z.reshape(-1, *z.shape[-2:]), self.bandwidth)


def condition_of(
    match: Match, prediction: Prediction, x: Tensor | None, bandwidth: float | None
) -> Condition | None:
    """Condition of a batch; a bandwidth of None is a tenth of the median squared distance."""
    if match == "marginal":
        return None
    if match == "joint":
        if x is None:
            raise ParameterError('match="joint" compares given the input: pass x, (n, d).')
        z = x.detach()
    else:
        z = _moments(prediction)
    if bandwidth is None:
        bandwidth = 0.1 * median_squared_distance(z.reshape(-1, z.shape[-1]))
    # Squared distances of float32 rows far from 0 would be differences of large numbers.
    z = z.double()
    return Condition(z - z.mean(dim=-2, keepdim=True), bandwidth)


def _moments(prediction: Prediction) -> Tensor:
    """Mean and log spread of every row, (..., n, 2)."""
    # No gradient through the condition: moving apart must not count as calibration.
    w, m, v = (part.detach() for part in prediction)
    mean = (w * m).sum(dim=-1)
    variance = (w * (v + m**2)).sum(dim=-1) - mean**2
    return torch.stack([mean, 0.5 * variance.log()], dim=-1)

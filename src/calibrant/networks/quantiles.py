"""Head for quantiles that can't cross."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import torch
from torch import Tensor
from torch.distributions import Distribution as TorchDistribution
from torch.nn.functional import logsigmoid, softplus

from calibrant.checks import check_quantile_levels
from calibrant.distributions import Quantiles
from calibrant.distributions.logistic_pieces import LogisticPieces
from calibrant.networks.heads import to_numpy
from calibrant.persistence import savable_part

_LEAST_SLOPE = 1e-5  # in units of the scaled target: a density of 25,000 at the median


@cache  # a CUDA graph can't capture a copy from the host
def _like(values: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=device)


class LogisticSpline(TorchDistribution):
    """The distribution of `Quantiles` with gradients, for training the quantile head.

    Parameters
    ----------
    start : tensor of shape (..., n)
        Quantiles at the first knot.
    slopes : tensor of shape (..., n, K - 1)
        Slopes of the lines in the log-odds of the level, > 0.
    lines : LogisticPieces
    """

    arg_constraints = {}  # noqa: RUF012 (torch's way to turn checks off)

    def __init__(self, start: Tensor, slopes: Tensor, lines: LogisticPieces) -> None:
        super().__init__(start.shape, validate_args=False)
        self.slopes = slopes
        self._knots, self._ends, self._constants = (
            _like(tuple(each), slopes.dtype, slopes.device)
            for each in (lines.knots, lines.ends, lines.constants)
        )
        rise = (slopes * self._knots.diff()).cumsum(dim=-1)
        self.values = start[..., None] + torch.nn.functional.pad(rise, (1, 0))  # (..., n, K)

    def cdf(self, value: Tensor) -> Tensor:
        """Distribution function, (..., n): the sum over lines of their probability below value."""
        below = torch.sigmoid(self._log_odds(value)) - torch.sigmoid(self._ends[:-1])
        return below.sum(dim=-1)

    def crps(self, y: Tensor) -> Tensor:
        """Continuous ranked probability score, (..., n): the pinball loss of all levels.

        See `Quantiles` for the formula.
        """
        odds = self._log_odds(y)
        # minus the logarithm of the logistic density: finite and smooth at 0, unlike |odds|
        parts = -logsigmoid(odds) - logsigmoid(-odds) - self._constants
        return (self.slopes * parts).sum(dim=-1)

    def _log_odds(self, y: Tensor) -> Tensor:
        """Log-odds of y on every line, clipped to its ends, (..., n, K - 1)."""
        odds = self._knots[:-1] + (y[..., None] - self.values[..., :-1]) / self.slopes
        return torch.minimum(torch.maximum(odds, self._ends[:-1]), self._ends[1:])


@savable_part
@dataclass(frozen=True)
class QuantileHead:
    """Quantile at the middle level, and the slopes of the lines between the levels.

    Slopes go through softplus, so quantiles always increase with the level.

    Parameters
    ----------
    levels : tuple of float
        The K levels, strictly increasing inside (0, 1).
    """

    levels: tuple[float, ...]

    def __post_init__(self) -> None:
        check_quantile_levels(self.levels)

    @property
    def n_outputs(self) -> int:
        """One quantile and the slopes between neighbouring levels."""
        return len(self.levels)

    @cached_property
    def _lines(self) -> LogisticPieces:
        return LogisticPieces.between(check_quantile_levels(self.levels))

    @property
    def _middle(self) -> int:
        return self.n_outputs // 2

    def initial_bias(self, mean: float, spread: float) -> Tensor:
        """Outputs of a logistic distribution with this mean and spread."""
        slope = spread * math.sqrt(3.0) / math.pi
        bias = torch.full((self.n_outputs,), math.log(math.expm1(slope)))
        bias[0] = mean + slope * float(self._lines.knots[self._middle])
        return bias

    def torch_distribution(self, outputs: Tensor) -> LogisticSpline:
        """Distribution of batch shape (..., n); it has a `crps`."""
        slopes = softplus(outputs[..., 1:]) + _LEAST_SLOPE
        steps = _like(tuple(self._lines.knots), slopes.dtype, slopes.device).diff()
        below = (slopes * steps)[..., : self._middle].sum(dim=-1)
        return LogisticSpline(outputs[..., 0] - below, slopes, self._lines)

    def distribution(self, outputs: Tensor) -> Quantiles:
        """Quantiles of n rows."""
        return Quantiles(self.levels, to_numpy(self.torch_distribution(outputs).values))

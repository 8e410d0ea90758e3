"""The noise floor: calibration errors of a perfect forecaster on n rows."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, gamma

from calibrant.checks import Array
from calibrant.errors import ParameterError
from calibrant.metrics.calibration import LEVELS

SIMULATIONS = 8000
_SEED = 20200  # fixed, so that every call returns the same floor


@dataclass(frozen=True)
class NoiseFloor:
    """Calibration errors of a perfect forecaster on n rows.

    Attributes
    ----------
    n : int
    ecpe, mcpe : float
        Expected values, about 0.316 / sqrt(n) and 0.81 / sqrt(n).
    ecpe_range, mcpe_range : tuple of two floats
        5% and 95% quantiles over perfect forecasters.
    """

    n: int
    ecpe: float
    mcpe: float
    ecpe_range: tuple[float, float]
    mcpe_range: tuple[float, float]

    def explains(self, ecpe: float) -> bool:
        """Whether chance gives this ECPE, or more, to more than 5% of perfect forecasters."""
        return ecpe <= self.ecpe_range[1]

    def __str__(self) -> str:
        return (
            f"A perfect forecaster on {self.n:,} rows scores ECPE {self.ecpe:.4f} "
            f"({self.ecpe_range[0]:.4f} to {self.ecpe_range[1]:.4f}) and MCPE {self.mcpe:.4f} "
            f"({self.mcpe_range[0]:.4f} to {self.mcpe_range[1]:.4f})."
        )


def noise_floor(n: int) -> NoiseFloor:
    """Expected ECPE and MCPE of a perfect forecaster on n rows, with their 5-95% ranges.

    ``E mean_j |p_j - B_j / n|, B_j binomial (n, p_j)``

    About 0.316 / sqrt(n) for ECPE and, with the largest instead of the mean, 0.81 / sqrt(n) for
    MCPE: a score below it is luck, not skill.

    Parameters
    ----------
    n : int
        Number of test rows, at least 1.

    Notes
    -----
    The expected ECPE is exact; the rest comes from 8000 simulations with a fixed seed. Results
    are cached, and the cost does not grow with n.

    Examples
    --------
    >>> from calibrant.metrics import noise_floor
    >>> round(noise_floor(1914).ecpe, 4), round(noise_floor(1914).mcpe, 4)
    (0.0072, 0.0185)
    """
    try:
        rows = operator.index(n)
    except TypeError as error:
        raise ParameterError(f"n must be a whole number of rows, got {n!r}.") from error
    if rows < 1:
        raise ParameterError(f"n must be at least 1, got {rows}.")
    return _noise_floor(rows)


@lru_cache(maxsize=4096)
def _noise_floor(n: int) -> NoiseFloor:
    mean_errors, largest_errors = simulated_errors(n)
    return NoiseFloor(
        n=n,
        ecpe=float(expected_ecpe(n)),
        mcpe=float(largest_errors.mean()),
        ecpe_range=_range(mean_errors),
        mcpe_range=_range(largest_errors),
    )


def _range(values: Array) -> tuple[float, float]:
    low, high = np.quantile(values, [0.05, 0.95])
    return float(low), float(high)


@lru_cache(maxsize=64)
def simulated_errors(n: int) -> tuple[Array, Array]:
    """ECPE and MCPE of 8000 perfect forecasters on n rows, each (8000,).

    Only the counts of ``|2 u - 1|`` in 100 bins of equal probability matter, so they are drawn
    directly instead of n values of u.
    """
    rng = np.random.default_rng([_SEED, n])
    counts = rng.multinomial(n, np.full(100, 0.01), size=SIMULATIONS)
    errors = np.abs(np.cumsum(counts[:, :-1], axis=1) / n - LEVELS)  # (8000, 99)
    return errors.mean(axis=1), errors.max(axis=1)


def expected_ecpe(n: ArrayLike) -> Array:
    """Exact expected ECPE of a perfect forecaster, of the shape of n.

    Coverage at level p is a binomial share, and its mean absolute error has a closed form (De
    Moivre): ``E|X - n p| = 2 m (1 - p) P(X = m)`` with ``m = floor(n p) + 1``.
    """
    rows = np.asarray(n, dtype=np.int64)[..., None]
    m = rows * np.arange(1, 100) // 100 + 1  # in whole numbers: n * 0.29 may round below 29
    deviation = 2.0 * m * (1.0 - LEVELS) * binom.pmf(m, rows, LEVELS)
    result: Array = np.mean(deviation / rows, axis=-1)
    return result


def mean_ecpe_quantile(floors: Array, q: float) -> float:
    """Quantile of the mean ECPE of perfect forecasters over G independent groups.

    A gamma distribution with the right mean and variance. On many rows the coverage error is a
    Brownian bridge B over the levels, and ``int |B|`` has the mean sqrt(2 pi) / 8 and the
    variance 7 / 60 - pi / 32 (Shepp 1982).

    Parameters
    ----------
    floors : array of shape (G,)
        Expected ECPE of each group.
    """
    relative_variance = (7.0 / 60.0) / (np.pi / 32.0) - 1.0
    mean = floors.mean()
    variance = relative_variance * np.sum(floors**2) / len(floors) ** 2
    return float(gamma.ppf(q, mean**2 / variance, scale=variance / mean))


def binomial_band(n: ArrayLike, level: float | Array, confidence: float) -> tuple[Array, Array]:
    """Range of the empirical coverage of a calibrated level with this confidence.

    Pointwise, from binomial quantiles; n and level broadcast against each other.
    """
    tail = (1.0 - confidence) / 2.0
    rows = np.asarray(n)
    return binom.ppf(tail, rows, level) / rows, binom.ppf(1.0 - tail, rows, level) / rows

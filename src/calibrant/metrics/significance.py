"""The test whether miscalibration is larger than chance at this number of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kstest, kstwo, kstwobign

from calibrant.checks import Array, check_level
from calibrant.distributions import Distribution
from calibrant.metrics.calibration import LEVELS, target_pit_draws
from calibrant.metrics.floor import binomial_band, simulated_errors
from calibrant.metrics.formatting import p_value_text
from calibrant.metrics.pit_counts import PitCounts


@dataclass(frozen=True, eq=False)
class CalibrationTest:
    """Outcome of `calibration_test`.

    Attributes
    ----------
    n : int
    confidence : float
    ecpe, mcpe : float
    p_value : float
        Share of perfect forecasters whose ECPE on n rows is at least this large.
    mcpe_p_value : float
        The same for MCPE.
    pit_p_value : float
        Kolmogorov-Smirnov test of the PIT against the uniform distribution. It also detects
        errors that central intervals hide, such as a bias offset by too wide a spread.
    levels : array of shape (99,)
    coverage : array of shape (99,)
        Empirical coverage at each level.
    lower, upper : arrays of shape (99,)
        Pointwise band of the coverage of a perfect forecaster with the given confidence.

    Notes
    -----
    For distributions with atoms all figures are means over draws of the randomised PIT.
    """

    n: int
    confidence: float
    ecpe: float
    mcpe: float
    p_value: float
    mcpe_p_value: float
    pit_p_value: float
    levels: Array
    coverage: Array
    lower: Array
    upper: Array

    @property
    def reject(self) -> bool:
        """Whether chance alone is ruled out with the given confidence.

        Either the ECPE or the PIT test must fall below half of ``1 - confidence``, which keeps
        the false alarms of the two tests together below ``1 - confidence``.
        """
        return min(self.p_value, self.pit_p_value) < (1.0 - self.confidence) / 2.0

    def __str__(self) -> str:
        found = "Miscalibrated" if self.reject else "No evidence of miscalibration"
        return (
            f"{found} at {self.confidence:.0%} confidence on {self.n:,} rows: "
            f"ECPE {self.ecpe:.4f} ({p_value_text(self.p_value)}), MCPE {self.mcpe:.4f} "
            f"({p_value_text(self.mcpe_p_value)}), PIT {p_value_text(self.pit_p_value)}."
        )


def calibration_test(
    dist: Distribution, y: ArrayLike, *, confidence: float = 0.95
) -> CalibrationTest:
    """Test whether the miscalibration is larger than a perfect forecaster shows by chance.

    ``p = P(ECPE of a perfect forecaster on n rows >= ECPE)``

    The probability comes from 8000 simulated perfect forecasters, beside a Kolmogorov-Smirnov
    test that the PIT values are uniform; rows must be independent given the forecasts.

    Parameters
    ----------
    confidence : float
        Of the decision ``reject`` and of the coverage bands.

    Notes
    -----
    Overlapping forecasts of a time series are not independent: their p-values are too small.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import calibration_test
    >>> y = np.random.default_rng(0).normal(size=2000)
    >>> calibration_test(Normal(np.zeros(2000), np.ones(2000)), y).reject
    False
    >>> calibration_test(Normal(np.zeros(2000), np.full(2000, 0.8)), y).reject
    True
    """
    draws = target_pit_draws(dist, y)
    return pit_calibration_test(draws, check_level(confidence, "confidence"))


def pit_calibration_test(pit: Array, confidence: float) -> CalibrationTest:
    """Test PIT values, (n,), or the mean result of several draws of them, (R, n)."""
    draws = np.atleast_2d(pit)
    distances = np.array([kstest(u, "uniform", method="asymp").statistic for u in draws])
    return counted_calibration_test(PitCounts.of(draws, confidence), distances, confidence)


def counted_calibration_test(
    counts: PitCounts, distances: Array, confidence: float
) -> CalibrationTest:
    """Test counts of draws of PIT values, and their distances from uniform, (R,)."""
    n, ecpe, mcpe = counts.n, counts.ecpe, float(counts.errors.max(axis=1).mean())
    mean_errors, largest_errors = simulated_errors(n)
    lower, upper = binomial_band(n, LEVELS, confidence)
    return CalibrationTest(
        n=n,
        confidence=confidence,
        ecpe=ecpe,
        mcpe=mcpe,
        p_value=_p_value(ecpe, mean_errors),
        mcpe_p_value=_p_value(mcpe, largest_errors),
        pit_p_value=float(np.mean(_uniformity_p_value(distances, n))),
        levels=LEVELS,
        coverage=counts.curves.mean(axis=0),
        lower=lower,
        upper=upper,
    )


def holm(p_values: Array) -> Array:
    """P-values adjusted for their number by the method of Holm, in the same order."""
    order = np.argsort(p_values)
    scaled = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def _uniformity_p_value(distances: Array, n: int) -> Array:
    """P-values of Kolmogorov-Smirnov distances."""
    # The exact distribution costs time in proportion to n; for many rows the limit is as good.
    exact = n < 10_000
    values = kstwo.sf(distances, n) if exact else kstwobign.sf(distances * np.sqrt(n))
    return np.clip(np.asarray(values, dtype=np.float64), 0.0, 1.0)


def _p_value(observed: float, simulated: Array) -> float:
    # The observed value counts as one more draw: a p-value of zero would claim too much. Errors
    # on few rows tie; the tolerance keeps rounding from breaking ties.
    as_large = np.count_nonzero(simulated >= observed - 1e-12)
    return float((1 + as_large) / (1 + len(simulated)))

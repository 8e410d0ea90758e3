"""What figures need of a forecast, from a distribution or from its evaluation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.errors import DataError
from calibrant.metrics import Evaluation
from calibrant.metrics.calibration import pit_bounds, pit_draws
from calibrant.metrics.inputs import check_dist, check_target

Forecast = Distribution | Evaluation


def pit_draws_of(forecast: Forecast, y: ArrayLike | None) -> Array:
    """Draws of the PIT values, (R, n); an Evaluation has its targets and values already."""
    if isinstance(forecast, Evaluation):
        return forecast.rows.pit_draws()
    check_dist(forecast)
    if y is None:
        raise DataError("y is None, but the figure needs the observed targets of a distribution.")
    return pit_draws(*pit_bounds(forecast, check_target(forecast, y)))


def interval_of(forecast: Forecast, coverage: float) -> Array:
    """Central interval of each row, (n, 2); that of an Evaluation if it is of this coverage."""
    if not isinstance(forecast, Evaluation):
        check_dist(forecast)
        return forecast.interval(coverage)
    if forecast.level == coverage:
        return forecast.rows.interval
    return forecast.rows.dist.interval(coverage)

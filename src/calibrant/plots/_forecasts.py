"""Arguments that figures share: forecasts, as distributions or evaluations, and bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import Evaluation
from calibrant.metrics.calibration import target_pit_draws
from calibrant.metrics.inputs import check_dist

Forecast = Distribution | Evaluation


def named_forecasts(forecasts: Any, figure: str) -> dict[str, Any]:
    """Forecasts by name; a single one has the name ""."""
    named = dict(forecasts) if isinstance(forecasts, Mapping) else {"": forecasts}
    if not named:
        raise ParameterError(f"{figure} needs at least one forecast, got an empty mapping.")
    return named


def check_band(band: float | None) -> None:
    """Raise an error about a band that is neither None nor a share of perfect forecasters."""
    if band is not None and not 0 < band < 1:
        raise ParameterError(f"band must be in (0, 1) or None, got {band}.")


def pit_draws_of(forecast: Forecast, y: ArrayLike | None) -> Array:
    """Draws of the PIT values, (R, n); an Evaluation has its targets and values already."""
    if isinstance(forecast, Evaluation):
        return forecast.rows.pit_draws()
    check_dist(forecast)
    if y is None:
        raise DataError("y is None, but the figure needs the observed targets of a distribution.")
    return target_pit_draws(forecast, y)


def interval_of(forecast: Forecast, coverage: float) -> Array:
    """Central interval of each row, (n, 2); that of an Evaluation if it is of this coverage."""
    if not isinstance(forecast, Evaluation):
        check_dist(forecast)
        return forecast.interval(coverage)
    if forecast.level == coverage:
        return forecast.rows.interval
    return forecast.rows.dist.interval(coverage)

"""Checks of a forecaster's parameters and of the series it is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.checks import Flags, Index
from calibrant.errors import DataError, ParameterError
from calibrant.estimators.bounds import Bounds, check_bounds
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.recalibration import AdaptiveRecalibrator

_LEAST_VALUES = 2  # of a series, to have a level and a spread


def check_parameters(window: Any, horizon: Any, recalibrate: Any, bounds: Bounds | None) -> None:
    """Check what does not depend on the series."""
    for name, value in (("window", window), ("horizon", horizon)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}.")
    check_bounds(bounds)
    known = recalibrate in (None, "adaptive")
    if not known and not isinstance(recalibrate, AdaptiveRecalibrator):
        raise ParameterError(
            f'recalibrate must be "adaptive", None or an AdaptiveRecalibrator, got {recalibrate!r}.'
        )


def checked_steps(fh: Any, horizon: int) -> list[int]:
    """Return the steps ahead as a list."""
    steps = np.atleast_1d(np.asarray(fh))
    if steps.ndim != 1 or not len(steps) or not np.issubdtype(steps.dtype, np.integer):
        raise ParameterError(f"fh must be a number of steps ahead, or a list of them, got {fh!r}.")
    if steps.min() < 1 or steps.max() > horizon:
        raise ParameterError(
            f"fh must lie between 1 and the horizon {horizon}, got {steps.min()} to {steps.max()}. "
            "Fit with a larger horizon to look further ahead."
        )
    return [int(step) for step in steps]


def check_one_target(series: SeriesFrame) -> None:
    """Check that y has one column, which is all that an estimator predicts."""
    names = list(series.targets.columns)
    if len(names) != 1:
        raise DataError(
            f"y must have one column besides series and time, got {len(names)}: "
            f"{', '.join(names)}. Pass the others as X, or use the GlobalNetwork."
        )


def check_length(series: SeriesFrame, window: int, horizon: int) -> None:
    """Check that the longest series has room for a window and its targets."""
    longest, needed = int(_rows(series).max()), window + horizon
    if longest >= needed:
        return
    who = "The longest series" if len(series.ids) > 1 else "The series"
    if longest <= horizon:
        raise DataError(
            f"{who} has {longest} rows, too few for a horizon of {horizon}: a forecast that far "
            "ahead has no outcome to learn from. Use a smaller horizon or a longer series."
        )
    raise DataError(
        f"{who} has {longest} rows: a window of {window} with its target {horizon} ahead takes "
        f"{needed}. Use a longer series, or a smaller window or horizon."
    )


def check_values(series: SeriesFrame) -> None:
    """Check that every target of every series has values."""
    series = series.stacked()
    known = np.bincount(series.code[np.isfinite(series.y)], minlength=len(series.ids))
    few = known < _LEAST_VALUES
    if few.any():
        raise DataError(
            f"Every series needs at least {_LEAST_VALUES} values of its target: "
            f"{_named(series, few)} has {known[few][0]} in {_rows(series)[few][0]} rows. Leave it "
            "out, or check the column that y was read from."
        )


def check_windows(series: SeriesFrame, window: int) -> None:
    """Check that every series is as long as a window, which estimators can't do without."""
    rows = _rows(series)
    short = rows < window
    if short.any():
        raise DataError(
            f"Every series needs at least the {window} rows of a window: {_named(series, short)} "
            f"has {rows[short][0]}. Leave it out, use a smaller window, or use the GlobalNetwork, "
            "which pads short series."
        )


def _rows(series: SeriesFrame) -> Index:
    """Number of rows of each series, (n_series,)."""
    return np.bincount(series.code, minlength=len(series.ids))


def _named(series: SeriesFrame, which: Flags) -> str:
    """The first series of a mask, and how many there are besides."""
    names = [repr(series.ids[at]) for at in np.flatnonzero(which)]
    if names == ["None"]:
        return "this one"
    return names[0] if len(names) == 1 else f"{names[0]}, the first of {len(names)} such series,"

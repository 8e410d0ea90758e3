"""Sums of forecasts: over the steps of a period, and over the series of a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array, Index
from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._dependence import MOST_SERIES
from calibrant.forecasting.series_frame import SeriesFrame


@dataclass(frozen=True)
class Totals:
    """Which steps of which series are added.

    Parameters
    ----------
    groups : for each series a list of positions, the steps of each of its sums
    n_added : int, optional
        Series of a panel whose sums are added, target by target; None keeps series apart.
    """

    groups: list[list[Index]]
    n_added: int | None = None

    @classmethod
    def of_periods(
        cls, series: SeriesFrame, steps: list[int], total: str, n_added: int | None
    ) -> Totals:
        """Sums over all steps ("horizon") or over those of each day, week, ..."""
        _, tick = series.next_rows(steps)
        groups = []
        for row in tick.reshape(len(series.ids), len(steps)):
            periods = _periods(series.clock.stamps(row), total)
            groups.append([np.flatnonzero(periods == each) for each in periods.unique()])
        return cls(groups, n_added)

    def of(self, paths: Array) -> Array:
        """Sums of joint paths, (rows, k): those of the first series, then of the second.

        Parameters
        ----------
        paths : array of shape (k, n, H)
        """
        sums = np.stack(
            [paths[:, at, group].sum(axis=1) for at, own in enumerate(self.groups) for group in own]
        )
        if self.n_added is None:
            return sums
        return np.asarray(sums.reshape(self.n_added, -1, sums.shape[1]).sum(axis=0))

    def index(self, index: pd.Index[Any]) -> pd.Index[Any]:
        """First time stamp of each sum; sums across series have no series.

        Parameters
        ----------
        index : of all steps of the first series, then of the second
        """
        steps = len(index) // len(self.groups)
        first = [at * steps + group[0] for at, own in enumerate(self.groups) for group in own]
        found = index.take(np.array(first))
        if self.n_added is None:
            return found
        assert isinstance(found, pd.MultiIndex)
        return found[: len(found) // self.n_added].droplevel(0)


def check_sums_across(series: SeriesFrame, correlation: Array | None) -> None:
    """Check that sums across the series of a panel are defined."""
    last = series.last_ticks()
    if (last != last[0]).any():
        other = int(np.flatnonzero(last != last[0])[0])
        first, second = series.clock.stamps(last[[0, other]])
        raise DataError(
            "Sums across series need series that end at the same time, but "
            f"{series.ids[0]!r} ends at {first} and {series.ids[other]!r} at {second}. Update the "
            "shorter ones first."
        )
    if correlation is None:
        raise DataError(
            f"Sums across series need their dependence, which is estimated for up to "
            f"{MOST_SERIES:,} series and targets; here are {len(series.ids):,}. Forecast their "
            "sum as a series of its own."
        )


def _periods(stamps: pd.Index[Any], total: str) -> pd.Index[Any]:
    """Number of the sum that each of H stamps belongs to, (H,)."""
    if total == "horizon":
        return pd.Index(np.zeros(len(stamps), np.intp))
    if not isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex):
        raise DataError(
            f"total={total!r} needs time stamps, but the rows of the series are only numbered: "
            'use total="horizon".'
        )
    if isinstance(stamps, pd.PeriodIndex):
        times = stamps.to_timestamp(how="end")
    else:
        times = stamps.tz_localize(None)  # calendar days, of 23 or 25 hours as well
    try:
        # As `resample`: a period of pandas would begin "6h" at every hour.
        by = pd.Grouper(freq=_offset(total))
        return pd.Index(pd.Series(0, index=times).groupby(by).ngroup())
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise ParameterError(
            'total must be "horizon" or a frequency of pandas such as "D", "6h" or "ME", got '
            f"{total!r}."
        ) from error


def _offset(frequency: str) -> Any:
    """Offset of a frequency, of which pandas also has older names, those of periods: "M"."""
    try:
        return pd.tseries.frequencies.to_offset(frequency)
    except ValueError:
        return pd.Period("2000", freq=frequency).freq

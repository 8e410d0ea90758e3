"""The regular time grid of a series: time stamps as whole numbers and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.errors import DataError
from calibrant.persistence import savable_part

Ticks = NDArray[np.int64]

DAY = 86_400_000_000_000  # nanoseconds
# Calendar grids, whose ticks differ in length, and how many stamps must lie on one to show it.
_GRIDS = {
    "month start": (pd.offsets.MonthBegin(), 2),
    "month end": (pd.offsets.MonthEnd(), 2),
    "business day": (pd.offsets.BusinessDay(), 10),
}
Unit = Literal["integer", "nanosecond", "month start", "month end", "business day"]


@savable_part
@dataclass(frozen=True)
class Clock:
    """Time stamps as integer ticks; neighbouring rows of a series are `step` ticks apart.

    Parameters
    ----------
    unit : {"integer", "nanosecond", "month start", "month end", "business day"}
        What a tick is. Quarters and years are multiples of months.
    step : int
        Ticks between neighbouring rows.
    zone : str or None
        Time zone of the stamps. Steps below a day count elapsed time, longer ones the wall clock,
        so that a day of 23 hours is a day.
    period : str or None
        Frequency of a PeriodIndex; a period counts from its start.
    origin : str
        Tick 0 of months and business days.
    """

    unit: Unit
    step: int
    zone: str | None = None
    period: str | None = None
    origin: str = ""

    @classmethod
    def infer(cls, stamps: pd.Index[Any], code: NDArray[np.intp]) -> Self:
        """Infer the clock from stamps that are sorted within each series.

        Parameters
        ----------
        stamps : DatetimeIndex, PeriodIndex or integer index of length n
        code : array of shape (n,)
            Series of each stamp.
        """
        if not isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex):
            return cls("integer", 1)._with_common_step(stamps, code)
        zone, period = _kind(stamps)
        wall = _wall_times(stamps)
        for unit, (_, least) in _GRIDS.items():
            if len(wall) < least:
                continue
            clock = cls(cast(Unit, unit), 1, zone, period, str(wall.min()))
            ticks = clock._grid_positions(wall)
            if np.any(ticks < 0):
                continue
            if unit != "business day":
                return clock._with_common_step(stamps, code)
            if _most_common(_differences(ticks, code))[0] == 1:
                return clock
        elapsed = cls("nanosecond", 1, zone, period)._with_common_step(stamps, code)
        if zone is None or elapsed.step < DAY - DAY // 24:
            return elapsed
        return cls("nanosecond", DAY, zone, period)._with_common_step(stamps, code)

    def ticks(self, stamps: pd.Index[Any]) -> Ticks:
        """Ticks of n stamps, (n,); stamps of another kind or off the grid are an error."""
        self._check_kind(stamps)
        if self.unit == "integer":
            return np.asarray(stamps, dtype=np.int64)
        if self.unit == "nanosecond":
            times = _timestamps(stamps) if self._counts_elapsed_time else _wall_times(stamps)
            return np.asarray(times.as_unit("ns").asi8, dtype=np.int64)
        ticks = self._grid_positions(_wall_times(stamps))
        if np.any(ticks < 0):
            raise DataError(
                f"The time stamp {stamps[int(np.argmax(ticks < 0))]} is off the grid of the "
                f"series, one row every {self.span(self.step)}. Move the stamps onto the grid, or "
                "resample the series."
            )
        return ticks

    def stamps(self, ticks: Ticks) -> pd.Index[Any]:
        """Stamps of n ticks, as the series has them: integers, time stamps or periods."""
        if self.unit == "integer":
            return pd.Index(ticks)
        if self.unit == "nanosecond":
            times = pd.DatetimeIndex(ticks.astype("datetime64[ns]"))
        else:
            offset, first = _GRIDS[self.unit][0], int(ticks.min(initial=0))
            periods = int(ticks.max(initial=0)) - first + 1
            start = pd.Timestamp(self.origin) + first * offset
            times = pd.date_range(start, periods=periods, freq=offset)[ticks - first]
        if self.zone is not None and self._counts_elapsed_time:
            return times.tz_localize("UTC").tz_convert(self.zone)
        if self.zone is not None:
            return times.tz_localize(self.zone, nonexistent="shift_forward", ambiguous=True)
        return times if self.period is None else times.to_period(self.period)

    def span(self, ticks: int) -> str:
        """Describe a number of ticks, for example "307 days 12:00:00"."""
        if self.unit == "nanosecond":
            return str(pd.Timedelta(ticks, "ns")).removesuffix(" 00:00:00")
        noun = {"integer": "row", "business day": "business day"}.get(self.unit, "month")
        return f"{ticks} {noun}{'' if ticks == 1 else 's'}"

    @property
    def season(self) -> int:
        """Rows per season: a day for steps below a day, else a week or a year; 1 for neither."""
        per_year = {"month start": 12, "month end": 12}
        if self.unit in per_year:
            return max(1, per_year[self.unit] // self.step)
        if self.unit == "business day":
            return 5 if self.step == 1 else 1
        if self.unit == "integer":
            return 1
        cycle = DAY if self.step < DAY else 7 * DAY
        return cycle // self.step if cycle % self.step == 0 else 1

    def is_day(self, rows: int) -> bool:
        """Whether so many rows are a day."""
        return self.unit == "nanosecond" and rows * self.step == DAY

    @property
    def _counts_elapsed_time(self) -> bool:
        return self.unit == "nanosecond" and self.step < DAY

    def _grid_positions(self, wall: pd.DatetimeIndex) -> Ticks:
        """Positions on the grid of the unit, (n,); -1 for stamps that are not on it."""
        end = wall.max() if len(wall) else pd.Timestamp(self.origin)
        grid = pd.date_range(self.origin, end, freq=_GRIDS[self.unit][0])
        return np.asarray(grid.get_indexer(wall), dtype=np.int64)

    def _with_common_step(self, stamps: pd.Index[Any], code: NDArray[np.intp]) -> Self:
        """Return the clock with the spacing that most neighbouring stamps have."""
        differences = _differences(self.ticks(stamps), code)
        if not len(differences):
            raise DataError(
                "The time between rows can't be inferred from fewer than 2 different time stamps."
            )
        step, share = _most_common(differences)
        if share < 0.5:
            raise DataError(
                f"The series has no regular spacing: the most common one, {self.span(step)}, "
                f"separates only {share:.0%} of its rows. Resample it to a fixed frequency, or "
                "pass an array to treat the rows as equally spaced."
            )
        return replace(self, step=step)

    def _check_kind(self, stamps: pd.Index[Any]) -> None:
        dated = isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex)
        if dated != (self.unit != "integer") or _kind(stamps) != (self.zone, self.period):
            expected = "whole numbers" if self.unit == "integer" else "dates"
            if self.period is not None:
                expected = f"periods of frequency {self.period}"
            elif self.zone is not None:
                expected = f"dates in the time zone {self.zone}"
            raise DataError(
                "The time stamps are of another kind than those of the fit: expected "
                f"{expected}, got {stamps.dtype}. Use the same type of index."
            )


def _kind(stamps: Any) -> tuple[str | None, str | None]:
    """Return time zone and period frequency, None where there is none."""
    zone = getattr(stamps, "tz", None)
    period = stamps.freqstr if isinstance(stamps, pd.PeriodIndex) else None
    return None if zone is None else str(zone), period


def _timestamps(stamps: Any) -> Any:
    return stamps.to_timestamp() if isinstance(stamps, pd.PeriodIndex) else stamps


def _wall_times(stamps: pd.Index[Any]) -> pd.DatetimeIndex:
    times: pd.DatetimeIndex = _timestamps(stamps).tz_localize(None)
    return times


def _differences(ticks: Ticks, code: NDArray[np.intp]) -> Ticks:
    """Positive differences between neighbouring rows of the same series."""
    steps: Ticks = np.diff(ticks)[np.diff(code) == 0]
    return steps[steps > 0]


def _most_common(values: Ticks) -> tuple[int, float]:
    """Return the most common value and its share."""
    found, counts = np.unique(values, return_counts=True)
    if not len(found):
        return 0, 0.0
    return int(found[counts.argmax()]), float(counts.max() / len(values))

"""The clock of a series: which stamp follows which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.errors import DataError

Ticks = NDArray[np.int64]

DAY = 86_400_000_000_000  # nanoseconds
_LEAST_BUSINESS_DAYS = 10  # this many weekdays and no weekend day: a series of business days


@dataclass(frozen=True)
class Clock:
    """Time stamps as whole numbers, the ticks; one step ahead is always `step` ticks.

    Parameters
    ----------
    unit : {"integer", "nanosecond", "business day", "month"}
        What a tick is. Months differ in length and weekends are no gap, so that series of months
        (quarters, years) and of business days have ticks of their own.
    step : int
        Ticks between neighbours of the series.
    zone : str or None
        Time zone of the stamps. Steps below a day count elapsed time, longer ones the wall clock.
    period : str or None
        Frequency of the index, where it holds periods; a period is stamped at its start.
    at_end : bool
        Whether months are stamped at their last day.
    daytime : int
        Nanoseconds since midnight of stamps whose ticks are days or months.
    """

    unit: Literal["integer", "nanosecond", "business day", "month"]
    step: int
    zone: str | None = None
    period: str | None = None
    at_end: bool = False
    daytime: int = 0

    @classmethod
    def infer(cls, stamps: pd.Index[Any], codes: NDArray[np.intp]) -> Self:
        """Find the clock of stamps that are sorted within each series.

        Parameters
        ----------
        stamps : index of n stamps or whole numbers
        codes : array of shape (n,)
            Which series a stamp belongs to.
        """
        if not isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex):
            return cls("integer", _common_step(stamps.to_numpy(np.int64), codes, str))
        period = stamps.freqstr if isinstance(stamps, pd.PeriodIndex) else None
        times = stamps.to_timestamp() if isinstance(stamps, pd.PeriodIndex) else stamps
        zone = None if times.tz is None else str(times.tz)
        local = times if times.tz is None else times.tz_localize(None)
        days, daytime = local.normalize(), _nanoseconds(local - local.normalize())
        if np.all(daytime == daytime[:1]) and len(days):
            same: dict[str, Any] = {"zone": zone, "period": period, "daytime": int(daytime[0])}
            at_start, at_end = bool(days.is_month_start.all()), bool(days.is_month_end.all())
            if (at_start or at_end) and len(days) > 1:
                clock = cls("month", 1, at_end=at_end and not at_start, **same)
                return clock._with_step(_common_step(clock.ticks(stamps), codes, _in_months))
            if len(days) >= _LEAST_BUSINESS_DAYS and int(days.day_of_week.max()) < 5:
                weekdays = cls("business day", 1, **same)
                if _mode(_differences(weekdays.ticks(stamps), codes))[0] == 1:
                    return weekdays
        clock = cls("nanosecond", 1, zone, period)
        step = _common_step(clock.ticks(stamps), codes, _in_time)
        if zone is not None and step >= DAY - DAY // 24:  # a day of 23 hours is a day
            clock = cls("nanosecond", DAY, zone, period)
            step = _common_step(clock.ticks(stamps), codes, _in_time)
        return clock._with_step(step)

    def ticks(self, index: pd.Index[Any]) -> Ticks:
        """Ticks of stamps, (n,); complains of stamps that this clock never shows."""
        stamps: Any = index
        if self.unit == "integer":
            self._check(not isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex), stamps)
            return np.asarray(stamps, dtype=np.int64)
        self._check(isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex), stamps)
        if isinstance(stamps, pd.PeriodIndex):
            self._check(stamps.freqstr == self.period, stamps)
            stamps = stamps.to_timestamp()
        zone = None if stamps.tz is None else str(stamps.tz)
        self._check(zone == self.zone, stamps)
        local = stamps
        if zone is not None and (self.unit != "nanosecond" or self.step >= DAY):
            local = stamps.tz_localize(None)
        if self.unit == "nanosecond":
            return _nanoseconds(local)
        ticks = self._days_or_months(local)
        off = np.flatnonzero(np.asarray(self.stamps(ticks) != self._shown(stamps)))
        if len(off):
            raise DataError(
                f"The time stamp {stamps[off[0]]} is off the grid of the series, one row every "
                f"{self.span(self.step)}. Bring the stamps onto the grid, or resample the series."
            )
        return ticks

    def stamps(self, ticks: Ticks) -> pd.Index[Any]:
        """Stamps of ticks: whole numbers, time stamps or periods, as the series has them."""
        if self.unit == "integer":
            return pd.Index(ticks)
        if self.unit == "nanosecond":
            times = pd.DatetimeIndex(ticks.astype("datetime64[ns]"))
            if self.zone is not None and self.step < DAY:
                return times.tz_localize("UTC").tz_convert(self.zone)
        else:
            times = pd.DatetimeIndex(self._midnights(ticks) + self.daytime)
        if self.zone is not None:
            return times.tz_localize(self.zone, nonexistent="shift_forward", ambiguous=True)
        return times.to_period(self.period) if self.period is not None else times

    def span(self, ticks: int) -> str:
        """Return a number of ticks in words, such as "307 days 12:00:00"."""
        if self.unit == "nanosecond":
            return _in_time(ticks)
        if self.unit == "month":
            return _in_months(ticks)
        return f"{ticks} {'business days' if self.unit == 'business day' else 'rows'}"

    def _days_or_months(self, local: Any) -> Ticks:
        if self.unit == "month":
            return np.asarray(12 * local.year + local.month - 1, dtype=np.int64)
        days = local.normalize().to_numpy().astype("datetime64[D]")
        return np.asarray(np.busday_count("1970-01-01", days), dtype=np.int64)

    def _midnights(self, ticks: Ticks) -> NDArray[np.datetime64]:
        if self.unit == "month":
            month = (ticks - 12 * 1970 + self.at_end).astype("datetime64[M]")
            days = month.astype("datetime64[D]") - int(self.at_end)
        else:
            days = np.busday_offset(np.datetime64("1970-01-01"), np.asarray(ticks))
        return days.astype("datetime64[ns]")

    def _shown(self, stamps: pd.Index[Any]) -> pd.Index[Any]:
        return stamps.to_period(self.period) if self.period is not None else stamps  # type: ignore[attr-defined]

    def _with_step(self, step: int) -> Self:
        return type(self)(self.unit, step, self.zone, self.period, self.at_end, self.daytime)

    def _check(self, fits: bool, stamps: pd.Index[Any]) -> None:
        if not fits:
            raise DataError(
                f"The time stamps are of another kind than those of the fit: got {stamps.dtype} "
                f"for a series with ticks of one {self.unit}"
                f"{'' if self.zone is None else f' in {self.zone}'}. Use the same index type."
            )


def _common_step(ticks: Ticks, codes: NDArray[np.intp], describe: Any) -> int:
    """Return the spacing that most neighbours have."""
    differences = _differences(ticks, codes)
    if not len(differences):
        raise DataError(
            "The time between rows can't be told from fewer than 2 different time stamps."
        )
    step, share = _mode(differences)
    if share < 0.5:
        raise DataError(
            f"The series has no regular spacing: the most common one, {describe(step)}, fits "
            f"{share:.0%} of its rows only. Resample it to a fixed frequency, or pass an array if "
            "rows are to count as equally spaced."
        )
    return step


def _differences(ticks: Ticks, codes: NDArray[np.intp]) -> Ticks:
    steps = np.diff(ticks)[np.diff(codes) == 0]
    forward: Ticks = steps[steps > 0]
    return forward


def _mode(values: Ticks) -> tuple[int, float]:
    found, counts = np.unique(values, return_counts=True)
    if not len(found):
        return 0, 0.0
    return int(found[counts.argmax()]), float(counts.max() / len(values))


def _nanoseconds(index: Any) -> Ticks:
    return np.asarray(index.as_unit("ns").asi8, dtype=np.int64)


def _in_time(ticks: int) -> str:
    return str(pd.Timedelta(ticks, "ns")).removesuffix(" 00:00:00")


def _in_months(ticks: int) -> str:
    return f"{ticks} month{'' if ticks == 1 else 's'}"

"""Columns of dates and times, and the time between two of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.errors import DataWarning
from calibrant.persistence import savable_part
from calibrant.tables.columns import Block
from calibrant.tables.date_text import ISO, format_of_day, parse_dates
from calibrant.tables.texts import (
    FLAGGED,
    as_text,
    check_readable,
    gaps_in_words,
    unreadable,
)

_OFFSET = r"(?:Z|[+-]\d\d:?\d\d)\s*$"  # text that says its time zone
_YEAR, _WEEK, _DAY = 365.2425, 7.0, 24.0


@savable_part
@dataclass(frozen=True)
class DateColumn:
    """Dates and times: days since the first one, the year, and the cycles that vary.

    The place in the year, in the week and in the day are points on a circle, two columns each, so
    that December is near January. Gaps are in the middle of the circles, at the median day.

    Parameters
    ----------
    name : str
    first : str
        Earliest date of the training rows.
    median : float
        Days from the first to the median date.
    parts : tuple of str
        Which of "year", "month", "weekday" and "hour" vary, over a whole cycle at least.
    flags_gaps : bool
        Whether a last column tells 1 for a gap and 0 for a date.
    formats : tuple of str
        How text is read.
    zone : str or None
        Time zone in which the training rows tell the hour.
    note : str
        Which cells of the training rows were not dates.
    """

    name: str
    first: str
    median: float
    parts: tuple[str, ...]
    flags_gaps: bool
    formats: tuple[str, ...] = (ISO,)
    zone: str | None = None
    note: str = ""

    @classmethod
    def fit(cls, name: str, column: pd.Series[Any], formats: tuple[str, ...] = ()) -> DateColumn:
        """Learn the first and the median date and which cycles vary."""
        zone = _stamps(column, (), None).dt.tz if column.dtype.kind == "M" else None
        named = None if zone is None else str(zone)
        stamps = _local(_stamps(column, formats, named))
        known = stamps.dropna()
        first = known.min()
        span = float(_days(known - first).max())
        # A cycle that the rows do not complete can't be told from a trend, which age follows.
        varying = {
            "year": known.dt.year.nunique() > 1,
            "month": span >= _YEAR and known.dt.month.nunique() > 1,
            "weekday": span >= _WEEK and known.dt.day_of_week.nunique() > 1,
            "hour": span >= 1.0 and (known - known.dt.normalize()).nunique() > 1,
        }
        return cls(
            name,
            first.isoformat(),
            float(_days(known - first).median()),
            tuple(part for part, varies in varying.items() if varies),
            flags_gaps=1.0 - len(known) / len(stamps) >= FLAGGED,
            formats=formats or (ISO,),
            zone=named,
            note=gaps_in_words(column, unreadable(column, stamps), "dates"),
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Days and year, two columns per cycle, and the flag."""
        n_numbers = 1 + sum(1 if part == "year" else 2 for part in self.parts)
        return (Block.NUMBERS,) * n_numbers + (Block.GAPS,) * self.flags_gaps

    @property
    def description(self) -> str:
        """How text is read, and which parts of the date are used."""
        filled = "; gaps flagged" if self.flags_gaps else ""
        note = f"; {self.note}" if self.note else ""
        form = (
            "" if self.formats == (ISO,) else f" as {' or '.join(map(format_of_day, self.formats))}"
        )
        return f"date{form}: {', '.join(('age', *self.parts))}{filled}{note}"

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n dates, (n, k)."""
        stamps = _local(self.stamps(column))
        gaps = stamps.isna().to_numpy()
        if gaps.any() and (found := check_readable(column, unreadable(column, stamps), "dates")):
            warnings.warn(f"Column {self.name!r}: {found}.", DataWarning, stacklevel=4)
        first = pd.Timestamp(self.first)
        encoded = [np.where(gaps, self.median, _numbers(_days(stamps - first)))]
        for part in self.parts:
            if part == "year":
                median = (first + pd.Timedelta(days=self.median)).year
                encoded.append(np.where(gaps, median, _numbers(stamps.dt.year)))
            else:
                angle = 2 * np.pi * _fraction(stamps, part)
                encoded += [np.where(gaps, 0.0, wave(angle)) for wave in (np.sin, np.cos)]
        return np.column_stack([*encoded, gaps] if self.flags_gaps else encoded)

    def stamps(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """Dates as pandas has them, with a time zone if the training rows had one."""
        return _stamps(column, self.formats, self.zone)


@savable_part
@dataclass(frozen=True)
class DateDifference:
    """Days from one date column to another; gaps are the median of the training rows.

    Parameters
    ----------
    name : str
        "later - earlier".
    earlier, later : int
        Positions of the columns in the frame.
    median : float
        In days.
    """

    name: str
    earlier: int
    later: int
    median: float
    note: ClassVar[str] = ""
    description: ClassVar[str] = "days between the two dates"
    blocks: ClassVar[tuple[Block, ...]] = (Block.NUMBERS,)

    @classmethod
    def fit(cls, name: str, earlier: int, later: int, days: Array) -> DateDifference:
        """Learn the median of the days between two columns, (n,)."""
        known = days[~np.isnan(days)]
        return cls(name, earlier, later, float(np.median(known)) if len(known) else 0.0)

    def transform(self, days: Array) -> Array:
        """Encode the days between the two columns, (n,) to (n, 1)."""
        return np.where(np.isnan(days), self.median, days)[:, None]


def days_between(earlier: pd.Series[Any], later: pd.Series[Any]) -> Array:
    """Days from one column of dates to another, (n,)."""
    if (earlier.dt.tz is None) != (later.dt.tz is None):  # one of them says no time zone
        earlier, later = _local(earlier), _local(later)
    return _numbers(_days(later - earlier))


def _stamps(column: pd.Series[Any], formats: tuple[str, ...], zone: str | None) -> pd.Series[Any]:
    """Dates of a column, in a time zone if the rows and the training rows tell one."""
    if column.dtype.kind == "M":
        arrow = isinstance(column.dtype, pd.ArrowDtype)
        stamps = pd.to_datetime(column.astype(object) if arrow else column)
        return stamps.dt.tz_convert(zone) if zone and stamps.dt.tz is not None else stamps
    texts = as_text(column)
    stamps = parse_dates(texts, formats[0])
    for each in (*formats[1:], ISO):
        if stamps.isna().any():
            stamps = stamps.fillna(parse_dates(texts, each))
    says_zone = zone is not None and bool(texts.dropna().str.contains(_OFFSET).any())
    return stamps.dt.tz_convert(zone) if says_zone else _local(stamps)


def _local(stamps: pd.Series[Any]) -> pd.Series[Any]:
    """Dates as a clock in their time zone shows them."""
    shown: pd.Series[Any] = stamps.dt.tz_localize(None)
    return shown


def _fraction(stamps: pd.Series[Any], part: str) -> Array:
    """Share of the year, week or day that has passed, (n,)."""
    hour = _DAY * _numbers(_days(stamps - stamps.dt.normalize()))
    if part == "hour":
        return hour / _DAY
    if part == "weekday":
        return _numbers(stamps.dt.day_of_week) / _WEEK
    return (_numbers(stamps.dt.day_of_year) - 1.0 + hour / _DAY) / _YEAR


def _days(difference: pd.Series[Any]) -> pd.Series[Any]:
    days: pd.Series[Any] = difference.dt.total_seconds() / 86_400.0
    return days


def _numbers(values: pd.Series[Any]) -> Array:
    return values.to_numpy(dtype=np.float64, na_value=np.nan)

"""Columns of numbers and of durations, gaps filled and flagged."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from calibrant.checks import Array
from calibrant.errors import DataWarning
from calibrant.persistence import savable_part
from calibrant.tables.columns import Block
from calibrant.tables.texts import (
    FLAGGED,
    as_text,
    check_readable,
    gaps_in_words,
    map_different,
    parse_in_unit,
    parse_numbers,
    unreadable,
    with_decimal_points,
)

_DAY = 86_400.0  # in seconds
# "02:15", "26:15:30.5", "1 days 02:15:30", as databases and pandas write durations and times of day
_DURATION = re.compile(r"-?(\d+ days?,? *)?[+-]?\d{1,4}:\d{2}(:\d{2}(\.\d+)?)?|-?\d+ days?")

_WITH_POINTS = re.compile(r"^([01]?\d|2[0-3])\.([0-5]\d)\.([0-5]\d)$")  # "18.30.00", a time of day


@savable_part
@dataclass(frozen=True)
class NumericColumn:
    """Numbers; gaps become the median of the training rows, with a flag if training had some.

    Parameters
    ----------
    name : str
    median : float
    flags_gaps : bool
        Whether a second column tells 1 for a gap and 0 for a value.
    few_gaps : bool
        Whether training had gaps, but too few for a flag.
    note : str
        Which cells of the training rows were not numbers.
    unit : str
        What nearly all cells have before or after their number, such as "$" or "kg". Cells in
        another unit count as gaps.
    decimal_comma : bool
        Whether text has decimal commas.
    """

    name: str
    median: float
    flags_gaps: bool
    few_gaps: bool = False
    note: str = ""
    unit: str = ""
    decimal_comma: bool = False
    kind: ClassVar[str] = "numbers"

    @classmethod
    def fit(
        cls, name: str, column: pd.Series[Any], unit: str = "", *, decimal_comma: bool = False
    ) -> Self:
        """Learn the median and whether there are gaps."""
        blank = cls(name, 0.0, flags_gaps=False, unit=unit, decimal_comma=decimal_comma)
        values = blank.parse(column)
        known = values[~np.isnan(values)]
        median = float(np.median(known)) if len(known) else 0.0
        missing = 1.0 - len(known) / len(values)
        return replace(
            blank,
            median=median,
            flags_gaps=missing >= FLAGGED,
            few_gaps=0.0 < missing < FLAGGED,
            note=gaps_in_words(column, unreadable(column, values), blank.what),
        )

    def parse(self, column: pd.Series[Any]) -> Array:
        """Values as numbers, (n,), NaN where that is impossible."""
        if self.decimal_comma and not is_numeric_dtype(column.dtype):
            column = with_decimal_points(column)
        return parse_in_unit(column, self.unit) if self.unit else parse_numbers(column)

    @property
    def what(self) -> str:
        """What the cells should be, in words."""
        commas = " with decimal commas" if self.decimal_comma else ""
        return f"{self.kind}{commas} in {self.unit}" if self.unit else f"{self.kind}{commas}"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One column, or two with the flag."""
        return (Block.NUMBERS, Block.GAPS) if self.flags_gaps else (Block.NUMBERS,)

    @property
    def description(self) -> str:
        """Unit and decimal comma, and what is done to the gaps, if training had any."""
        read = self.what if self.unit or self.decimal_comma else ""
        filled = "gaps filled with the median" if self.flags_gaps or self.few_gaps else ""
        filled += ", flagged" if self.flags_gaps else ""
        return "; ".join(part for part in (read, filled, self.note) if part)

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values, (n, 1), or (n, 2) with the flag."""
        values = self.parse(column)
        gaps = np.isnan(values)
        if gaps.any() and (found := check_readable(column, unreadable(column, values), self.what)):
            warnings.warn(f"Column {self.name!r}: {found}.", DataWarning, stacklevel=4)
        filled = np.where(gaps, self.median, values)
        return np.column_stack([filled, gaps] if self.flags_gaps else [filled])


@savable_part
@dataclass(frozen=True)
class DurationColumn(NumericColumn):
    """Durations in seconds, encoded as numbers are; times of day also as points on a circle.

    Parameters
    ----------
    name, median, flags_gaps, few_gaps, note, unit, decimal_comma
        As for numbers; durations have no unit.
    of_day : bool
        Whether texts look like times of the day: within 24 hours, and over more than 12 of them.
    """

    of_day: bool = False
    kind: ClassVar[str] = "durations"

    @classmethod
    def fit(
        cls, name: str, column: pd.Series[Any], unit: str = "", *, decimal_comma: bool = False
    ) -> Self:
        """Learn the median, whether there are gaps, and whether it is a time of day."""
        encoder = super().fit(name, column, unit, decimal_comma=decimal_comma)
        if column.dtype.kind == "m":
            return encoder
        values = encoder.parse(column)
        low, high = np.nanmin(values), np.nanmax(values)
        return replace(encoder, of_day=bool(low >= 0 and high < _DAY and high - low > _DAY / 2))

    def parse(self, column: pd.Series[Any]) -> Array:
        """Seconds, (n,), NaN where the text of a cell is no duration."""
        return parse_seconds(column)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """As for numbers, and two columns of the circle."""
        return super().blocks + (Block.NUMBERS,) * (2 * self.of_day)

    @property
    def description(self) -> str:
        """The unit, and what is done to the gaps."""
        read = "time of day" if self.of_day else "duration in seconds"
        return "; ".join(part for part in (read, super().description) if part)

    def transform(self, column: pd.Series[Any]) -> Array:
        """Encode n values, (n, 1) to (n, 4): seconds, flag, sine and cosine."""
        encoded = super().transform(column)
        if not self.of_day:
            return encoded
        angle = 2.0 * np.pi * self.parse(column) / _DAY
        circle = np.nan_to_num(np.column_stack([np.sin(angle), np.cos(angle)]))
        return np.hstack([encoded, circle])


def parse_seconds(column: pd.Series[Any]) -> Array:
    """Convert durations and times of day to seconds, (n,); NaN where that is impossible.

    Examples
    --------
    >>> parse_seconds(pd.Series(["00:02", "1 days 00:00:30", "18.30.00", "soon"]))
    array([  120., 86430., 66600.,    nan])
    """
    if column.dtype.kind == "m":
        seconds = column.dt.total_seconds()
        return np.asarray(seconds.to_numpy(np.float64, na_value=np.nan), dtype=np.float64)
    return map_different(as_text(column), _seconds).to_numpy(dtype=np.float64)


def _seconds(texts: list[str]) -> list[float]:
    """Seconds of durations, NaN for other texts."""
    plain = (_WITH_POINTS.sub(r"\1:\2:\3", text.strip()) for text in texts)
    spelled = [f"{text}:00" if text.count(":") == 1 else text for text in plain]  # no seconds
    durations = [text if _DURATION.fullmatch(text) else None for text in spelled]
    found = pd.to_timedelta(pd.Series(durations, dtype=object), errors="coerce")
    return found.dt.total_seconds().tolist()

"""Calendar features: what anyone knows about a time to come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._clock import DAY, Clock, Ticks
from calibrant.forecasting._rows import Array

# Length of each cycle in days.
CYCLES = {"hour": 1.0, "weekday": 7.0, "season": 365.25}


@dataclass(frozen=True)
class Calendar:
    """Features of a time stamp: cycles as points on a circle, and a flag of holidays.

    ``hour`` is the time of day, ``weekday`` the day of the week and ``season`` the day of the
    year, each as ``sin`` and ``cos`` of its angle, so that the end of a cycle meets its start.

    Parameters
    ----------
    cycles : tuple of names
    holidays : tuple of dates as text, or None
        The flag is 1 on these days; None leaves it out.
    """

    cycles: tuple[str, ...] = ()
    holidays: tuple[str, ...] | None = None

    @classmethod
    def choose(
        cls,
        calendar: Literal["auto"] | Sequence[str] | bool,
        holidays: Iterable[Any] | None,
        clock: Clock,
        ticks: Ticks,
    ) -> Calendar:
        """Choose the features of a fit.

        "auto" takes a cycle if the series steps through it and has seen it at least twice: what
        was seen once can't be told from a trend.
        """
        if isinstance(calendar, str) and calendar != "auto":
            calendar = [calendar]
        if calendar is False:
            return cls()
        dated = clock.unit != "integer"
        if calendar == "auto" or calendar is True:
            chosen = _telling_cycles(clock, ticks) if dated else ()
        else:
            chosen = tuple(calendar)
            unknown = [name for name in chosen if name not in CYCLES]
            if unknown:
                raise ParameterError(
                    f"calendar must be 'auto', False or a list of {', '.join(CYCLES)}, got "
                    f"{unknown}. For holidays pass their dates, holidays=[...]."
                )
        if not dated and (chosen or holidays is not None):
            raise DataError("Calendar features need time stamps, but the series counts rows only.")
        return cls(chosen, None if holidays is None else _dates(holidays))

    def features(self, stamps: pd.Index[Any]) -> Array:
        """Features of n stamps, (n, 2 * cycles + flag)."""
        columns: list[Any] = []
        if self.cycles or self.holidays is not None:
            times: Any = stamps.to_timestamp() if isinstance(stamps, pd.PeriodIndex) else stamps
            days = (times.hour + times.minute / 60 + times.second / 3600) / 24
            place = {
                "hour": days,
                "weekday": times.day_of_week + days,
                "season": times.day_of_year - 1 + days,
            }
            for name in self.cycles:
                angle = 2 * np.pi * np.asarray(place[name], dtype=np.float64) / CYCLES[name]
                columns += [np.sin(angle), np.cos(angle)]
            if self.holidays is not None:
                columns.append(times.strftime("%Y-%m-%d").isin(self.holidays))
        return np.column_stack([np.zeros((len(stamps), 0)), *columns]).astype(np.float64)


def _telling_cycles(clock: Clock, ticks: Ticks) -> tuple[str, ...]:
    ends = clock.stamps(np.array([ticks.min(), ticks.min() + clock.step, ticks.max()]))
    if isinstance(ends, pd.PeriodIndex):
        ends = ends.to_timestamp()
    first, second, last = (pd.Timestamp(end) for end in ends)
    step, span = (second - first) / pd.Timedelta(DAY), (last - first) / pd.Timedelta(DAY)
    return tuple(name for name, days in CYCLES.items() if step < days and span >= 2 * days)


def _dates(holidays: Iterable[Any]) -> tuple[str, ...]:
    try:
        days = pd.to_datetime(list(holidays))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"holidays must be a list of dates: {error}") from error
    return tuple(sorted(set(days.strftime("%Y-%m-%d"))))

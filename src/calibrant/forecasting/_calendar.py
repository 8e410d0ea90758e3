"""Calendar features, which are known for any time to come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.errors import DataError, ParameterError
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.persistence import savable_part

# Length of each cycle in days.
CYCLES = {"hour": 1.0, "weekday": 7.0, "season": 365.25}


@savable_part
@dataclass(frozen=True)
class Calendar:
    """Features of a time stamp: cycles as points on a circle, and an indicator of holidays.

    ``hour`` is the time of day, ``weekday`` the day of the week and ``season`` the day of the
    year, each as ``sin`` and ``cos`` of its angle, so that the end of a cycle meets its start.

    Parameters
    ----------
    cycles : tuple of names
    holidays : tuple of dates as text, or None
        The indicator is 1 on these days; None leaves it out.
    """

    cycles: tuple[str, ...] = ()
    holidays: tuple[str, ...] | None = None

    @classmethod
    def choose(
        cls,
        calendar: Literal["auto"] | Sequence[str] | bool,
        holidays: Iterable[Any] | None,
        series: SeriesFrame,
    ) -> Calendar:
        """Choose the features of a fit.

        "auto" takes the cycles that are longer than a step and that the series covers at least
        twice: a cycle seen once can't be told from a trend.
        """
        if calendar is False:
            return cls()
        dated = series.clock.unit != "integer"
        if calendar is True or calendar == "auto":
            cycles = _observed_cycles(series) if dated else ()
        else:
            cycles = (calendar,) if isinstance(calendar, str) else tuple(calendar)
            unknown = [name for name in cycles if name not in CYCLES]
            if unknown:
                raise ParameterError(
                    f"calendar must be 'auto', False or a list of {', '.join(CYCLES)}, got "
                    f"{unknown}. For holidays pass their dates, holidays=[...]."
                )
        if not dated and (cycles or holidays is not None):
            raise DataError(
                "Calendar features need time stamps, but the rows of the series are only numbered."
            )
        return cls(cycles, None if holidays is None else _dates(holidays))

    def features(self, stamps: pd.Index[Any]) -> Array:
        """Features of n stamps, (n, 2 * cycles + indicator)."""
        columns: list[Any] = []
        if self.cycles or self.holidays is not None:
            times: Any = stamps.to_timestamp() if isinstance(stamps, pd.PeriodIndex) else stamps
            hours = (times.hour + times.minute / 60 + times.second / 3600) / 24
            days = {
                "hour": hours,
                "weekday": times.day_of_week + hours,
                "season": times.day_of_year - 1 + hours,
            }
            for name in self.cycles:
                angle = 2 * np.pi * np.asarray(days[name], dtype=np.float64) / CYCLES[name]
                columns += [np.sin(angle), np.cos(angle)]
            if self.holidays is not None:
                columns.append(times.strftime("%Y-%m-%d").isin(self.holidays))
        return np.column_stack([np.zeros((len(stamps), 0)), *columns]).astype(np.float64)


def _observed_cycles(series: SeriesFrame) -> tuple[str, ...]:
    """Cycles that are longer than a step and that the series covers at least twice."""
    first, last = series.tick.min(), series.tick.max()
    stamps = series.clock.stamps(np.array([first, first + series.clock.step, last]))
    times: Any = stamps.to_timestamp() if isinstance(stamps, pd.PeriodIndex) else stamps
    step, span = ((times[i] - times[0]) / pd.Timedelta("1D") for i in (1, 2))
    return tuple(name for name, days in CYCLES.items() if step < days and span >= 2 * days)


def _dates(holidays: Iterable[Any]) -> tuple[str, ...]:
    try:
        days = pd.to_datetime(list(holidays))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"holidays must be a list of dates: {error}") from error
    return tuple(sorted(set(days.strftime("%Y-%m-%d"))))

"""One or several series as arrays on a common clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.errors import DataError
from calibrant.forecasting._clock import Clock, Ticks
from calibrant.forecasting._report import SeriesReport
from calibrant.forecasting._rows import Array, Rows

Index = NDArray[np.intp]


@dataclass(frozen=True)
class SeriesTable:
    """Rows in order of series and time.

    Attributes
    ----------
    clock : Clock
    ids : tuple
        Names of the series; ``(None,)`` for a single one without a name.
    code : array of shape (T,)
        Position of a row's series in `ids`.
    tick : array of shape (T,)
        Time of a row on the clock.
    y : array of shape (T,)
    x : array of shape (T, c)
        Encoded covariates.
    """

    clock: Clock
    ids: tuple[Any, ...]
    code: Index
    tick: Ticks
    y: Array
    x: Array

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def begin(cls, rows: Rows, x: Array) -> SeriesTable:
        """Make the table of a first fit, with the clock that its stamps show."""
        ids, code = _coded(rows)
        clock = Clock.infer(rows.stamps, code)
        return cls(clock, ids, code, clock.ticks(rows.stamps), rows.y, x)

    def append(self, rows: Rows, x: Array) -> SeriesTable:
        """Return the table with later rows of its series."""
        code = self.codes_of(rows.ids, len(rows))
        tick = self.clock.ticks(rows.stamps)
        last = self.last_ticks()
        late = tick <= last[code]
        if late.any():
            first = int(np.argmax(late))
            raise DataError(
                f"New rows must be later than those already seen: {rows.stamps[first]} is not "
                f"after {self.clock.stamps(last[code[first : first + 1]])[0]}."
            )
        joined = self._joined(code, tick, rows.y, x)
        order = np.lexsort((joined.tick, joined.code))
        return joined.take(order)

    def codes_of(self, ids: NDArray[Any] | None, n: int) -> Index:
        """Codes of the series of n rows; complains of series that the fit did not see."""
        if ids is None:
            if self.ids != (None,):
                raise DataError("The model was fitted on a panel: new rows must name their series.")
            return np.zeros(n, np.intp)
        known = pd.Index(self.ids, dtype=object)
        code = known.get_indexer(pd.Index(ids, dtype=object))
        if np.any(code < 0):
            new = list(dict.fromkeys(ids[code < 0].tolist()))
            raise DataError(
                f"The series {', '.join(map(repr, new[:5]))} were not in the training data. Fit "
                "again with them."
            )
        return np.asarray(code, dtype=np.intp)

    def take(self, index: Index | NDArray[np.bool_]) -> SeriesTable:
        """Return rows by position or mask."""
        return replace(
            self,
            code=self.code[index],
            tick=self.tick[index],
            y=self.y[index],
            x=self.x[index],
        )

    def tail(self, first: Ticks) -> SeriesTable:
        """Return the rows of each series from a tick on; `first` has one a series."""
        return self.take(self.tick >= first[self.code])

    def extended(self, horizon: int, x: Array) -> SeriesTable:
        """Return the table with `horizon` unseen rows at the end of every series.

        Parameters
        ----------
        x : array of shape (n_series * horizon, c)
            Their covariates, series after series; nan where unknown.
        """
        steps = self.clock.step * np.arange(1, horizon + 1)
        tick = (self.last_ticks()[:, None] + steps).ravel()
        code = np.repeat(np.arange(len(self.ids)), horizon)
        joined = self._joined(code, tick, np.full(len(tick), np.nan), x)
        return joined.take(np.lexsort((joined.tick, joined.code)))

    def last_rows(self) -> Index:
        """Position of the last row of every series, (n_series,)."""
        return np.searchsorted(self.code, np.arange(len(self.ids)), side="right") - 1

    def last_ticks(self) -> Ticks:
        """Tick of the last row of every series, (n_series,)."""
        return self.tick[self.last_rows()]

    @cached_property
    def segment(self) -> Index:
        """Number of the stretch without a gap that a row belongs to, (T,)."""
        breaks = (np.diff(self.code) != 0) | (np.diff(self.tick) != self.clock.step)
        return np.concatenate([[0], np.cumsum(breaks)]).astype(np.intp)

    def gaps(self) -> Ticks:
        """Widths of the gaps, in ticks."""
        steps = np.diff(self.tick)[np.diff(self.code) == 0]
        gaps: Ticks = steps[steps != self.clock.step]
        return gaps

    def with_gaps(self, report: SeriesReport, since: int = 0) -> SeriesReport:
        """Add the gaps to a report, but for the number that was told before."""
        gaps = self.gaps()
        if len(gaps) <= since:
            return report
        longest = self.clock.span(int(gaps.max()))
        return replace(report, gaps=len(gaps) - since, longest_gap=longest)

    def index(self, code: Index, tick: Ticks) -> pd.Index[Any]:
        """Stamps, or series and stamps for a panel."""
        stamps = self.clock.stamps(tick)
        if self.ids == (None,):
            return stamps
        names = pd.Index(self.ids)[code]
        return pd.MultiIndex.from_arrays([names, stamps], names=["id", "time"])

    def _joined(self, code: Index, tick: Ticks, y: Array, x: Array) -> SeriesTable:
        return replace(
            self,
            code=np.concatenate([self.code, code]),
            tick=np.concatenate([self.tick, tick]),
            y=np.concatenate([self.y, y]),
            x=np.concatenate([self.x, x]),
        )


def _coded(rows: Rows) -> tuple[tuple[Any, ...], Index]:
    if rows.ids is None:
        return (None,), np.zeros(len(rows), np.intp)
    code, ids = pd.factorize(rows.ids, sort=True)
    return tuple(ids.tolist()), code.astype(np.intp)

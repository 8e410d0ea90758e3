"""A panel on its regular time grid, from which windows are gathered batch by batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.checks import Array, Flags, Index
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting.series_frame import SeriesFrame


@dataclass(frozen=True)
class Grid:
    """Rows of all series one after another, with empty rows where the series have none.

    Every stretch without a gap has up to `window` empty rows before it and up to `horizon` after
    it, as many as the gap has. A window or a horizon is then a slice that never reaches into
    another series, and memory grows with the rows, not with rows x window.

    Attributes
    ----------
    code : array of shape (G,)
        Series of each grid row.
    tick : array of shape (G,)
    row : array of shape (G,)
        Row of the series frame, -1 for an empty row.
    position : array of shape (T,)
        Grid row of each row of the series frame.
    """

    code: Index
    tick: Ticks
    row: Index
    position: Index

    @classmethod
    def lay_out(cls, series: SeriesFrame, window: int, horizon: int) -> Grid:
        """Lay out the rows of a panel."""
        step = series.clock.step
        starts = np.flatnonzero(np.diff(series.segment, prepend=-1))  # first row of each stretch
        lengths = np.diff(starts, append=len(series))
        code, first = series.code[starts], series.tick[starts]
        last = first + (lengths - 1) * step
        missing = np.full(len(starts) + 1, window + horizon)  # rows between the stretches
        same = code[1:] == code[:-1]
        missing[1:-1][same] = ((first[1:] - last[:-1]) // step - 1)[same]
        after = np.minimum(missing[1:], horizon)
        before = np.minimum(missing[:-1] - np.concatenate([[0], after[:-1]]), window)
        # Between two series the rows after one and before the other are both complete.
        before[np.concatenate([[True], ~same])] = window
        sizes = before + lengths + after
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        inside = within - np.repeat(before, sizes)  # from 0 in the rows that exist
        exists = (inside >= 0) & (inside < np.repeat(lengths, sizes))
        row = np.where(exists, np.repeat(starts, sizes) + inside, -1)
        return cls(
            np.repeat(code, sizes),
            np.repeat(first, sizes) + step * inside,
            row.astype(np.intp),
            np.flatnonzero(exists),
        )

    def __len__(self) -> int:
        return len(self.row)

    def spread_out(self, values: Array) -> Array:
        """Values of the rows at their places in the grid, nan elsewhere, (G,) or (G, c)."""
        out = np.full((len(self), *values.shape[1:]), np.nan)
        out[self.position] = values
        return out


def observed_before(values: Array, window: int) -> Index:
    """Number of values in the `window` rows up to each grid row, itself included, (G,)."""
    total = np.concatenate([[0], np.cumsum(np.isfinite(values))])
    rows = np.arange(len(values))
    return np.asarray(total[rows + 1] - total[np.maximum(rows + 1 - window, 0)])


def observed_after(values: Array, horizon: int) -> Flags:
    """Whether any of the `horizon` rows after each grid row has a value, (G,)."""
    total = np.concatenate([[0], np.cumsum(np.isfinite(values))])
    rows = np.arange(len(values))
    return np.asarray(total[np.minimum(rows + 1 + horizon, len(values))] > total[rows + 1])

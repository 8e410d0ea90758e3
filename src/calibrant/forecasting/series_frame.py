"""One or several regularly spaced series as a long table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.checks import Array, Index
from calibrant.errors import DataError, DataWarning
from calibrant.forecasting._clock import Clock, Ticks
from calibrant.forecasting._read import matching_rows, read_table
from calibrant.forecasting._report import SeriesReport
from calibrant.persistence import savable_part


@savable_part
@dataclass(frozen=True, eq=False)
class SeriesFrame:
    """Targets and covariates of one or several series, on a common clock.

    Rows are sorted by series, then by time, and no time occurs twice in a series. Values may be
    missing and rows may be absent: `segment` numbers the stretches without a gap.

    Attributes
    ----------
    clock : Clock
        Converts time stamps to integer ticks and back.
    ids : tuple
        Names of the series; ``(None,)`` for a single one without a name.
    code : array of shape (T,)
        Position of each row's series in `ids`.
    tick : array of shape (T,)
        Time of each row on the clock.
    targets : DataFrame of shape (T, m)
        Numbers, nan where a target is missing.
    covariates : DataFrame of shape (T, c)
        As the user has them, or as numbers once a model has encoded them.
    report : SeriesReport
        What was repaired in the rows that were read last.
    id_names : tuple of str
        What the parts of an id are called.

    Examples
    --------
    >>> import pandas as pd
    >>> from calibrant.forecasting import SeriesFrame
    >>> hours = pd.date_range("2024-01-01", periods=5, freq="h")
    >>> series = SeriesFrame.read(pd.Series([1.0, 2.0, 4.0, 8.0], hours.delete(2)))
    >>> print(series.report)
    4 rows of 1 series
    - 1 gap in time, the longest 0 days 02:00:00: no window crosses one.
    >>> series.segment
    array([0, 0, 1, 1])
    """

    clock: Clock
    ids: tuple[Any, ...]
    code: Index
    tick: Ticks
    targets: pd.DataFrame
    covariates: pd.DataFrame
    report: SeriesReport = field(default=SeriesReport(0, 0))
    id_names: tuple[str, ...] = ("id",)

    def __len__(self) -> int:
        return len(self.tick)

    @classmethod
    def read(
        cls,
        y: Any,
        X: Any = None,
        *,
        series_id: str | None = None,
        time: str | None = None,
        after: SeriesFrame | None = None,
        admit: bool = False,
    ) -> SeriesFrame:
        """Read targets and covariates, sort them and match them by series and time stamp.

        Parameters
        ----------
        y : series, frame or array
            One row per time stamp, or per series and time stamp.
        X : frame or array, optional
            Covariates of the same time stamps; further rows are ignored.
        series_id, time : str, optional
            Columns of frames that name the series and hold the time stamps.
        after : SeriesFrame, optional
            Series that the rows continue: they must have its clock and its names, and an array
            starts where it ends. Without it clock and names are taken from the rows.
        admit : bool, default False
            Accept series that `after` does not have, with a warning.
        """
        table = read_table(y, "y", series_id, time)
        stamps = _positions(len(table.values), after) if table.stamps is None else table.stamps
        if after is None:
            ids, code = _names(table.ids, len(stamps))
        else:
            ids, code = after._codes(table.ids, len(stamps), admit=admit)
        order, unsorted, repeated = _time_order(code, stamps)
        covariates = pd.DataFrame(index=order)
        if X is not None:
            covariates = matching_rows(read_table(X, "X", series_id, time), table, order)
        targets = _numbers(table.values).iloc[order]
        if after is None:
            clock = Clock.infer(stamps[order], code[order])
        else:
            clock, targets = after.clock, _named_like(targets, after.targets)
        report = SeriesReport(
            rows=len(stamps),
            series=len(np.unique(code)),
            unsorted=unsorted,
            repeated=repeated,
            missing_target=int(targets.isna().any(axis=1).sum()),
            missing_inputs=int(covariates.isna().any(axis=1).sum()),
        )
        tick = clock.ticks(stamps[order])
        series = cls(clock, ids, code[order], tick, targets, covariates, report)
        return replace(series, report=series._with_gaps(report))

    def saved_fields(self) -> dict[str, Any]:
        """What a model folder holds."""
        return {
            "clock": self.clock,
            "ids": self.ids,
            "code": self.code,
            "tick": self.tick,
            "names": [list(self.targets.columns), list(self.covariates.columns)],
            "targets": self.targets.to_numpy(),
            "covariates": self.covariates.to_numpy(),
        }

    @classmethod
    def from_fields(
        cls,
        clock: Clock,
        ids: tuple[Any, ...],
        code: Index,
        tick: Ticks,
        names: Sequence[Sequence[str]],
        targets: Array,
        covariates: Array,
    ) -> SeriesFrame:
        """Rebuild the object from its `saved_fields`."""
        of_targets, of_covariates = names
        return cls(
            clock,
            ids,
            code.astype(np.intp),
            tick,
            pd.DataFrame(targets, columns=list(of_targets)),
            pd.DataFrame(covariates, columns=list(of_covariates)),
        )

    def append(self, new: SeriesFrame) -> SeriesFrame:
        """Return these rows and later ones; the report is about the later ones."""
        last = new.last_ticks_of(self)
        late = new.tick <= last[new.code]
        if late.any():
            ticks = np.array([new.tick[late][0], last[new.code[late][0]]])
            given, seen = self.clock.stamps(ticks)
            raise DataError(
                f"New rows must be later than those already seen: {given} is not after {seen}."
            )
        known = replace(self, ids=new.ids)
        joined = known._joined(new.code, new.tick, new.targets, new.covariates)
        # A gap may also lie between the last row seen and the first new one.
        return replace(joined, report=joined.since(last)._with_gaps(new.report))

    def extended(self, horizon: int, covariates: pd.DataFrame) -> SeriesFrame:
        """Return the rows with the next `horizon` ones of every series, whose targets are missing.

        Parameters
        ----------
        covariates : DataFrame of n_series * horizon rows
            Sorted by series, then by time; nan where unknown.
        """
        code, tick = self.next_rows(np.arange(1, horizon + 1))
        targets = pd.DataFrame(np.nan, index=range(len(tick)), columns=self.targets.columns)
        return self._joined(code, tick, targets, covariates)

    def take(self, rows: Index | NDArray[np.bool_]) -> SeriesFrame:
        """Return rows by position or mask."""
        return replace(
            self,
            code=self.code[rows],
            tick=self.tick[rows],
            targets=self.targets.iloc[rows],
            covariates=self.covariates.iloc[rows],
        )

    def since(self, first: Ticks) -> SeriesFrame:
        """Return the rows of each series from its tick in `first` on, (n_series,)."""
        return self.take(self.tick >= first[self.code])

    def before(self, tick: float) -> SeriesFrame:
        """Return the rows of all series before a tick."""
        return self.take(self.tick < tick)

    @property
    def y(self) -> Array:
        """The first target, (T,)."""
        return self.targets.iloc[:, 0].to_numpy(dtype=np.float64)

    @property
    def is_panel(self) -> bool:
        """Whether the series have names."""
        return self.ids != (None,)

    @cached_property
    def segment(self) -> Index:
        """Number of the stretch without a gap that a row belongs to, (T,)."""
        breaks = (np.diff(self.code) != 0) | (np.diff(self.tick) != self.clock.step)
        return np.concatenate([[0], np.cumsum(breaks)]).astype(np.intp)

    def gaps(self) -> Ticks:
        """Widths of the gaps, in ticks."""
        steps = np.diff(self.tick)[np.diff(self.code) == 0]
        return np.asarray(steps[steps != self.clock.step])

    def last_rows(self) -> Index:
        """Position of the last row of every series, (n_series,)."""
        return np.searchsorted(self.code, np.arange(len(self.ids)), side="right") - 1

    def last_ticks(self) -> Ticks:
        """Tick of the last row of every series, (n_series,)."""
        return self.tick[self.last_rows()]

    def last_ticks_of(self, earlier: SeriesFrame) -> Ticks:
        """Tick of the last earlier row of every series, (n_series,); the least integer for none."""
        last = np.full(len(self.ids), np.iinfo(np.int64).min)
        last[: len(earlier.ids)] = earlier.last_ticks()
        return last

    def stacked(self) -> SeriesFrame:
        """Every target of every series as a series of its own, with the same covariates."""
        n = self.targets.shape[1]
        if n == 1:
            return self
        names = list(self.targets.columns)
        code = (self.code[:, None] * n + np.arange(n)).ravel()
        tick = np.repeat(self.tick, n)
        order = np.lexsort((tick, code))
        panel = self.is_panel
        return replace(
            self,
            ids=tuple((each, name) if panel else name for each in self.ids for name in names),
            code=code[order],
            tick=tick[order],
            targets=pd.DataFrame({"y": self.targets.to_numpy().ravel()[order]}),
            covariates=self.covariates.iloc[order // n],
            id_names=(*self.id_names, "target") if panel else ("target",),
        )

    def next_rows(self, steps: Any) -> tuple[Index, Ticks]:
        """Codes and ticks of the rows some steps after the last one of every series."""
        tick = self.last_ticks()[:, None] + self.clock.step * np.asarray(steps)
        return np.repeat(np.arange(len(self.ids)), tick.shape[1]), tick.ravel()

    def index(self, code: Index, tick: Ticks) -> pd.Index[Any]:
        """Time stamps, or series and time stamps for a panel, as a pandas index."""
        stamps = self.clock.stamps(tick)
        if not self.is_panel:
            return stamps
        parts = [self.ids] if len(self.id_names) == 1 else list(zip(*self.ids, strict=True))
        levels = [pd.Index(part)[code] for part in parts]
        return pd.MultiIndex.from_arrays([*levels, stamps], names=[*self.id_names, "time"])

    def values(self) -> pd.Series[Any]:
        """All targets by series, target and time stamp."""
        stacked = self.stacked()
        return pd.Series(stacked.y, index=stacked.index(stacked.code, stacked.tick))

    def _joined(
        self, code: Index, tick: Ticks, targets: pd.DataFrame, covariates: pd.DataFrame
    ) -> SeriesFrame:
        joined = replace(
            self,
            code=np.concatenate([self.code, code]),
            tick=np.concatenate([self.tick, tick]),
            targets=pd.concat([self.targets, targets], ignore_index=True),
            covariates=pd.concat([self.covariates, covariates], ignore_index=True),
        )
        return joined.take(np.lexsort((joined.tick, joined.code)))

    def _with_gaps(self, report: SeriesReport) -> SeriesReport:
        gaps = self.gaps()
        longest = self.clock.span(int(gaps.max())) if len(gaps) else ""
        return replace(report, gaps=len(gaps), longest_gap=longest)

    def _codes(
        self, ids: NDArray[Any] | None, n: int, *, admit: bool
    ) -> tuple[tuple[Any, ...], Index]:
        """Names of all series, and the codes of n rows."""
        if ids is None:
            if self.is_panel:
                raise DataError("The model was fitted on a panel: new rows must name their series.")
            return self.ids, np.zeros(n, np.intp)
        found = pd.Index(ids, dtype=object)
        code = pd.Index(self.ids, dtype=object).get_indexer(found)
        if not np.any(code < 0):
            return self.ids, np.asarray(code, dtype=np.intp)
        new = list(dict.fromkeys(ids[code < 0].tolist()))
        named = f"The series {', '.join(map(repr, new[:5]))} were not in the training data."
        if not (admit and self.is_panel):
            raise DataError(f"{named} Fit again with them.")
        warnings.warn(
            f"{named} They are forecast by what the others have in common; refit to learn from "
            "them.",
            DataWarning,
            stacklevel=4,
        )
        everyone = (*self.ids, *new)
        code = pd.Index(everyone, dtype=object).get_indexer(found)
        return everyone, np.asarray(code, dtype=np.intp)


def _names(ids: NDArray[Any] | None, n: int) -> tuple[tuple[Any, ...], Index]:
    """Names of the series and the codes of n rows."""
    if ids is None:
        return (None,), np.zeros(n, np.intp)
    code, names = pd.factorize(ids, sort=True)
    return tuple(names.tolist()), code.astype(np.intp)


def _positions(n: int, after: SeriesFrame | None) -> pd.Index[Any]:
    """Stamps of n rows without time stamps: counted from 0, or from the end of a series."""
    if after is None or after.is_panel or after.clock.unit != "integer":
        return pd.RangeIndex(n)
    step = after.clock.step
    start = int(after.last_ticks()[0]) + step
    return pd.RangeIndex(start, start + n * step, step)


def _time_order(code: Index, stamps: pd.Index[Any]) -> tuple[Index, int, int]:
    """Positions that sort rows by series and time, the last row of each time stamp only.

    Returns
    -------
    order : positions
    unsorted : int
        Rows that came after a later row of their series.
    repeated : int
        Rows that a later row with the same time stamp replaces.
    """
    time = stamps.asi8 if hasattr(stamps, "asi8") else stamps.to_numpy()
    order = np.lexsort((time, code))  # a stable sort: of equal stamps the last row comes last
    latest = pd.Series(time).groupby(code).cummax().to_numpy()
    same = (np.diff(time[order]) == 0) & (np.diff(code[order]) == 0)
    kept = np.append(~same, True) if len(order) else np.zeros(0, bool)
    return order[kept], int(np.sum(time < latest)), int(same.sum())


def _named_like(targets: pd.DataFrame, seen: pd.DataFrame) -> pd.DataFrame:
    """Return the targets in the columns of those already seen."""
    names = list(seen.columns)
    if len(names) == len(targets.columns) == 1:  # a single target is known without its name
        return targets.set_axis(names, axis="columns")
    if sorted(targets.columns) != sorted(names):
        raise DataError(
            f"y must have the columns of the fit, {', '.join(names)}, besides series and time; got "
            f"{', '.join(targets.columns)}."
        )
    return targets[names]


def _numbers(values: pd.DataFrame) -> pd.DataFrame:
    """Targets as float64."""
    try:
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers: {error}") from error
    if infinite := int(np.isinf(numbers).sum()):
        raise DataError(f"y has {infinite} infinite values.")
    return pd.DataFrame(numbers, columns=values.columns)

"""The model of one step ahead: an estimator and the recalibration that follows time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.distributions import Distribution
from calibrant.errors import DataError
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting._design import Design
from calibrant.forecasting._rows import Array
from calibrant.forecasting._split import blocked_split
from calibrant.forecasting._table import Index, SeriesTable
from calibrant.metrics import pit
from calibrant.recalibration import AdaptiveRecalibrator

_LEAST_WINDOWS = 10


@dataclass(frozen=True)
class Stream:
    """Forecasts of one step in order of time, and what came.

    Attributes
    ----------
    code : array of shape (n,)
        Series of each forecast.
    origin, target : arrays of shape (n,)
        Ticks of the last row that it saw, and of what it is about.
    dist : Distribution of n rows, or None where there are no rows
        As the network says it, before recalibration in time.
    y : array of shape (n,)
    """

    code: Index
    origin: Ticks
    target: Ticks
    dist: Distribution | None
    y: Array

    def __len__(self) -> int:
        return len(self.y)


@dataclass
class StepModel:
    """What forecasts `step` rows ahead.

    Parameters
    ----------
    step : int
    design : Design
    estimator : fitted estimator
    recalibrator : AdaptiveRecalibrator or None
    """

    step: int
    design: Design
    estimator: Any
    recalibrator: AdaptiveRecalibrator | None

    def fit(self, table: SeriesTable) -> Stream:
        """Train on all windows but the newest, and return the held-out forecasts."""
        matrix = self.design.matrix(table, self.step)
        origins = self.design.aimed(table, matrix, self.step)
        self._check_enough(table, len(origins))
        origin = table.tick[origins]
        target = origin + self.step * table.clock.step
        fraction = getattr(self.estimator, "validation_fraction", 0.2)
        train, held_out = blocked_split(origin, target, fraction)
        if len(train) < 2 or len(held_out) < 2:
            raise DataError(
                f"Of {len(origins)} windows {len(train)} can be trained on and {len(held_out)} "
                f"held out {self.step} steps ahead; both sides need at least 2. Use a longer "
                "series or another validation_fraction."
            )
        windows = self.design.windows(matrix, origins)
        y = table.y[origins + self.step]
        self.estimator.fit(windows, y, cv=[(train, held_out)])
        dist = self.estimator.predict_dist(windows.take(held_out))
        if self.recalibrator is not None:
            self.recalibrator.start(dist, y[held_out])
        code = table.code[origins]
        return Stream(code[held_out], origin[held_out], target[held_out], dist, y[held_out])

    def follow(self, table: SeriesTable, seen: Ticks) -> Stream:
        """Forecast every known target that is later than `seen`, one tick a series."""
        matrix = self.design.matrix(table, self.step)
        origins = self.design.aimed(table, matrix, self.step)
        origins = origins[table.tick[origins + self.step] > seen[table.code[origins]]]
        dist = None
        if len(origins):
            dist = self.estimator.predict_dist(self.design.windows(matrix, origins))
        return Stream(
            table.code[origins],
            table.tick[origins],
            table.tick[origins + self.step],
            dist,
            table.y[origins + self.step],
        )

    def predict(self, table: SeriesTable, last: Index) -> Distribution:
        """Forecast from the rows `last`, one a series."""
        matrix = self.design.matrix(table, self.step)
        broken = np.setdiff1d(last, self.design.origins(table, matrix))
        if len(broken):
            where = table.index(table.code[broken], table.tick[broken])[0]
            raise DataError(
                f"The {self.design.window} rows up to {where} have a gap or a missing value: "
                "there is no whole window to forecast from. Update with complete rows first."
            )
        dist: Distribution = self.estimator.predict_dist(self.design.windows(matrix, last))
        return dist if self.recalibrator is None else self.recalibrator.transform(dist)

    def _check_enough(self, table: SeriesTable, n: int) -> None:
        if n >= _LEAST_WINDOWS:
            return
        longest = int(np.bincount(table.segment).max())
        raise DataError(
            f"Only {n} windows of {self.design.window} rows with a target {self.step} ahead, at "
            f"least {_LEAST_WINDOWS} are needed: the longest stretch without a gap has {longest} "
            f"rows, and a window with its target takes {self.design.window + self.step}. Use a "
            "longer series, or a smaller window or horizon."
        )


def common_pits(streams: list[Stream]) -> Array:
    """PIT values of the origins that all steps share, (n, H)."""
    tables = [
        dict(
            zip(
                zip(stream.code.tolist(), stream.origin.tolist(), strict=True),
                pit(stream.dist, stream.y).tolist(),
                strict=True,
            )
        )
        for stream in streams
        if stream.dist is not None
    ]
    shared = sorted(set.intersection(*(set(table) for table in tables)))
    return np.array([[table[key] for table in tables] for key in shared]).reshape(-1, len(tables))

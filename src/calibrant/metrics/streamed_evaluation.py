"""`evaluate` for forecasts that come part by part, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.distributions.pit import randomized_pit
from calibrant.metrics.calibration import N_DRAWS
from calibrant.metrics.conditional import (
    bin_edges,
    counted_calibration,
    group_codes,
    range_name,
    sort_key,
)
from calibrant.metrics.evaluation import all_groups, judged, row_values
from calibrant.metrics.evaluation_result import Evaluation
from calibrant.metrics.floor import noise_floor
from calibrant.metrics.group_result import GroupCalibration
from calibrant.metrics.inputs import check_target
from calibrant.metrics.pit_counts import PitCounts
from calibrant.metrics.quantile_pass import QuantileSummary
from calibrant.metrics.row_sums import RowSums
from calibrant.metrics.significance import counted_calibration_test

_CELLS = 1 << 16  # in which PIT values are counted for the test of uniformity


class StreamedEvaluation:
    """Every metric of a forecast whose rows come part by part.

    Counts and sums are those of all rows. Two things are not known before all rows have been seen:
    deciles of the prediction are cut at those of a sample, and the Kolmogorov-Smirnov distance is
    taken at 65,536 points. With a sample of all rows the result is that of `evaluate`.

    Parameters
    ----------
    sample : Evaluation
        Of a sample of the rows; its values of each row stay in `rows` of the result.
    """

    def __init__(self, sample: Evaluation) -> None:
        self._sample = sample
        self._draws = _Draws()
        self._pit: PitCounts | None = None
        self._sums: RowSums | None = None
        self._cells = np.zeros((1, _CELLS), dtype=np.int64)
        self._means: Array = np.zeros(len(sample.quantiles.widths) + 2)
        self._deciles = [_Bins(bin_edges(each, 10)) for each in _binned(sample.rows)]
        self._groups: dict[str, dict[Any, PitCounts]] = {}

    def add(
        self, dist: Distribution, y: Array, groups: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Add the rows of a part, and their labels in every column of groups."""
        level = self._sample.level
        rows, quantiles = row_values(dist, check_target(dist, y), level)
        draws = self._draws(rows.cdf_left, rows.cdf)
        counts, sums = PitCounts.of(draws, level), RowSums.of(rows)
        self._pit = counts if self._pit is None else self._pit + counts
        self._sums = sums if self._sums is None else self._sums + sums
        self._cells = self._cells + np.array([_in_cells(u) for u in draws])
        self._means += sums.n * _mean_values(quantiles)
        for bins, values in zip(self._deciles, _binned(rows), strict=True):
            bins.add(values, draws, level)
        for name, labels in (groups or {}).items():
            _add_groups(self._groups.setdefault(name, {}), labels, draws, level)

    def result(self) -> Evaluation:
        """Evaluation of all rows that were added."""
        assert self._pit is not None  # of a source, which has rows
        assert self._sums is not None
        n = self._sums.n
        *widths, pinball, interval_score = self._means / n
        ways = {
            name: counted_calibration(list(found.values()), list(found))
            for name, found in ((name, _sorted(own)) for name, own in self._groups.items())
        }
        by_mean, by_stddev = (bins.calibration() for bins in self._deciles)
        found = replace(
            self._sample,
            pit_counts=self._pit,
            sums=self._sums,
            quantiles=replace(
                self._sample.quantiles,
                widths=np.array(widths),
                pinball=float(pinball),
                interval_score=float(interval_score),
            ),
            floor=noise_floor(n),
            test=counted_calibration_test(self._pit, _distances(self._cells, n), 0.95),
            by_mean=by_mean,
            by_stddev=by_stddev,
            groups=all_groups(ways),
        )
        return judged(found, ways)


class _Draws:
    """Draws of the PIT of one part after another, equal to those of all rows at once."""

    def __init__(self) -> None:
        self._generators = [np.random.Generator(np.random.PCG64(seed)) for seed in range(N_DRAWS)]

    def __call__(self, left: Array, right: Array) -> Array:
        if np.array_equal(left, right):
            for each in self._generators:
                each.bit_generator.advance(len(left))  # type: ignore[attr-defined]
            return right[None]
        return np.stack([randomized_pit(left, right, each) for each in self._generators])


class _Bins:
    """Counts of PIT values within bins of a predicted value, with the range of each bin."""

    def __init__(self, edges: Array) -> None:
        self._edges = edges
        self._found: dict[int, tuple[PitCounts, float, float]] = {}

    def add(self, values: Array, draws: Array, level: float) -> None:
        codes = np.searchsorted(self._edges, values, side="right")
        for code in np.unique(codes).tolist():
            own = codes == code
            counts, part = PitCounts.of(draws[:, own], level), values[own]
            low, high = float(part.min()), float(part.max())
            if code in self._found:
                before, least, most = self._found[code]
                counts, low, high = before + counts, min(low, least), max(high, most)
            self._found[code] = counts, low, high

    def calibration(self) -> GroupCalibration:
        found = [self._found[code] for code in sorted(self._found)]
        names = [range_name(low, high) for _, low, high in found]
        return counted_calibration([counts for counts, *_ in found], names)


def _binned(rows: Any) -> tuple[Array, Array]:
    return rows.mean, rows.stddev


def _mean_values(quantiles: QuantileSummary) -> Array:
    return np.array([*quantiles.widths, quantiles.pinball, quantiles.interval_score])


def _add_groups(
    found: dict[Any, PitCounts], labels: NDArray[Any], draws: Array, level: float
) -> None:
    codes, names = group_codes(labels)
    for code, name in enumerate(names):
        counts = PitCounts.of(draws[:, codes == code], level)
        found[name] = found[name] + counts if name in found else counts


def _sorted(found: dict[Any, PitCounts]) -> dict[Any, PitCounts]:
    names = sorted(found, key=lambda name: sort_key(name, bool(pd.isna(name))))
    return {name: found[name] for name in names}


def _in_cells(u: Array) -> NDArray[np.int64]:
    """PIT values in (edge, next edge] of equal cells; 0 is in the first."""
    cells = np.clip(np.ceil(u * _CELLS).astype(np.int64) - 1, 0, _CELLS - 1)
    return np.bincount(cells, minlength=_CELLS)


def _distances(cells: NDArray[np.int64], n: int) -> Array:
    """Largest distance of the empirical from the uniform distribution function, (R,)."""
    edges = np.arange(1, _CELLS + 1) / _CELLS
    distances: Array = np.abs(cells.cumsum(axis=1) / n - edges).max(axis=1)
    return distances

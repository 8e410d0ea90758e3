"""Rows of a source that does not fit into memory: one pass that samples and counts, then a stream.

The plan is made from a sample of the training rows; the rows for early stopping and calibration are
kept in memory as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from calibrant.checks import Array, Flags, Index
from calibrant.errors import DataError
from calibrant.estimators.fit_data import FitData, Sample, check_enough, draw_seed
from calibrant.estimators.inputs import check_inputs
from calibrant.estimators.scaling import Scaler, scaled_target
from calibrant.tables import (
    CategoryCounts,
    Part,
    TableEncoder,
    TableSource,
    check_target,
    part_inputs,
    part_target,
    warn_of_gaps,
)
from calibrant.training import Rows, StreamedRows, block_rows, open_row_progress

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.estimators.base import NetworkRegressor

SAMPLE_ROWS = 50_000  # that scaling, encoding and bandwidths are fitted on
HELD_OUT_ROWS = 20_000  # at most, for early stopping and calibration


@dataclass(frozen=True, eq=False)
class RowStream:
    """Encoded training rows of a source, read anew for every epoch.

    Parameters
    ----------
    source : TableSource
    encoder : TableEncoder
    held_out : array of int of shape (h,)
        Numbers of the rows that are not trained on, sorted.
    n_rows : int
        Rows to train on.
    """

    source: TableSource
    encoder: TableEncoder
    held_out: Index
    n_rows: int

    def scaled(self, inputs: Scaler, target: Scaler, device: torch.device) -> StreamedRows:
        """Return the rows as batches of scaled tensors."""
        name = check_target(self.source)

        def read(rng: np.random.Generator) -> Iterator[Rows]:
            for part in self.source.parts(rng):
                y = part_target(part, name)
                kept = ~(np.isnan(y) | _among(part, self.held_out))
                x = self.encoder.transform(part_inputs(part, name).to_pandas()[kept])
                values = inputs.transform(x), scaled_target(target, y[kept]), np.ones(len(x))
                yield Rows(*(torch.as_tensor(each, dtype=torch.float32) for each in values))

        return StreamedRows(read, self.n_rows, device, block_rows(len(inputs.loc)))


def read_whole(source: TableSource) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Inputs and targets of a source that fits into memory, without rows that have no target."""
    import pyarrow as pa

    name = check_target(source)
    parts = [(part_inputs(part, name), part_target(part, name)) for part in source.parts()]
    y = pd.Series(np.concatenate([target for _, target in parts]), name=name)
    known = y.notna()
    warn_of_gaps(source, int((~known).sum()), 4)
    return pa.Table.from_batches([inputs for inputs, _ in parts]).to_pandas()[known], y[known]


def check_source(model: NetworkRegressor, source: TableSource, fraction: float) -> FitData:
    """Pass once over a source; the model stores number, names and kind of its inputs.

    Parameters
    ----------
    fraction : float
        Share of the rows to hold out; the number of rows held out is limited.
    """
    seed = draw_seed(model)
    n_rows = source.n_rows
    n_held_out = min(math.ceil(fraction * n_rows), HELD_OUT_ROWS)
    drawn = np.random.default_rng(seed).choice(
        n_rows, size=min(n_rows, n_held_out + SAMPLE_ROWS), replace=False
    )
    held_out = np.sort(drawn[:n_held_out])
    found = _pass_over(source, np.sort(drawn), held_out, verbose=bool(model.verbose))
    check_enough(found.y)
    outside = np.isin(found.rows, held_out, assume_unique=True)
    check_inputs(model, found.frame[~outside], reset=True)
    assert model.encoder_ is not None  # of a table
    encoder = model.encoder_ = model.encoder_.with_categories(found.categories)
    train, validation = (
        Sample(encoder.transform(found.frame[side]), found.y[side], np.ones(int(side.sum())))
        for side in (~outside, outside)
    )
    if min(len(train.y), len(validation.y)) < 2:
        raise DataError(
            "Fewer than 2 rows are left to train on, or to hold out. Use a larger table."
        )
    stream = RowStream(source, encoder, held_out, found.n_train)
    return FitData(train, validation, None, seed, stream=stream, n_elsewhere=stream.n_rows)


class _Found(NamedTuple):
    """What one pass over a source gives: the drawn rows, and counts over all training rows."""

    frame: pd.DataFrame
    y: Array
    rows: Index  # numbers of the drawn rows
    categories: dict[str, pd.Series[Any]]
    n_train: int


def _pass_over(source: TableSource, drawn: Index, held_out: Index, *, verbose: bool) -> _Found:
    """Check all rows, keep the drawn ones, and count the training rows and their categories."""
    import pyarrow as pa

    name, counts = check_target(source), CategoryCounts()
    kept: list[tuple[pa.RecordBatch, Array, Index]] = []
    n_known = n_train = 0
    with open_row_progress("Reading", source.n_rows, verbose=verbose) as advance:
        for part in source.parts():
            y, inputs = part_target(part, name), part_inputs(part, name)
            known = ~np.isnan(y)
            trained = known & ~_among(part, held_out)
            counts.add(inputs.filter(pa.array(trained)))
            first, last = np.searchsorted(drawn, [part.start, part.start + len(y)])
            rows = drawn[first:last] - part.start
            rows = rows[known[rows]]
            kept.append((inputs.take(pa.array(rows)), y[rows], rows + part.start))
            n_known += int(known.sum())
            n_train += int(trained.sum())
            advance(len(y))
    warn_of_gaps(source, source.n_rows - n_known, 4)
    batches, targets, numbers = zip(*kept, strict=True)
    return _Found(
        pa.Table.from_batches(batches).to_pandas(),
        np.concatenate(targets),
        np.concatenate(numbers),
        counts.by_column(),
        n_train,
    )


def _among(part: Part, rows: Index) -> Flags:
    """Whether each row of a part is among these sorted row numbers, (n,)."""
    flags: Flags = np.zeros(part.batch.num_rows, dtype=np.bool_)
    first, last = np.searchsorted(rows, [part.start, part.start + len(flags)])
    flags[rows[first:last] - part.start] = True
    return flags

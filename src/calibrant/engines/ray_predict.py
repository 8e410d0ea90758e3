"""Predict the rows of a table on a Ray cluster, with actors that load the model once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant.engines.ray import import_ray
from calibrant.errors import DataError
from calibrant.tables import ParquetSource, part_inputs

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROW = "row"  # column with the number of a row
_ROWS_AT_ONCE = 1 << 14
_CPUS = 0.5  # of an actor: as much is left to the tasks that read and write


def predict_on_ray(
    model: Any,
    data: Any,
    *,
    coverage: Sequence[float] = (0.9,),
    alpha: Sequence[float] = (),
    keep: Sequence[str] = (),
    workers: int | None = None,
) -> Any:
    """Predict all rows on a Ray cluster; every worker loads the model once.

    Nothing is computed before the result is read or written. A worker that dies is replaced, and
    its rows are predicted again: every row appears exactly once.

    Parameters
    ----------
    model : fitted model
    data : ParquetSource or ray.data.Dataset
        Rows of a source are numbered: the column "row" of the result tells their order, which the
        parts of a result do not keep.
    coverage : sequence of float
        Of the intervals.
    alpha : sequence of float
        Levels of the quantiles.
    keep : sequence of str
        Columns of the data to put beside the predictions.
    workers : int, optional
        Number of actors; by default as many as the cluster has room for.

    Returns
    -------
    ray.data.Dataset
        Columns as those of ``calibrant predict``; ``.write_parquet(folder)`` writes it in parts.
    """
    kept = [*([ROW] if isinstance(data, ParquetSource) else []), *keep]
    return map_on_ray(PredictFrame(model, coverage, alpha, kept), data, workers=workers)


def map_on_ray(
    function: Callable[[pd.DataFrame], pd.DataFrame], data: Any, *, workers: int | None = None
) -> Any:
    """Apply a function of frames to all rows, in actors that unpickle it once.

    Parameters
    ----------
    function : callable
    data : ParquetSource or ray.data.Dataset
        Rows of a source have their number in the column "row".
    workers : int, optional
        Number of actors; by default as many as the cluster has room for.

    Returns
    -------
    ray.data.Dataset
    """
    ray = import_ray()
    from ray.data import ActorPoolStrategy

    most = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    dataset = numbered_rows(data) if isinstance(data, ParquetSource) else data
    return dataset.map_batches(
        _Actor,
        fn_constructor_args=(function,),
        compute=ActorPoolStrategy(min_size=1, max_size=most),
        batch_format="pandas",
        batch_size=_ROWS_AT_ONCE,
        num_cpus=_CPUS,
    )


@dataclass(frozen=True)
class PredictFrame:
    """Predictions of a model for a frame, beside some of its columns."""

    model: Any
    coverage: Sequence[float]
    alpha: Sequence[float]
    keep: Sequence[str]

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Columns to keep, then the predictions."""
        missing = [name for name in self.keep if name not in frame.columns]
        if missing:
            raise DataError(f"The data have no column {missing[0]!r}, which keep names.")
        inner = self.model
        while hasattr(inner, "model_"):  # a wrapper reads what the model in it reads
            inner = inner.model_
        names = getattr(inner, "feature_names_in_", None)
        inputs: Any = frame.drop(columns=list(self.keep)).to_numpy()
        if names is not None:
            inputs = frame[[name for name in names if name in frame.columns]]
        made: pd.DataFrame = self.model.predict_table(
            inputs, self.coverage, self.alpha, container="pandas"
        )
        kept = frame[list(self.keep)].reset_index(drop=True)
        return kept.join(made.reset_index(drop=True))


class _Actor:
    """Holds the function, and the model in it, as long as the worker lives."""

    def __init__(self, function: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
        self._function = function

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        return self._function(frame)


def numbered_rows(source: ParquetSource) -> Any:
    """Rows of a source as a Ray dataset, read by row groups, with their numbers in "row"."""
    import ray.data

    count = len(source.pieces())
    return ray.data.range(count, override_num_blocks=count).map_batches(
        _ReadPieces(source), batch_size=None
    )


@dataclass(frozen=True)
class _ReadPieces:
    source: ParquetSource

    def __call__(self, batch: Any) -> Iterator[pa.Table]:
        import numpy as np
        import pyarrow as pa

        pieces = self.source.pieces()
        for number in batch["id"]:
            for part in pieces[number]():
                rows = np.arange(part.start, part.start + part.batch.num_rows)
                finite = part_inputs(part, None)  # an error names file and row group
                yield pa.Table.from_batches([finite]).append_column(ROW, pa.array(rows))

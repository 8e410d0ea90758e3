"""Evaluate a model on a source, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Index
from calibrant.errors import DataError
from calibrant.metrics import Evaluation, StreamedEvaluation, evaluate
from calibrant.streaming.inputs import Inputs, fitted_columns
from calibrant.tables import (
    Part,
    TableSource,
    check_target,
    part_inputs,
    part_target,
    warn_of_gaps,
)
from calibrant.training import open_row_progress

_SAMPLE_ROWS = 20_000  # that deciles are cut by, and whose values stay in `rows`


def evaluate_source(
    model: Any,
    source: TableSource,
    *,
    groups: Sequence[str] = (),
    coverage: float = 0.9,
    inputs: Inputs | None = None,
    verbose: bool = False,
) -> Evaluation:
    """Compute every metric of a model on a source that may be larger than memory.

    As `calibrant.evaluate`: counts, sums and scores are those of all rows, which are predicted
    once. Deciles of the prediction are cut at those of 20,000 rows, which are drawn first, and
    whose values are in ``rows`` of the result.

    Parameters
    ----------
    model : fitted model
    source : ParquetSource or ArrowSource
        With a target; rows that have none are left out, and counted in a warning.
    groups : sequence of str
        Columns of groups to check calibration in.
    coverage : float
        Nominal coverage of the intervals that `coverage` and `interval_score` report.
    inputs : callable, optional
        As in `predict_parquet`.
    verbose : bool
        Show a progress bar.
    """
    target, select = check_target(source), inputs or fitted_columns(model)
    if missing := [name for name in groups if name not in source.schema.names]:
        raise DataError(f"The source has no column {missing[0]!r}, which groups names.")
    drawn = np.sort(
        np.random.default_rng(0).choice(
            source.n_rows, size=min(source.n_rows, _SAMPLE_ROWS), replace=False
        )
    )
    frame, y = _rows(source, target, drawn)
    streamed = StreamedEvaluation(evaluate(model.predict_dist(select(frame)), y, coverage=coverage))
    n_known = 0
    with open_row_progress("Evaluating", source.n_rows, verbose=verbose) as advance:
        for part in source.parts():
            frame, y = _known(part, target)
            if len(y):
                texts = frame[list(groups)].astype(object).map(str)
                labels = {name: texts[name].str.strip().to_numpy() for name in groups}
                streamed.add(model.predict_dist(select(frame)), y, labels)
            n_known += len(y)
            advance(part.batch.num_rows)
    warn_of_gaps(source, source.n_rows - n_known, 2)
    return streamed.result()


def _known(part: Part, target: str) -> tuple[pd.DataFrame, Any]:
    """Inputs and targets of the rows that have one."""
    y = part_target(part, target)
    known = ~np.isnan(y)
    return part_inputs(part, target).to_pandas()[known], y[known]


def _rows(source: TableSource, target: str, drawn: Index) -> tuple[pd.DataFrame, Any]:
    """Inputs and targets of these rows, of which the number is sorted."""
    found = []
    for part in source.parts():
        first, last = np.searchsorted(drawn, [part.start, part.start + part.batch.num_rows])
        if last > first:
            taken = part.batch.take((drawn[first:last] - part.start).tolist())
            found.append(_known(part._replace(batch=taken), target))
    frames, targets = zip(*found, strict=True)
    y = np.concatenate(targets)
    if not len(y):
        raise DataError(f"None of the drawn rows has a target {target!r}.")
    return pd.concat(frames, ignore_index=True), y

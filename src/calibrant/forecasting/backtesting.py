"""Rolling-origin evaluation: what the forecasts would have been."""

from __future__ import annotations

import copy
import operator
import os
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone

from calibrant.distributions import Distribution, concatenate
from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._backtest import Backtest, Forecasts
from calibrant.forecasting._checkpoint import train
from calibrant.forecasting._progress import training_bar
from calibrant.forecasting._rows import Rows, read_rows
from calibrant.forecasting._step import StepModel, Stream
from calibrant.forecasting._table import SeriesTable
from calibrant.forecasting.forecaster import Forecaster

Policy = Literal["update", "refit", "static"]

_REFITS = 10


def backtest(
    forecaster: Forecaster,
    y: Any,
    X: Any = None,
    *,
    start: Any,
    policy: Policy = "update",
    every: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: bool = False,
) -> Backtest:
    """Forecast every row from `start` on from the rows before it.

    A clone of the forecaster is fitted on the rows before `start`. From then on each row is
    forecast 1 ... horizon steps ahead with what was known at its origin: outcomes that came later
    touch neither weights nor recalibration. The networks predict all rows in one pass.

    Parameters
    ----------
    forecaster : Forecaster
        It stays as it is.
    y, X
        As in `Forecaster.fit`; X holds the known-future covariates, too.
    start : int or time stamp
        First time to be forecast: its position among the time stamps in order (negative: from
        the end), or the stamp itself.
    policy : {"update", "refit", "static"}, default "update"
        "update": the recalibration learns from every outcome. "refit": it does, and all weights
        are trained again every so often. "static": the model stays as it was fitted, its
        recalibration included; ``recalibrate=None`` shows the estimator alone.
    every : int, optional
        Time stamps between two trainings of "refit"; a tenth of the test by default.
    checkpoint : path, optional
        Folder that keeps every trained model, so that an interrupted back-test, run again, trains
        only what is missing. It needs a `random_state` that is a number or None.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    Backtest

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Forecaster, HeteroscedasticRegressor, backtest
    >>> t = np.arange(500)
    >>> y = np.sin(t / 5) + 0.1 * np.random.default_rng(0).normal(size=500)
    >>> small = HeteroscedasticRegressor(hidden=(16,), epochs=5)
    >>> result = backtest(Forecaster(small, random_state=0), y, start=400)
    >>> len(result.dist), result.y_true.shape
    (100, (100,))
    """
    if policy not in ("update", "refit", "static"):
        raise ParameterError(f'policy must be "update", "refit" or "static", got {policy!r}.')
    model: Forecaster = clone(forecaster)
    model._check_parameters()
    rows = read_rows(y, X, id=model.id, time=model.time)
    times = rows.stamps.unique().sort_values()
    first = _position(start, times)
    blocks = list(_blocks(first, len(times), policy, every))
    found: dict[int, list[Forecasts]] = {step: [] for step in range(1, model.horizon + 1)}
    tested = int(np.sum(rows.stamps >= times[first]))
    several = verbose and len(blocks) > 1  # one bar over the trainings, none for each of them
    model.verbose = (model.verbose or verbose) and not several
    with training_bar("Back-test", len(blocks), show=several) as advance:
        model._begin(_between(rows, times, 0, first))
        model.fh_ = list(found)
        train(model, checkpoint)
        model._appended(_between(rows, times, first, len(times)), tell=True)
        for begin, stop in blocks:
            last = stop == len(times)
            # Forecasts of this block reach beyond it, and the next training must not know them.
            ahead = model if last else copy.deepcopy(model)
            clock, reach = model.series_.clock, min(len(times), stop + model.horizon - 1)
            since = clock.ticks(times[[begin]])[0] - clock.step
            until = np.inf if last else clock.ticks(times[[stop]])[0] - clock.step
            table = model._appended(_between(rows, times, begin, reach))
            for step, part in _forecasts(ahead, table, since, until, policy):
                found[step].append(part)
            if not last:
                model.series_ = model._appended(_between(rows, times, begin, stop))
                train(model, checkpoint)
            advance()
    return Backtest(_joined(found), model, policy, tested)


def _forecasts(
    model: Forecaster, table: SeriesTable, since: float, until: float, policy: Policy
) -> Iterator[tuple[int, Forecasts]]:
    """Go on to a longer series; give the forecasts of origins in [since, until) by step."""
    for step, stream in zip(model.steps_, model._advance(table), strict=True):
        kept = (stream.origin >= since) & (stream.origin < until)
        if stream.dist is not None and kept.any():
            dist = _recalibrated(step, stream, len(table.ids), policy)[kept]
            index = table.index(stream.code[kept], stream.target[kept])
            yield step.step, Forecasts(dist, stream.y[kept], index)


def _recalibrated(step: StepModel, stream: Stream, series: int, policy: Policy) -> Distribution:
    assert stream.dist is not None
    if step.recalibrator is None:
        return stream.dist
    if policy == "static":
        return step.recalibrator.transform(stream.dist)
    # An outcome is known `step` time stamps after the origin, each with a row of every series.
    return step.recalibrator.follow(stream.dist, stream.y, lag=step.step * series)


def _joined(found: dict[int, list[Forecasts]]) -> dict[int, Forecasts]:
    empty = [step for step, parts in found.items() if not parts]
    if empty:
        raise DataError(
            f"No row from `start` on could be forecast {empty[0]} steps ahead: after it no window "
            "with its target is whole. Choose an earlier start, or fill the gaps."
        )
    return {
        step: Forecasts(
            concatenate([part.dist for part in parts]),
            np.concatenate([part.y_true for part in parts]),
            parts[0].index.append([part.index for part in parts[1:]]),
        )
        for step, parts in found.items()
    }


def _between(rows: Rows, times: pd.Index[Any], begin: int, stop: int) -> Rows:
    chosen = rows.stamps >= times[begin] if begin < len(times) else np.zeros(len(rows), bool)
    if stop < len(times):
        chosen = chosen & (rows.stamps < times[stop])
    return rows.take(np.asarray(chosen))


def _blocks(first: int, n: int, policy: Policy, every: int | None) -> Iterator[tuple[int, int]]:
    if every is not None and (policy != "refit" or every < 1):
        raise ParameterError(
            f'every is the number of time stamps between trainings of policy="refit", got '
            f"{every!r} with {policy!r}."
        )
    size = n - first
    if policy == "refit":
        size = max(1, -(-size // _REFITS)) if every is None else every
    for begin in range(first, n, size):
        yield begin, min(n, begin + size)


def _position(start: Any, times: pd.Index[Any]) -> int:
    """Position of the first time to be forecast."""
    dated = isinstance(times, pd.DatetimeIndex | pd.PeriodIndex)
    try:
        position = operator.index(start)
        position += len(times) if position < 0 else 0
    except TypeError:
        if not dated:
            raise ParameterError(
                f"start must be a position, a whole number: got {start!r}."
            ) from None
        try:
            position = int(times.searchsorted(_stamp(start, times)))
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"start must be a position or a time stamp, got {start!r}: {error}"
            ) from error
    if not 0 < position < len(times):
        raise DataError(
            f"start={start!r} must leave rows on both sides: the series has {len(times)} time "
            f"stamps from {times[0]} to {times[-1]}."
        )
    return position


def _stamp(start: Any, times: Any) -> Any:
    if isinstance(times, pd.PeriodIndex):
        return pd.Period(start, times.freqstr)
    stamp = pd.Timestamp(start)
    return stamp.tz_localize(times.tz) if times.tz is not None and stamp.tz is None else stamp

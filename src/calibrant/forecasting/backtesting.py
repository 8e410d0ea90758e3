"""Rolling-origin evaluation: forecasts of known rows from the rows before them."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from calibrant.distributions import Distribution, concatenate
from calibrant.errors import CalibrantError, DataError, ParameterError
from calibrant.estimators.bounds import Bounds, bounded
from calibrant.forecasting._backtest import Backtest, Forecasts
from calibrant.forecasting._blocks import Block, Policy, blocks_from
from calibrant.forecasting._checkpoint import train
from calibrant.forecasting._checks import check_parameters
from calibrant.forecasting._direct import DirectStep
from calibrant.forecasting._naive import Repeated, SeasonalNaive
from calibrant.forecasting._progress import Countdown
from calibrant.forecasting._step import StepForecasts, StepModel
from calibrant.forecasting.forecaster import Forecaster
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.recalibration import AdaptiveRecalibrator

Run = Callable[..., Iterator[tuple[Any, Any]]]  # an engine: of a function and items


def backtest(
    forecaster: Forecaster,
    y: Any,
    X: Any = None,
    *,
    start: Any,
    policy: Policy = "update",
    every: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    run: Run | None = None,
    verbose: bool = False,
) -> Backtest:
    """Forecast every row from `start` on from the rows before it.

    A clone of the forecaster is fitted on the rows before `start`. Each later row is then
    forecast 1 ... horizon steps ahead with what was known at its origin: later outcomes affect
    neither weights nor recalibration. The networks predict all rows in one pass. Long horizons of
    the `GlobalNetwork` are forecast from every 5th, 11th or 23rd origin: from horizons of 35, 77
    and 161 steps on.

    Parameters
    ----------
    forecaster : Forecaster
        It is not changed.
    y, X
        As in `Forecaster.fit`; X includes the known-future covariates.
    start : int or time stamp
        First time to be forecast: its position among the time stamps in order (negative: from
        the end), or the stamp itself.
    policy : {"update", "refit", "static"}, default "update"
        "update": the recalibration learns from every outcome. "refit": also, all networks are
        trained again at regular intervals. "static": the model stays as fitted, including its
        recalibration; ``recalibrate=None`` shows the estimator alone.
    every : int, optional
        Time stamps between two trainings of "refit"; a tenth of the test by default.
    checkpoint : path, optional
        Folder for the trained models: an interrupted back-test, run again, trains only what is
        missing. It needs a `random_state` that is a number or None.
    run : callable, optional
        An engine that trains the models of "refit" side by side, with the same result, such as
        ``calibrant.engines.make_engine("ray")``. All its workers must reach `checkpoint`.
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
    check_parameters(model.window, model.horizon, model.recalibrate, model.bounds)
    series = SeriesFrame.read(y, X, series_id=model.series_id, time=model.time)
    blocks = blocks_from(start, series, model.horizon, policy, every)
    first = blocks[0].first
    found: dict[int, list[Forecasts]] = {step: [] for step in range(1, model.horizon + 1)}
    made: dict[int, list[StepForecasts]] = {step: [] for step in found}
    shows = model.verbose or verbose
    countdown = Countdown("Training", len(blocks))
    model._prepare(_training_rows(series, first))
    model.fh_ = list(found)
    encoded = model.design_.covariates.encode(series)

    def untrained() -> Iterator[tuple[int, Forecaster]]:
        for number, block in enumerate(blocks):
            one = copy.copy(model)
            if number:
                one.series_ = encoded.before(block.first)
            heading = countdown.next() if len(blocks) > 1 else True
            one.verbose = shows and run is None and heading
            yield number, one

    trained = _trained(untrained(), partial(_train, checkpoint), run or _one_by_one)
    for block, fitted in zip(blocks, trained, strict=True):
        for h, part, raw in _forecasts(fitted, encoded.before(block.end), block, policy):
            found[h].append(part)
            made[h].append(raw)
    fitted.verbose = shows
    joined = _joined(found)
    stride = fitted.steps_[0].stride
    baseline = _baseline(encoded.stacked(), first, made, policy, stride, model.bounds)
    return Backtest(joined, fitted, policy, int(np.sum(series.tick >= first)), baseline)


def _train(checkpoint: str | os.PathLike[str] | None, item: tuple[int, Forecaster]) -> Forecaster:
    train(item[1], checkpoint)
    return item[1]


def _one_by_one(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    return ((item, function(item)) for item in items)


def _trained(
    models: Iterator[tuple[int, Forecaster]], function: Callable[..., Forecaster], run: Run
) -> Iterator[Forecaster]:
    """Trained models in their order, which engines do not keep."""
    waiting: dict[int, Forecaster] = {}
    following = 0
    for (number, _), trained in run(function, models):
        if trained is None:
            raise CalibrantError("A worker was killed twice while it trained: is memory too small?")
        waiting[number] = trained
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _training_rows(series: SeriesFrame, start: int) -> SeriesFrame:
    """Rows before the first forecast; every series must have some."""
    before = series.before(start)
    new = np.setdiff1d(series.code, before.code)
    if len(new):
        names = ", ".join(repr(series.ids[code]) for code in new[:5])
        raise DataError(
            f"The series {names} have no rows before `start` to train on. Choose a later start, "
            "or leave them out."
        )
    return before


def _forecasts(
    model: Forecaster, series: SeriesFrame, block: Block, policy: Policy
) -> Iterator[tuple[int, Forecasts, StepForecasts]]:
    """Move the model on to longer series; yield the forecasts of the origins of a block."""
    shown = series.stacked()
    made = [
        (step, forecasts, _recalibrated(step, forecasts, len(shown.ids), policy))
        for step, forecasts in zip(model.steps_, model._advance(series), strict=True)
        if forecasts.dist is not None
    ]
    followed = [(forecasts, dist) for _, forecasts, dist in made]
    for (step, forecasts, _), dist in zip(made, model.model_.joined(followed), strict=True):
        kept = (forecasts.origin >= block.since) & (forecasts.origin < block.until)
        if kept.any():
            index, origin = (
                shown.index(forecasts.code[kept], tick[kept])
                for tick in (forecasts.target, forecasts.origin)
            )
            own = bounded(dist[kept], model.bounds)
            found = Forecasts(own, forecasts.y[kept], index, origin)
            yield step.step, found, forecasts.take(kept)


def _baseline(
    series: SeriesFrame,
    start: int,
    made: dict[int, list[StepForecasts]],
    policy: Policy,
    stride: int,
    bounds: Bounds | None,
) -> dict[int, Forecasts]:
    """Seasonal naive forecasts of the same rows, recalibrated over time as the policy says."""
    naive = SeasonalNaive.learn(series.before(start), len(made))
    repeated = Repeated(series, len(made))
    found = {}
    for step, parts in made.items():
        code, origin, y, target = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("code", "origin", "y", "target")
        )
        dist: Distribution = naive.forecasts(repeated, code, origin, step)
        if policy != "static":
            delay = -(-step // stride)
            rule = AdaptiveRecalibrator().for_delay(delay, len(series.ids))
            dist = rule.follow(dist, y, lag=delay * len(series.ids))
        where = series.index(code, target), series.index(code, origin)
        found[step] = Forecasts(bounded(dist, bounds), y, *where)
    return found


def _recalibrated(
    step: StepModel | DirectStep, forecasts: StepForecasts, n_series: int, policy: Policy
) -> Distribution:
    assert forecasts.dist is not None
    if step.recalibrator is None:
        return forecasts.dist
    if policy == "static":
        return step.recalibrator.transform(forecasts.dist)
    # An outcome is known `step` time stamps after the origin; every `stride` of them there is a
    # forecast of every series.
    lag = -(-step.step // step.stride) * n_series
    return step.recalibrator.follow(forecasts.dist, forecasts.y, lag=lag)


def _joined(found: dict[int, list[Forecasts]]) -> dict[int, Forecasts]:
    empty = [step for step, parts in found.items() if not parts]
    if empty:
        raise DataError(
            f"No row from `start` on could be forecast {empty[0]} steps ahead: no window after it "
            "is complete and has a target. Choose an earlier start, or fill the gaps."
        )
    return {
        step: Forecasts(
            concatenate([part.dist for part in parts]),
            np.concatenate([part.y_true for part in parts]),
            parts[0].index.append([part.index for part in parts[1:]]),
            parts[0].origin.append([part.origin for part in parts[1:]]),
        )
        for step, parts in found.items()
    }

"""All steps by one network, calibrated at each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from calibrant.checks import Array, Index
from calibrant.distributions import Distribution, Quantiles, ScoreRecalibrated
from calibrant.errors import DataError
from calibrant.forecasting._clock import Clock, Ticks
from calibrant.forecasting._ensemble import LEVELS, NetworkEnsemble
from calibrant.forecasting._horizon_maps import (
    calibrated,
    learn_knots,
    normal_scores,
    smooth_by_origin,
    smooth_over_steps,
    strictly_increasing,
)
from calibrant.forecasting._network_training import LEAST_SHARE
from calibrant.forecasting._pool import learn_shares, pooled
from calibrant.forecasting._step import StepForecasts
from calibrant.forecasting._window_source import InputScaling, WindowSource, rows_seen
from calibrant.forecasting._windows import WindowDesign, blocked_split
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.recalibration import AdaptiveRecalibrator

_STRIDES = 23, 11, 5, 1  # coprime to days and weeks of hours: every step meets every hour
_PER_HORIZON = 7  # origins that a horizon is followed from, at least
_CHUNK = 256  # windows that are predicted at once
_MIN_WINDOWS = 10
_LEAST_VALUES = 2  # to forecast from
_HELD_OUT_HORIZONS, _MOST_HELD_OUT = 5, 0.25


@dataclass
class DirectStep:
    """What the recalibration over time of one step needs.

    Parameters
    ----------
    step : int
    recalibrator : AdaptiveRecalibrator or None
    stride : int
        Rows between two origins from which forecasts are followed.
    """

    step: int
    recalibrator: AdaptiveRecalibrator | None
    stride: int


@dataclass
class DirectSteps:
    """Forecasts 1 ... horizon rows ahead by one network.

    Parameters
    ----------
    design : WindowDesign
    horizon : int
    ensemble : NetworkEnsemble
    steps : list of DirectStep

    Attributes
    ----------
    scaling : InputScaling
    knots : array of shape (horizon, Q)
        Calibration map of each step, see `learn_knots`.
    shares : array of shape (horizon,)
        Of the climatology in the averaged quantiles of each step.
    n_trained : int
        Series with an embedding, those of training.
    """

    design: WindowDesign
    horizon: int
    ensemble: NetworkEnsemble
    steps: list[DirectStep]
    scaling: InputScaling | None = None
    knots: Array = field(default_factory=lambda: np.zeros((0, len(LEVELS))))
    shares: Array = field(default_factory=lambda: np.zeros(0))
    n_trained: int = 0

    def rows_seen(self, clock: Clock) -> int:
        """Rows up to the origin that a forecast is based on."""
        return rows_seen(self.design.window, self._season(clock))

    @classmethod
    def untrained(
        cls,
        design: WindowDesign,
        horizon: int,
        settings: GlobalNetwork,
        recalibrator: AdaptiveRecalibrator | None,
        n_series: int,
        *,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | str = False,
    ) -> DirectSteps:
        """Steps before the training, with a clone of the settings and a recalibrator each."""
        settings = clone(settings)
        settings.verbose = settings.verbose or bool(verbose)
        if random_state is not None:
            settings.random_state = int(check_random_state(random_state).randint(2**31 - 1))
        stride = origin_stride(horizon)
        made = [
            DirectStep(
                step, recalibrator and recalibrator.for_delay(-(-step // stride), n_series), stride
            )
            for step in range(1, horizon + 1)
        ]
        return cls(design, horizon, NetworkEnsemble(settings), made)

    # ---- fit --------------------------------------------------------------------------------

    def fit(self, series: SeriesFrame) -> list[StepForecasts]:
        """Train the networks and learn the calibration of each step.

        Returns
        -------
        list of StepForecasts
            Of held-out origins, by networks that did not see what came after them.
        """
        self.ensemble.settings.check()
        series = series.stacked()
        source = self._source(series)
        self.scaling = source.scaling
        origins = self._training_origins(series, source)
        train, held_out = self._split(series, source, origins)
        self.ensemble.create(source, self.n_trained)
        with self.ensemble.progress(len(train), len(origins)) as advance:
            self.ensemble.train(source, train, advance)
            actual = _targets(source, held_out, self.horizon)  # (n, H)
            scale = self.scaling.series[source.grid.code[held_out]]
            parts = self._parts(source, held_out)
            self.shares = learn_shares(*parts, actual, scale, LEVELS)
            before = _averaged(*parts, self.shares)
            scores = normal_scores(before, actual.ravel()).reshape(actual.shape)
            self.knots = learn_knots(scores, LEVELS)
            forecasts = self._forecasts(series, source, held_out)
            # The map is learned from windows that the networks had not seen. These are the newest,
            # which matter most, so the networks learn from them now.
            self.ensemble.finish(source, origins, advance)
        return forecasts

    def training_seconds(self, series: SeriesFrame) -> float:
        """Time that `fit` spends on training, from that of a few steps; only before it."""
        series = series.stacked()
        source = self._source(series)
        self.ensemble.create(source, self.n_trained)
        return self.ensemble.training_seconds(source, self._training_origins(series, source))

    def go_on(self, series: SeriesFrame) -> None:
        """Train further on longer series; the calibration maps stay."""
        series = series.stacked()
        source = self._source(series)
        origins = self._training_origins(series, source)
        with self.ensemble.progress(0, len(origins)) as advance:
            self.ensemble.finish(source, origins, advance)

    def _training_origins(self, series: SeriesFrame, source: WindowSource) -> Index:
        """Windows with enough values to learn from, and at least one target."""
        origins = source.origins(max(_LEAST_VALUES, self.design.window // LEAST_SHARE))
        if len(origins) >= _MIN_WINDOWS:
            return origins
        raise DataError(
            f"Only {len(origins)} windows of {self.design.window} rows with a target; at least "
            f"{_MIN_WINDOWS} are needed. {int(np.isfinite(series.y).sum())} of {len(series)} rows "
            "have a target. Use a longer series, or a smaller window or horizon."
        )

    def _split(
        self, series: SeriesFrame, source: WindowSource, origins: Index
    ) -> tuple[Index, Index]:
        """Windows to train on, and held-out ones, which are the newest."""
        tick = source.ticks(origins)
        reach = self.horizon * series.clock.step
        times = (int(tick.max()) - int(tick.min())) // series.clock.step + 1
        # A few horizons at least: origins closer together than one have outcomes in common.
        least = min(_MOST_HELD_OUT, _HELD_OUT_HORIZONS * self.horizon / times)
        fraction = max(self.ensemble.settings.validation_fraction, least)
        train, held_out = blocked_split(tick, tick + reach, fraction)
        held_out = held_out[_on_stride(tick[held_out], series, self.steps[0].stride)]
        if len(train) < _MIN_WINDOWS or len(held_out) < 1:
            raise DataError(
                f"{len(train)} of {len(origins)} windows can be trained on and {len(held_out)} "
                f"held out: {self.horizon} steps after the last window to train on nothing can be "
                "used. Use a longer series or a smaller horizon."
            )
        return origins[train], origins[held_out]

    # ---- forecasts --------------------------------------------------------------------------

    def follow(self, series: SeriesFrame, seen: Ticks) -> list[StepForecasts]:
        """Forecast known targets after ``seen``, one tick per series, by step."""
        series, seen = series.stacked(), np.repeat(seen, series.targets.shape[1])
        source = self._source(series)
        origins = source.origins(_LEAST_VALUES)
        tick = source.ticks(origins)
        reach = self.horizon * series.clock.step
        new = tick + reach > seen[source.grid.code[origins]]
        kept = origins[new & _on_stride(tick, series, self.steps[0].stride)]
        return self._forecasts(series, source, kept, seen)

    def joined(self, followed: list[tuple[StepForecasts, Distribution]]) -> list[Distribution]:
        """Recalibrated forecasts of the steps, their knots averaged over steps as in `predict`."""
        found = [dist for _, dist in followed if isinstance(dist, ScoreRecalibrated)]
        if len(found) < self.horizon:  # no recalibration, or a step without any forecast
            return [dist for _, dist in followed]
        origins = [forecasts.origin for forecasts, _ in followed]
        smooth = smooth_by_origin([dist.knots for dist in found], origins)
        return [
            ScoreRecalibrated(dist.base, knots, AdaptiveRecalibrator.levels)
            for dist, knots in zip(found, smooth, strict=True)
        ]

    def predict(self, series: SeriesFrame, ahead: int, steps: list[int]) -> Distribution:
        """Forecast all steps of the first series and target, then of the next.

        Parameters
        ----------
        series : SeriesFrame
        ahead : int
            The last rows of each series that are still to come, with known-future covariates.
        steps : list of int
        """
        series = series.stacked()
        source = self._source(series)
        last = series.last_rows() - ahead
        origins = source.grid.position[last]
        empty = source.observed()[origins] < _LEAST_VALUES
        if empty.any():
            where = series.index(series.code[last[empty]], series.tick[last[empty]])[0]
            raise DataError(
                f"The {self.design.window} rows up to {where} hold fewer than {_LEAST_VALUES} "
                "values: there is nothing to forecast from. Update with newer rows first."
            )
        chosen = np.array(steps) - 1
        dist = self._calibrated(source, origins, chosen)
        if self.steps[0].recalibrator is None:
            return dist
        learned = np.stack([_knots(step.recalibrator) for step in self.steps])
        knots = np.tile(smooth_over_steps(learned)[chosen], (len(last), 1))
        return ScoreRecalibrated(dist, knots, AdaptiveRecalibrator.levels)

    def _forecasts(
        self, series: SeriesFrame, source: WindowSource, origins: Index, seen: Ticks | None = None
    ) -> list[StepForecasts]:
        """Forecasts of each step in order of time; of the targets after `seen` only."""
        order = np.lexsort((source.grid.code[origins], source.ticks(origins)))
        origins = origins[order]
        code, origin = source.grid.code[origins], source.ticks(origins)
        actual = _targets(source, origins, self.horizon)
        dist = self._calibrated(source, origins, np.arange(self.horizon)) if len(origins) else None
        found = []
        for at in range(self.horizon):
            target = origin + (at + 1) * series.clock.step
            kept = np.isfinite(actual[:, at])
            if seen is not None:
                kept &= target > seen[code]
            rows = np.flatnonzero(kept)
            part = dist[rows * self.horizon + at] if dist is not None and len(rows) else None
            found.append(
                StepForecasts(code[rows], origin[rows], target[rows], actual[rows, at], part)
            )
        return found

    def _calibrated(self, source: WindowSource, origins: Index, chosen: Index) -> Quantiles:
        """Calibrated forecasts of some steps, rows sorted by window, then by step."""
        networks, climatology = (part[:, chosen] for part in self._parts(source, origins))
        dist = _averaged(networks, climatology, self.shares[chosen])
        return calibrated(dist, np.tile(self.knots[chosen], (len(origins), 1)))

    def _parts(self, source: WindowSource, origins: Index) -> tuple[Array, Array]:
        """Quantiles of the networks and of the climatology, (n, horizon, Q) each."""
        chunks = [origins[at : at + _CHUNK] for at in range(0, len(origins), _CHUNK)]
        networks = [self.ensemble.quantiles(source, chunk) for chunk in chunks]
        climatology = [source.climatology(chunk).cpu().numpy() for chunk in chunks]
        return np.concatenate(networks), np.concatenate(climatology)

    def _source(self, series: SeriesFrame) -> WindowSource:
        if not self.ensemble.networks:
            self.n_trained = len(series.ids)
        return WindowSource(
            series,
            self.design,
            self.horizon,
            LEVELS,
            self.scaling,
            self.n_trained,
            self.ensemble.device,
            self._season(series.clock),
        )

    def _season(self, clock: Clock) -> int:
        season = self.ensemble.settings.season
        return clock.season if season == "auto" else int(season)


def origin_stride(horizon: int) -> int:
    """Rows between two origins from which forecasts are followed.

    Neighbouring origins tell nearly the same of a long horizon.
    """
    return next(stride for stride in _STRIDES if stride <= max(1, horizon // _PER_HORIZON))


def _averaged(networks: Array, climatology: Array, shares: Array) -> Quantiles:
    """Averaged quantiles (n, H, Q) as a distribution of n * H rows."""
    values = pooled(networks, climatology, shares[:, None])
    return Quantiles(LEVELS, strictly_increasing(values.reshape(-1, len(LEVELS))))


def _knots(recalibrator: Any) -> Array:
    knots: Array = recalibrator.knots
    return knots


def _targets(source: WindowSource, origins: Index, horizon: int) -> Array:
    """Targets of the steps after each origin, (n, horizon); nan where missing."""
    return np.asarray(source.values[origins[:, None] + np.arange(1, horizon + 1)])


def _on_stride(tick: Ticks, series: SeriesFrame, stride: int) -> Any:
    return (tick // series.clock.step) % stride == 0

"""Windows of a panel as batches for the network, each in units of its own level and scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from calibrant.checks import Array, Index
from calibrant.forecasting._climatology import climatology, seasons_seen
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting._grid import Grid, observed_after, observed_before
from calibrant.forecasting._windows import WindowDesign
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.networks import WindowBatch
from calibrant.persistence import savable_part

LEAST_SEASONS = 4  # in a window, to estimate quantiles of each phase
_FLOOR = 0.1  # of a series' scale, added to that of a window: a calm one must not explode
_FILL_ROUNDS = 3  # seasons that a filled gap may reach back


class Scaled(NamedTuple):
    """Inputs and targets of n windows.

    Attributes
    ----------
    batch : WindowBatch
    level, scale : tensors of shape (n, 1)
    weight : tensor of shape (n, 1)
        Scale of the window over that of its series.
    target : tensor of shape (n, horizon)
        Scaled; nan where it is missing.
    """

    batch: WindowBatch
    level: Tensor
    scale: Tensor
    weight: Tensor
    target: Tensor


@savable_part
@dataclass(frozen=True)
class InputScaling:
    """Location, scale and range of the inputs, from training rows.

    Attributes
    ----------
    loc, scale, low, high : arrays of shape (c,)
        Of known, past and static inputs, in this order.
    series : array of shape (n_series,)
        Mean absolute deviation of every series.
    """

    loc: Array
    scale: Array
    low: Array
    high: Array
    series: Array

    @classmethod
    def learn(cls, inputs: Array, series: SeriesFrame) -> InputScaling:
        """Learn from inputs (T, c) and the targets of the same rows."""
        seen = np.isfinite(inputs).any(axis=0)
        loc, scale = np.zeros(inputs.shape[1]), np.ones(inputs.shape[1])
        loc[seen] = np.nanmean(inputs[:, seen], axis=0)
        scale[seen] = np.nanstd(inputs[:, seen], axis=0)
        low, high = loc.copy(), loc.copy()
        low[seen] = np.nanmin(inputs[:, seen], axis=0)
        high[seen] = np.nanmax(inputs[:, seen], axis=0)
        return cls(loc, np.where(scale > 0, scale, 1.0), low, high, series_scales(series))

    def apply(self, inputs: Array) -> Array:
        """Scaled inputs; beyond the range of training they stay at its ends.

        A network extrapolates without restraint: the first frost would be a leap into the unknown.
        """
        return (np.clip(inputs, self.low, self.high) - self.loc) / self.scale

    def with_new(self, series: SeriesFrame) -> Array:
        """Scales of all series of a frame: those of training, and of new ones their own."""
        known = len(self.series)
        if len(series.ids) == known:
            return self.series
        return np.concatenate([self.series, series_scales(series)[known:]])


def series_scales(series: SeriesFrame) -> Array:
    """Mean absolute deviation of each series from its mean, (n_series,); never 0."""
    kept = np.isfinite(series.y)
    code, y = series.code[kept], series.y[kept]
    n = np.maximum(np.bincount(code, minlength=len(series.ids)), 1)
    mean = np.bincount(code, y, minlength=len(series.ids)) / n
    spread = np.bincount(code, np.abs(y - mean[code]), minlength=len(series.ids)) / n
    # A constant series has no scale of its own: a millionth of its level keeps rounding out.
    return np.maximum(spread, 1e-6 * np.maximum(np.abs(mean), 1.0))


def rows_seen(window: int, season: int) -> int:
    """Rows up to the origin that a forecast is based on, those of the climatology included."""
    seasons, phases = seasons_seen(season)
    return max(window, seasons * phases)


class WindowSource:
    """Gathers windows and their targets from a panel on the grid.

    Parameters
    ----------
    series : SeriesFrame
    design : WindowDesign
    horizon : int
    levels : array of shape (Q,)
        Of the seasonal quantiles.
    scaling : InputScaling or None
        None learns it from these rows.
    n_embedded : int
        Series with an embedding: those of training.
    device : torch.device
    season : int
        Rows per season.
    """

    def __init__(
        self,
        series: SeriesFrame,
        design: WindowDesign,
        horizon: int,
        levels: Array,
        scaling: InputScaling | None,
        n_embedded: int,
        device: torch.device,
        season: int,
    ) -> None:
        self.window, self.horizon = design.window, horizon
        self.season = season
        self._seasons, self._phases = seasons_seen(self.season)
        self._weekly = series.clock.is_day(self._phases)
        self.grid = Grid.lay_out(series, rows_seen(self.window, self.season), horizon)
        past, future, static = design.covariates.split(series)
        calendar = design.calendar.features(series.clock.stamps(self.grid.tick))
        inputs = np.hstack([calendar, *(self.grid.spread_out(x) for x in (future, past, static))])
        self.scaling = scaling or InputScaling.learn(inputs, series)
        self.values = self.grid.spread_out(series.y)
        self._n_future = future.shape[1]
        stops = np.cumsum([calendar.shape[1] + future.shape[1], past.shape[1]])
        scaled = np.nan_to_num(self.scaling.apply(inputs))
        known, past, static = np.split(scaled, stops, axis=1)
        code = np.where(self.grid.code < n_embedded, self.grid.code + 1, 0)

        def tensor(array: Array) -> Tensor:
            return torch.as_tensor(array, dtype=torch.float32, device=device)

        self._known, self._past, self._static = tensor(known), tensor(past), tensor(static)
        # float64: a series far from 0 would lose its digits before it is scaled
        self._values = torch.as_tensor(self.values, device=device)
        self._levels = torch.as_tensor(levels, dtype=torch.float64, device=device)
        self._code = torch.as_tensor(code, device=device)
        scales = self.scaling.with_new(series)
        self._scale = torch.as_tensor(scales[self.grid.code], device=device)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of known, past and static inputs; two of the static ones are the window's own."""
        known, past, static = (x.shape[1] for x in (self._known, self._past, self._static))
        return known, past, static + 2

    def observed(self, window: int | None = None) -> Index:
        """Number of values in the window that ends at each grid row, (G,)."""
        return observed_before(self.values, window or self.window)

    def origins(self, least: int) -> Index:
        """Grid rows with a row, at least `least` values in their window and one target ahead."""
        enough = self.observed() >= least
        found = (self.grid.row >= 0) & enough & observed_after(self.values, self.horizon)
        return np.flatnonzero(found)

    def ticks(self, origins: Index) -> Ticks:
        """Time of grid rows."""
        return self.grid.tick[origins]

    def gather(self, origins: Index | Tensor, window: int) -> Scaled:
        """Inputs and targets of the windows that end at n grid rows.

        Parameters
        ----------
        origins : index of shape (n,)
        window : int
            Rows of a window, at most those of the source.
        """
        at = torch.as_tensor(origins, device=self._values.device)[:, None]
        seen = at + torch.arange(1 - window, 1, device=at.device)
        ahead = at + torch.arange(1, self.horizon + 1, device=at.device)
        at = at[:, 0]
        x, own = self._values[seen], self._scale[at][:, None]
        there = torch.isfinite(x)
        mean, share = _mean(x, there), there.double().mean(dim=1, keepdim=True)
        deviation = _mean((x - mean).abs(), there)
        scale = deviation + _FLOOR * own
        recent = there[:, -self.season :]
        level = torch.where(
            recent.any(dim=1, keepdim=True), _mean(x[:, -self.season :], recent), mean
        )
        filled = _filled((x - level) / scale, there, self.season)
        weight = scale / own
        inside = torch.cat([torch.log(weight), share - 1.0], dim=1)
        batch = WindowBatch(
            past=filled.float(),
            past_inputs=self._past[seen],
            known=self._known_ahead(seen, ahead),
            static=torch.cat([self._static[at], inside.float()], dim=1),
            series=self._code[at],
            seasonal=self._seasonal((x - level) / scale).float(),
        )
        target = (self._values[ahead] - level) / scale
        return Scaled(batch, level, scale, weight.float(), target.float())

    def _known_ahead(self, seen: Tensor, ahead: Tensor) -> Tensor:
        """Calendar of the steps, and covariates as deviations from the window's own, (n, H, c).

        The covariates drift with the seasons as the level of the window does; what the network
        learned in summer about a warm day is then of use in winter.
        """
        if not self._n_future:
            return self._known[ahead]
        calendar = self._known[:, : -self._n_future]
        covariates = self._known[:, -self._n_future :]
        usual = self._by_phase(covariates[seen]).mean(dim=1)  # n, season, c
        return torch.cat(
            [calendar[ahead], covariates[ahead] - usual[:, self._phase_of_steps(usual)]], dim=2
        )

    def climatology(self, origins: Index | Tensor) -> Tensor:
        """Climatology of n origins in units of the target, (n, horizon, Q)."""
        at = torch.as_tensor(origins, device=self._values.device)[:, None]
        seen = at + torch.arange(1 - self._seasons * self._phases, 1, device=at.device)
        ahead = at + torch.arange(1, self.horizon + 1, device=at.device)
        covariates = self._known[:, self._known.shape[1] - self._n_future :]
        return climatology(
            self._values[seen],
            covariates[seen],
            covariates[ahead],
            self._levels,
            self._phases,
            weekly=self._weekly,
        )

    def _seasonal(self, x: Tensor) -> Tensor:
        """Quantiles of the window's values in the phase of each step, (n, horizon, Q)."""
        found = torch.nanquantile(self._by_phase(x), self._levels, dim=1).permute(1, 2, 0)
        overall = torch.nanquantile(x, self._levels, dim=1).T[:, None]
        found = torch.where(torch.isnan(found), overall, found)
        return found[:, self._phase_of_steps(found)]

    def _by_phase(self, x: Tensor) -> Tensor:
        """Values of windows (n, window, ...) by season and phase, (n, seasons, season, ...)."""
        window = x.shape[1]
        season = self.season if window >= LEAST_SEASONS * self.season else 1
        seasons = window // season
        return x[:, window - seasons * season :].reshape(-1, seasons, season, *x.shape[2:])

    def _phase_of_steps(self, by_phase: Tensor) -> Tensor:
        """Phase of each step, (horizon,), in values of shape (n, season, ...)."""
        return torch.arange(self.horizon, device=by_phase.device) % by_phase.shape[1]


def _mean(x: Tensor, there: Tensor) -> Tensor:
    """Mean of the values that are there, 0 where there is none, (n, 1)."""
    total = torch.where(there, x, 0.0).sum(dim=1, keepdim=True)
    return total / there.sum(dim=1, keepdim=True).clamp(min=1)


def _filled(x: Tensor, there: Tensor, season: int) -> Tensor:
    """Gaps get the value of up to three seasons before, or 0, the level of the window."""
    x = torch.where(there, x, 0.0)
    for _ in range(_FILL_ROUNDS if x.shape[1] > season else 0):
        earlier, known = x.roll(season, dims=1), there.roll(season, dims=1)
        known[:, :season] = False
        x = torch.where(~there & known, earlier, x)
        there = there | known
    return x

"""Parameters of the network for all steps, series and targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from calibrant.errors import ParameterError


@dataclass(eq=False)
class GlobalNetwork(BaseEstimator):
    """One network for all steps ahead and all series, the default of `Forecaster`.

    It forecasts quantiles of every step directly (no step is fed into the next). Each window is
    scaled by its own level and spread; the network corrects the quantiles that the window's values
    have in the same phase of the season, by a linear map of the window and a part that sees
    covariates, calendar and an embedding of the series, too. Gaps are filled inside the network's
    input only, and a series shorter than the window is padded.

    Networks of four kinds take turns, where the window has enough seasons: that part is a hidden
    layer that reads the whole window, its newest half or its last four seasons, or it mixes whole
    seasons of the window.

    Their quantiles are averaged, and with a climatology: those of the last 56 seasons, newer ones
    weighted more, in the same phase of the season, moved by weekday and known covariates.

    `fit` trains on all but the newest windows, learns from their forecasts the share of the
    climatology and a calibration map for each step, then goes on training on all windows.

    Parameters
    ----------
    members : int, default 4
        Networks of different seeds and kinds, whose quantiles are averaged.
    hidden : int, default 256
        Units of the hidden layer.
    dropout : float, default 0.3
    epochs : float, default 2
        Passes over all windows of all series, twice as many of the mixer. They overlap, so that
        one or two are enough.
    batch_size : int, default 128
        Windows per step of the optimiser.
    lr, weight_decay : float
        Of AdamW, whose rate rises and falls in one cycle.
    season : "auto" or int
        Rows per season. "auto": a day for steps below a day, a week for days, a year for months.
    validation_fraction : float, default 0.1
        Share of the time, at the end, from whose forecasts the calibration of each step is
        learned.
    device : str, default "auto"
        "auto" is a GPU if there is one.
    random_state : int or None
    verbose : bool, default False
        Show a progress bar.

    Examples
    --------
    >>> from calibrant import Forecaster, GlobalNetwork
    >>> Forecaster(GlobalNetwork(members=5), window=336, horizon=168).estimator.members
    5
    """

    members: int = 4
    hidden: int = 256
    dropout: float = 0.3
    epochs: float = 2.0
    batch_size: int = 128
    lr: float = 2e-3
    weight_decay: float = 0.3
    season: int | Literal["auto"] = "auto"
    validation_fraction: float = 0.1
    device: str = "auto"
    random_state: int | None = None
    verbose: bool = False

    _counts: ClassVar[tuple[str, ...]] = ("members", "hidden", "batch_size")

    def check(self) -> None:
        """Refuse parameters out of range."""
        for name in self._counts:
            self._require(name, "a whole number of at least 1", _is_count(getattr(self, name)))
        self._require(
            "season", '"auto" or a whole number', self.season == "auto" or _is_count(self.season)
        )
        for name in ("epochs", "lr"):
            self._require(name, "a positive number", _is_number(getattr(self, name), 0.0, np.inf))
        fraction = _is_number(self.validation_fraction, 0.0, 0.5)
        self._require("validation_fraction", "a number in (0, 0.5)", fraction)
        self._require("dropout", "a number in [0, 1)", _is_number(self.dropout, -1e-12, 1.0))
        decays = _is_number(self.weight_decay, -1e-12, np.inf)
        self._require("weight_decay", "a number of at least 0", decays)

    def _require(self, name: str, what: str, holds: bool) -> None:
        if not holds:
            raise ParameterError(f"{name} must be {what}, got {getattr(self, name)!r}.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


def _is_number(value: Any, above: float, below: float) -> bool:
    return isinstance(value, int | float | np.number) and above < float(value) < below

"""Results of a back-test: forecasts with their outcomes, and scores."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.forecasting._fans import backtest_fans
from calibrant.metrics import Evaluation, coverage, crps, evaluate

# What fits into a line.
_SHOWN = ("n", "ecpe", "ecpe_floor", "coverage", "crps", "naive_crps", "rmse", "epiw")


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts a fixed number of steps ahead in order of time, with their outcomes.

    Attributes
    ----------
    dist : Distribution of n rows
    y_true : array of shape (n,)
    index : pandas index of n rows
        Time that each forecast is for; series and time for a panel.
    origin : pandas index of n rows
        Last time that was known when the forecast was made; series and time for a panel.
    """

    dist: Distribution
    y_true: Array
    index: pd.Index[Any]
    origin: pd.Index[Any]

    def __len__(self) -> int:
        return len(self.y_true)


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts of a rolling origin, and their scores.

    Attributes
    ----------
    by_horizon : dict of int to Forecasts
        Forecasts 1, 2 ... steps ahead.
    forecaster : Forecaster
        The model after the last row.
    policy : str
    tested : int
        Rows from the start on; those without a complete window or a target have no forecast.
    baseline : dict of int to Forecasts
        Seasonal naive forecasts of the same rows: the last season repeated, with intervals from
        its errors on the training rows, which adapt over time unless the policy is "static".
    """

    by_horizon: dict[int, Forecasts]
    forecaster: Any
    policy: str
    tested: int
    baseline: dict[int, Forecasts] = field(default_factory=dict)
    _evaluated: dict[float, dict[int, Evaluation]] = field(default_factory=dict, repr=False)

    @property
    def dist(self) -> Distribution:
        """Distributions one step ahead, in order of time."""
        return self.by_horizon[1].dist

    @property
    def y_true(self) -> Array:
        """Observed targets of `dist`, (n,)."""
        return self.by_horizon[1].y_true

    @property
    def index(self) -> pd.Index[Any]:
        """Time of the rows of `dist`; series and time for a panel."""
        return self.by_horizon[1].index

    def evaluations(self, *, coverage: float = 0.9) -> dict[int, Evaluation]:
        """Return what `evaluate` finds about each horizon; kept for the next call.

        Parameters
        ----------
        coverage : float
            Nominal level of the intervals whose coverage is reported.
        """
        if coverage not in self._evaluated:
            self._evaluated[coverage] = {
                step: evaluate(found.dist, found.y_true, coverage=coverage)
                for step, found in self.by_horizon.items()
            }
        return self._evaluated[coverage]

    def scores(self, *, coverage: float = 0.9) -> pd.DataFrame:
        """Every metric of each horizon, with the noise floors of calibration errors.

        ``naive_crps`` and ``naive_coverage`` are those of the seasonal naive baseline.

        Parameters
        ----------
        coverage : float
            Nominal level of the intervals whose coverage is reported.
        """
        rows = {
            step: _scores(found) | _naive_scores(self.baseline.get(step), coverage)
            for step, found in self.evaluations(coverage=coverage).items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("horizon")

    def scores_over_time(
        self, blocks: int = 10, *, horizon: int = 1, coverage: float = 0.9
    ) -> pd.DataFrame:
        """Scores of consecutive blocks of rows, indexed by the first time of each.

        Parameters
        ----------
        blocks : int
        horizon : int
            Steps ahead.
        coverage : float
        """
        found = self._at(horizon)
        if not 1 <= blocks <= len(found):
            raise ParameterError(f"blocks must lie between 1 and {len(found)}, got {blocks}.")
        edges = np.linspace(0, len(found), blocks + 1).round().astype(int)
        times = found.index.get_level_values(-1)
        rows = [
            _scores(evaluate(found.dist[a:b], found.y_true[a:b], coverage=coverage))
            for a, b in pairwise(edges)
        ]
        return pd.DataFrame(rows, index=times[edges[:-1]]).rename_axis("from")

    def frame(self, *, coverage: float = 0.9) -> pd.DataFrame:
        """All forecasts as a table: time, origin, horizon, y_true, mean, stddev, lower, upper."""
        return pd.concat(
            [_table(found, step, coverage) for step, found in self.by_horizon.items()],
            ignore_index=True,
        )

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        coverage: float = 0.9,
        title: str | None = None,
        target: str | None = None,
        overwrite: bool = False,
    ) -> Any:
        """Show some forecasts as fans, and calibration by step, on one interactive page.

        Parameters
        ----------
        path : path, optional
            HTML file to write as well.
        coverage : float in (0, 1)
            Nominal coverage of the verdict, and the start of the slider.
        title, target : str, optional
            Title of the page and name of the target.
        overwrite : bool
            Replace an existing file.

        Returns
        -------
        calibrant.report.Report
            With ``html`` and ``save(path)``; a notebook displays the page.
        """
        from calibrant.report import build_series_report

        evaluations = self.evaluations(coverage=coverage)
        naive = {step: crps(found.dist, found.y_true) for step, found in self.baseline.items()}
        page = build_series_report(
            backtest_fans(self, evaluations),
            evaluations=evaluations,
            naive_crps=naive,
            coverage=coverage,
            title=title,
            target=target or ", ".join(map(str, self.forecaster.series_.targets.columns)),
            settings={"policy": self.policy, "model": repr(self.forecaster)},
        )
        if path is not None:
            page.save(path, overwrite=overwrite)
        return page

    def __str__(self) -> str:
        first, n = self.by_horizon[1], len(self.by_horizon[1])
        left_out = f", {self.tested - n:,} without a complete window" if n < self.tested else ""
        scores = self.scores()
        shown = scores[[name for name in _SHOWN if name in scores]].round(4).to_string()
        return (
            f"Back-test, policy {self.policy!r}: {n:,} of {self.tested:,} rows{left_out}, from "
            f"{first.index[0]} to {first.index[-1]}\n{shown}"
        )

    def _at(self, horizon: int) -> Forecasts:
        if horizon not in self.by_horizon:
            raise ParameterError(
                f"horizon must be one of {', '.join(map(str, self.by_horizon))}, got {horizon!r}."
            )
        return self.by_horizon[horizon]


def _scores(found: Evaluation) -> dict[str, float]:
    floors = {f"{name}_floor": floor.expected for name, floor in found.floors.items()}
    return {"n": found.n, **found.metrics, **floors}


def _naive_scores(found: Forecasts | None, level: float) -> dict[str, float]:
    if found is None:
        return {}
    return {
        "naive_crps": crps(found.dist, found.y_true),
        "naive_coverage": coverage(found.dist, found.y_true, coverage=level),
    }


def _table(found: Forecasts, step: int, coverage: float) -> pd.DataFrame:
    bounds = found.dist.interval(coverage)
    index = found.index
    keys = {"id": index.get_level_values(0)} if isinstance(index, pd.MultiIndex) else {}
    return pd.DataFrame(
        {
            **keys,
            "time": index.get_level_values(-1),
            "origin": found.origin.get_level_values(-1),
            "horizon": step,
            "y_true": found.y_true,
            "mean": found.dist.mean,
            "stddev": found.dist.stddev,
            "lower": bounds[:, 0],
            "upper": bounds[:, 1],
        }
    )

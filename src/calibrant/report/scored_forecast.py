"""The forecasts of a report by name, and what is computed once of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import LEVELS, Evaluation, evaluate, mean_width, pit
from calibrant.metrics._inputs import Array, check_dist
from calibrant.metrics.calibration import covered_counts

Settings = dict[str, str]
Forecast = tuple[Distribution, Settings, str | None]


@dataclass(frozen=True, eq=False)
class Judged:
    """One forecast of n rows and its figures.

    Attributes
    ----------
    name : str
    dist : Distribution of n rows
    settings : dict of parameter to its value as text, empty for a bare distribution
    scores : Evaluation
    pit : array of shape (n,)
    crps : array of shape (n,)
    coverage, width : arrays of shape (99,)
        Exact, over all rows, at the levels 0.01 ... 0.99.
    """

    name: str
    dist: Distribution
    settings: Settings
    scores: Evaluation
    pit: Array
    crps: Array
    coverage: Array
    width: Array


def judge(name: str, dist: Distribution, y: Array, level: float, settings: Settings) -> Judged:
    """Compute everything that needs all rows of a forecast."""
    u = pit(dist, y)
    return Judged(
        name=name,
        dist=dist,
        settings=settings,
        scores=evaluate(dist, y, coverage=level),
        pit=u,
        crps=dist.crps(y),
        coverage=covered_counts(u) / len(u),
        width=mean_width(dist, LEVELS),
    )


def name_forecasts(models: Any, X: Any) -> dict[str, Forecast]:
    """Distribution, settings and target of every model, by name."""
    if not isinstance(models, Mapping):
        shown = "forecast" if isinstance(models, Distribution) else type(models).__name__
        models = {shown: models}
    if not models:
        raise ParameterError("A report needs at least one model or distribution, got none.")
    found = {
        str(name): (_predict(model, X), _settings(model), _target(model))
        for name, model in models.items()
    }
    sizes = {name: len(dist) for name, (dist, _, _) in found.items()}
    if len(set(sizes.values())) > 1:
        raise DataError(f"Models are compared on the same rows, got different numbers: {sizes}.")
    return found


def _predict(model: Any, X: Any) -> Distribution:
    if isinstance(model, Distribution):
        dist = model
    elif not hasattr(model, "predict_dist"):
        raise ParameterError(
            f"Expected a model with predict_dist or a distribution, got {type(model).__name__}. A "
            "model with predict alone becomes one in ConformalRecalibrator().fit(model, X, y)."
        )
    elif X is None:
        raise ParameterError(f"X is None, but the {type(model).__name__} needs rows to predict.")
    else:
        dist = model.predict_dist(X)
    check_dist(dist)
    return dist


def _settings(model: Any) -> Settings:
    if isinstance(model, Distribution):
        return {}
    own = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    shown = {"class": type(model).__name__} | {key: _short(own[key]) for key in sorted(own)}
    base = getattr(model, "model_", None)  # what a recalibrator wraps
    if base is not None:
        shown |= {f"model: {key}": value for key, value in _settings(base).items()}
    return shown


def _target(model: Any) -> str | None:
    """Name of the target that a model, or what a recalibrator wraps, was fitted to."""
    name: str | None = getattr(model, "target_name_", None)
    base = getattr(model, "model_", None)
    return name or (None if base is None else _target(base))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:200]} ..."


def thin(n: int, limit: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """At most `limit` evenly spaced positions of n."""
    return np.unique(np.linspace(0, n - 1, min(n, limit)).round().astype(np.intp))

"""The forecasts of a report by name, with their evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import Evaluation, evaluate
from calibrant.metrics.inputs import check_dist, check_target

Settings = dict[str, str]

_MOST_COLUMNS = 200  # of a model whose settings are shown


@dataclass(frozen=True, eq=False)
class ScoredForecast:
    """One forecast of n rows and its evaluation.

    Attributes
    ----------
    name : str
    scores : Evaluation
    settings : dict of parameter to its value as text, empty for a bare distribution
    target : str or None
        Name of the target that the model was fitted to.
    """

    name: str
    scores: Evaluation
    settings: Settings
    target: str | None = None


def score_forecasts(
    models: Any,
    X: Any,
    y: ArrayLike,
    coverage: float,
    evaluations: Evaluation | Mapping[str, Evaluation] | None = None,
) -> list[ScoredForecast]:
    """Evaluate every model, except those whose evaluation is given.

    Parameters
    ----------
    models : fitted model, Distribution of n rows, or mapping from names to them
    X : array or frame of shape (n, d), or None
    y : array of shape (n,) or (n, 1)
    coverage : float
    evaluations : Evaluation, or mapping from names to them, optional
    """
    if not isinstance(models, Mapping):
        shown = "forecast" if isinstance(models, Distribution) else type(models).__name__
        models = {shown: models}
        evaluations = {shown: evaluations} if isinstance(evaluations, Evaluation) else evaluations
    if not models:
        raise ParameterError("A report needs at least one model or distribution, got none.")
    known = _check_evaluations(evaluations, models, coverage)
    dists = {
        name: known[name].rows.dist if name in known else _predict(model, X)
        for name, model in models.items()
    }
    sizes = {str(name): len(dist) for name, dist in dists.items()}
    if len(set(sizes.values())) > 1:
        raise DataError(f"Models are compared on the same rows, got different numbers: {sizes}.")
    target = check_target(next(iter(dists.values())), y)
    for name, evaluation in known.items():
        if not np.array_equal(evaluation.rows.y, target):
            raise DataError(f"The evaluation of {name} is of other targets than y.")
    return [
        ScoredForecast(
            name=str(name),
            scores=known.get(name) or evaluate(dists[name], target, coverage=coverage),
            settings=_settings(model),
            target=_target(model),
        )
        for name, model in models.items()
    ]


def _check_evaluations(
    evaluations: Any, models: Mapping[str, Any], coverage: float
) -> Mapping[str, Evaluation]:
    if evaluations is None:
        return {}
    if not isinstance(evaluations, Mapping) or not set(evaluations) <= set(models):
        raise ParameterError(
            "evaluations must map names of models to what `evaluate` returned for them, got "
            f"{sorted(map(str, evaluations)) if isinstance(evaluations, Mapping) else evaluations} "
            f"for the models {sorted(map(str, models))}."
        )
    for name, evaluation in evaluations.items():
        if evaluation.level != coverage:
            raise ParameterError(
                f"The report is about coverage {coverage:g}, but the evaluation of {name} is "
                f"about {evaluation.level:g}. Pass coverage={evaluation.level:g}."
            )
    return evaluations


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
    columns = getattr(getattr(model, "encoder_", None), "summary", None)
    if isinstance(columns, list):  # our own, how the columns of a table are read
        shown |= {f"column {row['column']}": row["read"] for row in columns[:_MOST_COLUMNS]}
    base = getattr(model, "model_", None)  # of a recalibrator
    if base is not None:
        shown |= {f"model: {key}": value for key, value in _settings(base).items()}
    return shown


def _target(model: Any) -> str | None:
    """Name of the target that a model, or the model inside a recalibrator, was fitted to."""
    name: str | None = getattr(model, "target_name_", None)
    base = getattr(model, "model_", None)
    return name or (None if base is None else _target(base))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:200]} ..."

"""Models that predict quantiles or distributions, by their packages' own conventions."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.calibration.answers import LEVELS, as_distribution
from calibrant.calibration.regressors import Ask
from calibrant.checks import check_quantile_levels
from calibrant.distributions import Distribution, Normal
from calibrant.recalibration.models import predicted


def how_to_ask(model: Any, levels: ArrayLike | None) -> Ask:
    """Return how to get distributions, or else points, from a model.

    Parameters
    ----------
    model : fitted or unfitted model
        Of quantile-forest, CatBoost (``MultiQuantile`` and ``RMSEWithUncertainty``), NGBoost,
        TabPFN or TabICL; anything with ``predict_dist`` or ``predict``; or a function of X.
    levels : array of shape (K,), optional
        Levels of the quantiles that ``predict`` or the function returns.
    """
    if levels is not None:
        check_quantile_levels(levels)
    if hasattr(model, "predict_dist"):
        return predicted
    if not hasattr(model, "predict"):
        return lambda function, X: as_distribution(function(X), levels)
    accepted = _arguments_of(model.predict)
    asked = LEVELS.tolist() if levels is None else np.asarray(levels, dtype=float).tolist()
    if "output_type" in accepted and "alphas" in accepted:  # TabICL
        return _with_options({"output_type": "quantiles", "alphas": asked}, asked)
    if "output_type" in accepted:  # TabPFN: all bins, or quantiles at these levels
        if levels is None:
            return _with_options({"output_type": "full"}, None)
        return _with_options({"output_type": "quantiles", "quantiles": asked}, asked)
    if "quantiles" in accepted:  # quantile-forest
        return _with_options({"quantiles": asked}, asked)
    if hasattr(model, "pred_dist"):
        return _ngboost
    loss = _catboost_loss(model)
    if loss.startswith("MultiQuantile"):
        stated = loss.partition("alpha=")[2].partition(";")[0]
        # Boosted separately, neighbours may cross by a little.
        return _with_options({}, [float(level) for level in stated.split(",")], sort=True)
    if loss.startswith("RMSEWithUncertainty"):
        return _catboost_normal
    return predicted if levels is None else _with_options({}, asked)


def _with_options(options: dict[str, Any], levels: ArrayLike | None, *, sort: bool = False) -> Ask:
    """Ask ``predict`` with options, and read quantiles at levels."""

    def ask(model: Any, X: Any) -> Distribution:
        answer = model.predict(X, **options)
        return as_distribution(np.sort(answer, axis=1) if sort else answer, levels)

    return ask


def _ngboost(model: Any, X: Any) -> Distribution:
    found = model.pred_dist(X).params
    return Normal(found["loc"], found["scale"])


def _catboost_normal(model: Any, X: Any) -> Distribution:
    mean, variance = np.asarray(model.predict(X), dtype=np.float64).T
    return Normal(mean, np.sqrt(variance))


def _catboost_loss(model: Any) -> str:
    if type(model).__module__.partition(".")[0] != "catboost":
        return ""
    return str(model.get_param("loss_function") or "")


def _arguments_of(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # built in, without a signature
        return set()

"""Scorers for scikit-learn: ``GridSearchCV(model, grid, scoring=get_scorer("crps"))``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.metrics.accuracy import mae, r2, rmse, rse, smape
from calibrant.metrics.calibration import ecpe, mcpe, quantile_calibration_error
from calibrant.metrics.registry import METRICS
from calibrant.metrics.scoring import crps, interval_score, nll, pinball
from calibrant.metrics.sharpness import epiw, mpiw

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(crps, nll, pinball, interval_score),
        *(ecpe, mcpe, quantile_calibration_error, epiw, mpiw),
        *(rmse, mae, r2, smape, rse),
    )
}


@dataclass(frozen=True)
class Scorer:
    """A metric as a scorer of scikit-learn, where greater is better; made by `get_scorer`.

    Parameters
    ----------
    metric : str
        Name of the metric.
    options : dict
        Arguments of its function.
    """

    metric: str
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Score a fitted model with ``predict_dist``, or a pipeline that ends in one."""
        value = float(_FUNCTIONS[self.metric](_predict_dist(estimator, X), y, **self.options))
        return value if METRICS[self.metric].better == "higher" else -value


def get_scorer(metric: str, **options: Any) -> Scorer:
    """Return the scorer of a metric by name, for ``scoring=`` of scikit-learn.

    Metrics of which less is better are negated, since greater is better for scikit-learn. The
    model may stand at the end of a pipeline, one of scikit-learn as well as a
    `calibrant.DistributionPipeline`.

    Parameters
    ----------
    metric : str
        Such as "crps", the choice for tuning: a proper score in target units. "nll" is severe on a
        too narrow forecast. "ecpe" is calibration alone, which a forecast that ignores X can have
        too: use it together with a proper score, not instead of one.
    **options
        Of the metric's function, such as ``coverage=0.8`` of "interval_score".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_validate
    >>> from calibrant import HeteroscedasticRegressor
    >>> from calibrant.metrics import get_scorer
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = HeteroscedasticRegressor(epochs=1, random_state=0)
    >>> scoring = {name: get_scorer(name) for name in ("crps", "ecpe", "r2")}
    >>> sorted(cross_validate(model, X, X[:, 0], scoring=scoring, cv=2))[2:]
    ['test_crps', 'test_ecpe', 'test_r2']
    """
    if metric not in _FUNCTIONS:
        raise ParameterError(
            f"metric must be one of {', '.join(sorted(_FUNCTIONS))}, got {metric!r}."
        )
    return Scorer(metric, options)


crps_scorer = get_scorer("crps")


def _predict_dist(estimator: Any, X: Any) -> Distribution:
    steps = getattr(estimator, "steps", None)
    if hasattr(estimator, "predict_dist"):
        dist: Distribution = estimator.predict_dist(X)
        return dist
    if not steps or not hasattr(steps[-1][1], "predict_dist"):
        raise ParameterError(
            f"The scorer needs a model with predict_dist, alone or at the end of a pipeline, got "
            f"{type(estimator).__name__}."
        )
    return _predict_dist(steps[-1][1], estimator[:-1].transform(X) if len(steps) > 1 else X)

"""Scorers for scikit-learn: ``GridSearchCV(model, grid, scoring=crps_scorer)``.

Greater is better for scikit-learn, so every score is negated. The model may stand at the end of a
pipeline, one of scikit-learn as well as a `calibrant.DistributionPipeline`.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import ArrayLike

from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.metrics.calibration import ecpe
from calibrant.metrics.scoring import crps, nll


class PredictsDistribution(Protocol):
    """Anything with a ``predict_dist`` method, or a pipeline that ends in it."""

    def predict_dist(self, X: Any) -> Distribution:
        """Return the predictive distribution of the rows of X."""


def crps_scorer(estimator: PredictsDistribution, X: Any, y: ArrayLike) -> float:
    """Negated mean CRPS, for scikit-learn, where greater is better.

    ``-crps(model.predict_dist(X), y)``

    The choice for tuning: a proper score in target units.

    Parameters
    ----------
    estimator : fitted estimator with ``predict_dist``, or pipeline that ends in one
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    """
    return -crps(_predict_dist(estimator, X), y)


def nll_scorer(estimator: PredictsDistribution, X: Any, y: ArrayLike) -> float:
    """Negated mean NLL, for scikit-learn, where greater is better.

    ``-nll(model.predict_dist(X), y)``

    A proper score, and severe on a too narrow forecast.

    Parameters
    ----------
    estimator : fitted estimator with ``predict_dist``, or pipeline that ends in one
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    """
    return -nll(_predict_dist(estimator, X), y)


def ecpe_scorer(estimator: PredictsDistribution, X: Any, y: ArrayLike) -> float:
    """Negated ECPE, for scikit-learn, where greater is better.

    ``-ecpe(model.predict_dist(X), y)``

    Calibration alone, which a forecast that ignores X can have too: use it together with a proper
    score, not instead of one.

    Parameters
    ----------
    estimator : fitted estimator with ``predict_dist``, or pipeline that ends in one
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    """
    return -ecpe(_predict_dist(estimator, X), y)


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

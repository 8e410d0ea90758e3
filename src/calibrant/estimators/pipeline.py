"""scikit-learn pipelines that end in a model with predictive distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numpy.typing import ArrayLike
from sklearn import pipeline
from sklearn.utils.metaestimators import available_if

from calibrant.checks import Array
from calibrant.distributions import Distribution, DistributionPredictor

Method = TypeVar("Method", bound=Callable[..., Any])


def _if_last_has(name: str) -> Callable[[Method], Method]:
    """Decorator: the pipeline has the method only if its last step has it."""
    found = available_if(lambda pipe: hasattr(pipe.steps[-1][1], name))
    return cast(Callable[[Method], Method], found)


class DistributionPipeline(pipeline.Pipeline):
    """A scikit-learn `Pipeline` with all prediction methods of its last step.

    Everything else is as in scikit-learn: names of steps, parameters such as ``model__lr``,
    caching, ``set_output``, and searches over it.

    Parameters
    ----------
    steps : list of (name, estimator)
        Transformers, and at the end an estimator or recalibrator of calibrant.
    memory : str or object with ``cache``, optional
        Cache of fitted transformers.
    verbose : bool
        Print the time of each step.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from calibrant import DistributionPipeline, HeteroscedasticRegressor
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = HeteroscedasticRegressor(epochs=1, random_state=0)
    >>> pipe = DistributionPipeline([("scale", StandardScaler()), ("model", model)])
    >>> pipe.fit(X, X[:, 0]).predict_interval(X, coverage=0.9).shape
    (20, 2)
    """

    @_if_last_has("predict_dist")
    def predict_dist(self, X: Any) -> Distribution:
        """Predictive distribution of every row, in target units."""
        dist: Distribution = self.steps[-1][1].predict_dist(self._transformed(X))
        return dist

    @_if_last_has("predict_interval")
    def predict_interval(self, X: Any, coverage: ArrayLike = 0.9) -> Array:
        """Central prediction intervals, (n, 2), or (n, 2, L) for a list of coverages."""
        bounds: Array = self.steps[-1][1].predict_interval(self._transformed(X), coverage)
        return bounds

    @_if_last_has("predict_quantiles")
    def predict_quantiles(self, X: Any, alpha: ArrayLike = (0.1, 0.5, 0.9)) -> Array:
        """Quantiles at any levels, (n, L), or (n,) for one level."""
        quantiles: Array = self.steps[-1][1].predict_quantiles(self._transformed(X), alpha)
        return quantiles

    predict_table = _if_last_has("predict_dist")(DistributionPredictor.predict_table)

    report = _if_last_has("predict_dist")(DistributionPredictor.report)

    def _transformed(self, X: Any) -> Any:
        return self[:-1].transform(X) if len(self.steps) > 1 else X


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> DistributionPipeline:
    """Make a pipeline of transformers and a model, with names as scikit-learn gives them.

    Parameters
    ----------
    *steps : estimators
        The last one is the model.
    memory : str or object with ``cache``, optional
        Cache of fitted transformers.
    verbose : bool
        Print the time of each step.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from calibrant import MMDRegressor, make_pipeline
    >>> list(make_pipeline(StandardScaler(), MMDRegressor()).named_steps)
    ['standardscaler', 'mmdregressor']
    """
    named = pipeline.make_pipeline(*steps).steps
    return DistributionPipeline(named, memory=memory, verbose=verbose)

"""Estimators of calibrant as probabilistic regressors of skpro (extra ``sktime``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import pandas as pd
from sklearn.base import clone
from skpro.regression.base import BaseProbaRegressor

from calibrant.estimators import HeteroscedasticRegressor
from calibrant.tables import as_frame


class SkproRegressor(BaseProbaRegressor):
    """An estimator of calibrant in skpro's pipelines, tuners and benchmarks.

    Parameters
    ----------
    estimator : estimator with ``predict_dist``
        Such as ``MMDRegressor()``, or a `calibrant.DistributionPipeline`. It is cloned; its
        parameters are tuned as ``estimator__lr``.

    Attributes
    ----------
    estimator_ : the fitted estimator

    Examples
    --------
    >>> import pandas as pd
    >>> from calibrant import HeteroscedasticRegressor
    >>> from calibrant.adapters.skpro import SkproRegressor
    >>> X = pd.DataFrame({"x": range(40)})
    >>> model = SkproRegressor(HeteroscedasticRegressor(epochs=1, random_state=0))
    >>> model.fit(X, X[["x"]]).predict_interval(X, coverage=0.9).shape
    (40, 2)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "capability:multioutput": False,
        "capability:missing": True,
    }

    estimator_: Any

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame) -> Self:
        self.estimator_ = clone(self.estimator).fit(as_frame(X), y.iloc[:, 0])
        self._target_columns = y.columns
        return self

    def _predict_proba(self, X: pd.DataFrame) -> Any:
        dist = self.estimator_.predict_dist(as_frame(X))
        return dist.to_skpro(index=X.index, columns=self._target_columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Small models for skpro's own tests: normals, and mixtures of them."""
        small: dict[str, Any] = {"hidden": (8,), "epochs": 2, "random_state": 0}
        return [
            {"estimator": HeteroscedasticRegressor(**small)},
            {"estimator": HeteroscedasticRegressor(components=2, **small)},
        ]

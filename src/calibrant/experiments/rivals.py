"""Tree packages that a user could choose instead, with the packages' defaults, untuned.

A small adapter per package returns a predictive distribution. All need the extra ``rivals``. A
window of a series is flattened to one row of inputs; text is one-hot encoded and gaps are filled,
as for the networks.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from calibrant.checks import Array
from calibrant.distributions import Distribution, Empirical, Normal
from calibrant.estimators import Windows
from calibrant.experiments.trial import calibration_rows
from calibrant.tables import TableEncoder, as_frame

# Midpoints of a hundred equal probabilities. As equal masses, quantiles at these levels keep ties.
LEVELS = (np.arange(100) + 0.5) / 100


class Rival(BaseEstimator):
    """A regressor on a numeric matrix that predicts a distribution.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    device : str
        Ignored: all run on one core of the CPU.
    random_state : int, optional
    """

    def __init__(
        self, n_estimators: int = 100, device: str = "auto", random_state: int | None = None
    ) -> None:
        self.n_estimators = n_estimators
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Array, *, cv: Any = None, groups: Any = None) -> Self:
        """Fit to X of shape (n, d), or windows; `cv` and `groups` say which rows to hold out."""
        if not isinstance(X, Windows):
            self.encoder_ = TableEncoder().fit(as_frame(X))
        self._fit(self._matrix(X), np.asarray(y, dtype=np.float64), {"cv": cv, "groups": groups})
        return self

    def predict_dist(self, X: Any) -> Distribution:
        """Predictive distribution of every row of X."""
        return self._predict(self._matrix(X))

    def _matrix(self, X: Any) -> Array:
        return X.flat() if isinstance(X, Windows) else self.encoder_.transform(as_frame(X))

    @abstractmethod
    def _fit(self, x: Array, y: Array, hold_out: dict[str, Any]) -> None: ...

    @abstractmethod
    def _predict(self, x: Array) -> Distribution: ...


class NGBoostNormal(Rival):
    """Natural gradient boosting of mean and log-scale of a normal distribution."""

    def __init__(
        self, n_estimators: int = 500, device: str = "auto", random_state: int | None = None
    ) -> None:
        super().__init__(n_estimators, device, random_state)

    def _fit(self, x: Array, y: Array, hold_out: dict[str, Any]) -> None:
        from ngboost import NGBRegressor

        self.model_ = NGBRegressor(
            n_estimators=self.n_estimators, random_state=self.random_state, verbose=False
        ).fit(x, y)

    def _predict(self, x: Array) -> Distribution:
        found = self.model_.pred_dist(x).params
        return Normal(found["loc"], found["scale"])


class CatBoostNormal(Rival):
    """CatBoost with the loss RMSEWithUncertainty: mean and variance of a normal distribution."""

    def __init__(
        self, n_estimators: int = 1000, device: str = "auto", random_state: int | None = None
    ) -> None:
        super().__init__(n_estimators, device, random_state)

    def _fit(self, x: Array, y: Array, hold_out: dict[str, Any]) -> None:
        from catboost import CatBoostRegressor

        self.model_ = CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            iterations=self.n_estimators,
            random_seed=self.random_state,
            thread_count=1,
            allow_writing_files=False,
            verbose=False,
        ).fit(x, y)

    def _predict(self, x: Array) -> Distribution:
        mean, variance = self.model_.predict(x).T
        return Normal(mean, np.sqrt(variance))


class ConformalLightGBM(Rival):
    """LightGBM with the conformal predictive system of crepes, normalised by 25 neighbours.

    A fifth of the training rows is held out for calibration.
    """

    def _fit(self, x: Array, y: Array, hold_out: dict[str, Any]) -> None:
        from crepes import ConformalPredictiveSystem
        from crepes.extras import DifficultyEstimator
        from lightgbm import LGBMRegressor

        train, held_out = calibration_rows(len(y), **hold_out)
        self.model_ = LGBMRegressor(
            n_estimators=self.n_estimators, random_state=self.random_state, n_jobs=1, verbose=-1
        ).fit(x[train], y[train])
        self.difficulty_ = DifficultyEstimator().fit(
            x[train],
            residuals=y[train] - self.model_.predict(x[train]),
            k=min(25, len(train) - 1),
            scaler=True,
        )
        system = ConformalPredictiveSystem().fit(
            y[held_out] - self.model_.predict(x[held_out]),
            sigmas=self.difficulty_.apply(x[held_out]),
        )
        # The system predicts these normalised errors, multiplied by the difficulty of the row.
        self.errors_: Array = np.quantile(system.alphas, LEVELS)

    def _predict(self, x: Array) -> Distribution:
        errors = np.broadcast_to(self.errors_, (len(x), len(self.errors_)))
        return Empirical(errors).affine(
            np.asarray(self.model_.predict(x)), self.difficulty_.apply(x)
        )


class CrepesRecalibrator:
    """The conformal predictive system of crepes around a fitted network.

    Residuals are divided by the predicted standard deviation and grouped in ten bins of the
    predicted mean (a normalised Mondrian system).
    """

    def fit(self, model: Any, X: Any, y: Array) -> Self:
        """Calibrate on rows of X with targets y of shape (n,) that the model was not trained on."""
        from crepes import ConformalPredictiveSystem
        from crepes.extras import binning

        self.model_, dist = model, model.predict_dist(X)
        bins, self.edges_ = binning(dist.mean, bins=10, seed=0)
        system = ConformalPredictiveSystem().fit(y - dist.mean, sigmas=dist.stddev, bins=bins)
        # The system predicts these normalised errors of the bin, times the predicted deviation.
        self.errors_: Array = np.array([np.quantile(a, LEVELS) for a in system.binned_alphas[1]])
        return self

    def predict_dist(self, X: Any) -> Distribution:
        """Predictive distribution of every row of X."""
        from crepes.extras import binning

        dist = self.model_.predict_dist(X)
        bins = binning(dist.mean, bins=self.edges_, seed=0)
        return Empirical(self.errors_[bins]).affine(dist.mean, dist.stddev)


class QuantileForest(Rival):
    """Quantile regression forest; its quantiles are training targets, so ties are intended.

    Parameters
    ----------
    min_samples_leaf : int
        Minimum rows per leaf. The package's default of 1 has the better CRPS but intervals that
        are too narrow; with 5 it is the opposite.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        min_samples_leaf: int = 1,
        device: str = "auto",
        random_state: int | None = None,
    ) -> None:
        super().__init__(n_estimators, device, random_state)
        self.min_samples_leaf = min_samples_leaf

    def _fit(self, x: Array, y: Array, hold_out: dict[str, Any]) -> None:
        from quantile_forest import RandomForestQuantileRegressor

        self.model_ = RandomForestQuantileRegressor(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        ).fit(x, y)

    def _predict(self, x: Array) -> Distribution:
        return Empirical(self.model_.predict(x, quantiles=list(LEVELS)))

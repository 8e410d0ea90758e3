"""The base of recalibrators that wrap a model."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from calibrant import errors
from calibrant.checks import Array, take_rows
from calibrant.distributions import (
    Distribution,
    DistributionPredictor,
    MonotoneMap,
    Recalibrated,
)
from calibrant.errors import DataError
from calibrant.persistence import read_model
from calibrant.recalibration._saving import restore_recalibrator, save_recalibrator
from calibrant.recalibration.models import (
    Prediction,
    check_model,
    check_rows,
    out_of_fold,
    predicted,
)

_LEAST_ROWS = 2


class Recalibrator(DistributionPredictor, RegressorMixin, BaseEstimator):
    """Any model, recalibrated by a monotone map g that was learned from held-out rows.

    ``F(y) = g(F_base(y))`` for every row. A subclass learns g and whatever the base needs
    (`_learn`) and makes the base distribution from what the model predicts (`_base`).

    Attributes
    ----------
    model_ : the fitted model
    monotone_ : MonotoneMap
        The map g.
    n_calibration_ : int
        Held-out rows that g was learned from.
    """

    model_: Any
    monotone_: MonotoneMap
    n_calibration_: int

    # ---- what a subclass writes -------------------------------------------------------------

    @abstractmethod
    def _learn(self, prediction: Prediction, y: Array, weight: Array) -> MonotoneMap:
        """Return g, learned from predictions of n held-out rows, targets and weights > 0, (n,)."""

    @abstractmethod
    def _base(self, prediction: Prediction) -> Distribution:
        """Return the base distribution of every row of a prediction."""

    def _check_cross_fit(self) -> None:
        """Raise where parameters do not allow `cross_fit`."""

    # ---- fit --------------------------------------------------------------------------------

    def fit(
        self, model: Any, X_cal: Any, y_cal: Any, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the map from calibration rows that the model was not fitted on.

        Parameters
        ----------
        model : fitted model
            With ``predict_dist`` (any estimator of calibrant), else ``predict`` (any regressor
            of scikit-learn): then the distribution is that of the residuals.
        X_cal : array or frame of shape (n, d)
            In any form that the model takes.
        y_cal : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_model(model, fitted=True)
        X, y, weight = check_rows(X_cal, y_cal, sample_weight)
        rows = np.flatnonzero(weight > 0)
        check_enough(len(rows))
        used = X if len(rows) == len(y) else take_rows(X, rows)
        return self._calibrate(model, used, predicted(model, used), y[rows], weight[rows])

    def cross_fit(
        self,
        model: Any,
        X: Any,
        y: Any,
        cv: Any = 5,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit a model and recalibrate it, using every row for both.

        1. Clones of the model are fitted, each without one fold, and predict that fold.
        2. The map is learned from these out-of-fold predictions.
        3. A last clone, the one that predicts, is fitted on all rows.

        Parameters
        ----------
        model : unfitted model
            Cloned, so it stays unfitted.
        X : array or frame of shape (n, d)
        y : array of shape (n,)
        cv : int, splitter or iterable of (train, test), default 5
            A number shuffles the rows (with a fixed seed) into that many folds. Rows that are
            never held out, as the first ones of ``TimeSeriesSplit``, do not enter the map.
        groups : array of shape (n,), optional
            Rows of one group are held out together.
        sample_weight : array of shape (n,), optional
            Handed to the model's ``fit`` as well.

        Returns
        -------
        self
        """
        check_model(model, fitted=False)
        self._check_cross_fit()
        X, target, weight = check_rows(X, y, sample_weight)
        check_enough(int(np.count_nonzero(weight)))
        given = None if sample_weight is None else weight
        prediction, rows, whole = out_of_fold(model, X, target, given, cv=cv, groups=groups)
        kept = np.flatnonzero(weight[rows] > 0)
        check_enough(len(kept))
        rows = rows[kept]
        used = take_rows(X, rows)
        return self._calibrate(whole, used, prediction[kept], target[rows], weight[rows])

    def _calibrate(
        self, model: Any, X: Any, prediction: Prediction, y: Array, weight: Array
    ) -> Self:
        self.monotone_ = self._learn(prediction, y, weight)
        self.n_calibration_ = len(y)
        self.model_ = model
        return self

    # ---- predict ----------------------------------------------------------------------------

    def predict_dist(self, X: Any) -> Distribution:
        """Predictive distribution of every row, recalibrated."""
        return self._recalibrated(self._predicted(X))

    def _recalibrated(self, prediction: Prediction) -> Distribution:
        return Recalibrated(self._base(prediction), self.monotone_)

    def _predicted(self, X: Any) -> Prediction:
        self._check_fitted()
        return predicted(self.model_, X)

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise errors.NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call "
                "fit(model, X_cal, y_cal) or cross_fit(model, X, y) first."
            )

    # ---- save and load ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the recalibrator and its model to a folder: safetensors and JSON, no pickle.

        The model must be one of calibrant's own. The folder appears whole or not at all.
        ``overwrite=True`` replaces an older one.
        """
        self._check_fitted()
        save_recalibrator(self, path, overwrite=overwrite)

    def to_onnx(self, path: str | os.PathLike[str], *args: Any, **options: Any) -> None:
        """Write the recalibrated model as one ONNX graph.

        Parameters
        ----------
        path : path
        *args, **options
            As of `to_onnx` of the estimator inside: levels, encoded, overwrite. Quantiles and
            moments are those of `predict_dist`. Maps of groups and guaranteed bounds can't be
            exported.
        """
        self._check_fitted()
        inside = self.model_
        while isinstance(inside, Recalibrator):
            inside = inside.model_
        if not hasattr(inside, "to_onnx"):
            raise errors.ParameterError(
                f"Only estimators of calibrant can be exported, and this is around a "
                f"{type(inside).__name__}. Export that by a converter of its own package, and "
                "predict intervals with calibrant."
            )
        inside.to_onnx(path, *args, recalibrator=self, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Load what `save` wrote; predictions are the same to the last bit.

        Parameters
        ----------
        **options
            For the ``load`` of the wrapped model, such as ``network=``.
        """
        return cls._from_folder(Path(path), *read_model(path), **options)

    @classmethod
    def _from_folder(
        cls, path: Path, manifest: dict[str, Any], tensors: dict[str, Array], **options: Any
    ) -> Self:
        return restore_recalibrator(cls, path, manifest, tensors, **options)

    def _to_tensors(self) -> dict[str, Array]:
        """Fitted numbers by name; a subclass adds its own."""
        return {"monotone.x": self.monotone_.x[1:-1], "monotone.y": self.monotone_.y[1:-1]}

    def _from_tensors(self, tensors: dict[str, Array]) -> None:
        """Restore the numbers that `_to_tensors` returned."""
        self.monotone_ = MonotoneMap(tensors["monotone.x"], tensors["monotone.y"])

    def _to_parts(self) -> dict[str, Any]:
        """Fitted values that are not plain arrays, by name, for `calibrant.persistence.pack`."""
        return {}

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Restore the values that `_to_parts` returned."""


def check_enough(n_rows: int) -> None:
    """Raise an error where there are too few rows to learn a map from."""
    if n_rows < _LEAST_ROWS:
        raise DataError(
            f"Recalibration needs at least {_LEAST_ROWS} rows with a weight above 0, got {n_rows}."
        )

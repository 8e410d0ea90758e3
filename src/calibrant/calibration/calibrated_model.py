"""What `calibrate` returns."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike

from calibrant.calibration.answers import as_distribution
from calibrant.calibration.bounds import ConformalBounds
from calibrant.calibration.corrections import Correction
from calibrant.calibration.inputs import Features
from calibrant.calibration.saving import restore_calibrated, save_calibrated
from calibrant.checks import Array, finite_numbers
from calibrant.distributions import Distribution, DistributionPredictor
from calibrant.errors import DataError, ParameterError
from calibrant.estimators.atoms import Atoms
from calibrant.persistence import read_model, savable_model
from calibrant.recalibration.models import Prediction
from calibrant.recalibration.residual_scale import ResidualScale, with_residuals


class Source(Protocol):
    """Where predictions come from."""

    def predict(self, X: Any) -> Prediction:
        """Return points, (n,), or distributions of n rows."""


@dataclass(frozen=True)
class GivenPredictions:
    """Predictions that the user computes: there is no model to ask."""

    def predict(self, X: Any) -> Prediction:
        """Raise: new predictions have to be given."""
        raise ParameterError(
            "This was calibrated from predictions, so there is no model to ask. Call "
            "recalibrate(predictions, X) with the predictions of the new rows."
        )


@savable_model
@dataclass(frozen=True, eq=False, repr=False)
class CalibratedModel(DistributionPredictor):
    """A user's model with calibrated predictive distributions; made by `calibrate`.

    The path of a row: model > points or distribution > correction > atoms.

    Parameters
    ----------
    source : Source
        The user's model.
    residual_scale : ResidualScale or None
        Centre and width of the residuals of a model that predicts points.
    correction : Correction
        What was learned: nothing, one map, or a shape given features and prediction.
    atoms : Atoms
        Values that the target repeats.
    bounds : ConformalBounds or None
        With ``guarantee=True``.
    features : callable
        From X to the table that the correction reads, or None.
    scores : dict of name to float
        Mean CRPS of held-out rows of every candidate.
    n_calibration : int
        Rows that the correction was learned from.
    settings : dict
        Arguments of `calibrate` that are needed to load the model.
    target_name_ : str, optional
        Name of the target: that of y, or of the target that a model of calibrant was fitted to.
    """

    source: Source
    residual_scale: ResidualScale | None
    correction: Correction
    atoms: Atoms
    bounds: ConformalBounds | None
    features: Features
    scores: dict[str, float]
    n_calibration: int
    settings: dict[str, Any] = field(default_factory=dict)
    target_name_: str | None = None

    @property
    def chosen(self) -> str:
        """Name of the correction that cross-validation chose."""
        return self.correction.name

    def predict_dist(self, X: Any) -> Distribution:
        """Predictive distribution of every row, calibrated, in target units."""
        return self._calibrated(self.source.predict(X), X)

    def predict(self, X: Any) -> Array:
        """The model's own points, unchanged; or the mean, if it predicts distributions, (n,)."""
        prediction = self.source.predict(X)
        if not isinstance(prediction, Distribution):
            return prediction
        return self._calibrated(prediction, X).mean

    def predict_interval(self, X: Any, coverage: ArrayLike = 0.9) -> Array:
        """Prediction intervals; with ``guarantee=True`` their coverage is guaranteed.

        Returns
        -------
        array of shape (n, 2) for one coverage, (n, 2, L) for a list: row, bound, level
        """
        dist = self.predict_dist(X)
        return (
            dist.interval(coverage) if self.bounds is None else self.bounds.interval(dist, coverage)
        )

    def predict_quantiles(self, X: Any, alpha: ArrayLike = (0.1, 0.5, 0.9)) -> Array:
        """Quantiles, (n, L) or (n,); with ``guarantee=True`` one-sided guaranteed bounds."""
        dist = self.predict_dist(X)
        return dist.ppf(alpha) if self.bounds is None else self.bounds.quantiles(dist, alpha)

    def recalibrate(self, predictions: Any, X: Any = None) -> Distribution:
        """Correct predictions that were computed elsewhere, such as quantiles of new rows.

        Parameters
        ----------
        predictions : Distribution, quantiles (n, K) or another answer of `as_distribution`
            In the form that was calibrated.
        X : table of shape (n, d), optional
            Features, if the calibration had some.
        """
        levels = self.settings.get("levels")
        points = self.residual_scale is not None
        prediction: Prediction = (
            finite_numbers(predictions, "predictions")
            if points
            else as_distribution(predictions, levels)
        )
        return self._calibrated(prediction, X)

    def _calibrated(self, prediction: Prediction, X: Any) -> Distribution:
        features = None if X is None else self.features(X)
        if features is not None and len(features) != len(prediction):
            raise DataError(
                f"Expected features of {len(prediction)} rows, got {len(features)} rows."
            )
        base = with_residuals(prediction, self.residual_scale)
        corrected = self.correction.apply(base, features)
        return corrected if corrected is base else self.atoms.apply(corrected)

    def __repr__(self) -> str:
        kept = ", ".join(f"{name}: {score:.4g}" for name, score in self.scores.items())
        bound = ", guaranteed" if self.bounds is not None else ""
        return (
            f"CalibratedModel({self.chosen}{bound}; {self.n_calibration} calibration rows; "
            f"held-out CRPS {kept})"
        )

    # ---- save and load ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write what was learned to a folder: safetensors and JSON, no pickle.

        A model of calibrant is saved as well. Any other model, and the functions `collate` and
        `features`, are not: they have to be given again to `load`.
        """
        save_calibrated(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **given: Any) -> Self:
        """Load what `save` wrote.

        Parameters
        ----------
        **given
            ``model=``, the model that was calibrated, unless it is one of calibrant's own;
            ``collate=`` and ``features=`` if `calibrate` had them.
        """
        return cls._from_folder(Path(path), *read_model(path), **given)

    @classmethod
    def _from_folder(
        cls, path: Path, manifest: dict[str, Any], tensors: dict[str, Array], **given: Any
    ) -> Self:
        return restore_calibrated(cls, path, manifest, tensors, **given)

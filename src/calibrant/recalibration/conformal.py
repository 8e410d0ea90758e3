"""Conformal predictive systems, split and cross."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from calibrant.checks import Array, check_levels
from calibrant.distributions import Clipped, Distribution, MonotoneMap
from calibrant.errors import DataError, ParameterError
from calibrant.persistence import savable_model
from calibrant.recalibration._invertible_map import invertible_map
from calibrant.recalibration._recalibrator import Recalibrator
from calibrant.recalibration.models import Prediction
from calibrant.recalibration.order_statistics import (
    bounding_ranks,
    one_sided_ranks,
    padded,
    warn_if_too_few,
)
from calibrant.recalibration.residual_scale import ResidualScale


@savable_model
class ConformalRecalibrator(Recalibrator):
    """Conformal prediction as a distribution, around any model.

    Held-out rows give scores ``s_i = (y_i - location_i) / scale_i``. A new row falls below the
    i-th smallest of n scores with probability ``i / (n + 1)``, whatever the model and the noise,
    if it is exchangeable with them. So the predictive distribution has

        F(location + scale s_(i)) = i / (n + 1),   i = 1 ... n,

    as in a split conformal predictive system (Vovk et al. 2020). Between neighbouring scores and
    beyond the outermost ones the mass, ``1 / (n + 1)`` each, is distributed like the normal
    distribution with the centre and width of the scores: F is continuous and every quantile
    is finite. (It is ``Recalibrated(Normal(...), g)`` with knots of g at the scores.)

    Parameters
    ----------
    normalize : bool, default True
        Divide residuals by the predicted standard deviation, so that rows predicted as uncertain
        get wide intervals; otherwise, and for models that predict points only, the scale is 1.
    guarantee : bool, default False
        Guarantee the coverage of `predict_interval` and `predict_quantiles` in finite samples:
        bounds are order statistics of the scores, not interpolated, and infinite, with a
        warning, where n is too small to guarantee the level. For `fit` only.

    Attributes
    ----------
    model_ : the fitted model
    monotone_ : MonotoneMap
        The map g.
    n_calibration_ : int
        Held-out rows that g was learned from.
    scores_ : array of shape (n_calibration_,)
        Sorted scores of the held-out rows.
    residual_scale_ : ResidualScale
        Centre and width of the scores.

    Notes
    -----
    The location is the predicted mean. Bounds that an estimator was given (``bounds=``) hold for
    the recalibrated distribution too.

    With ``cross_fit`` scores come from models fitted on fewer rows than the one that predicts:
    coverage is close to the level in practice, but not guaranteed.

    References
    ----------
    Vovk, Petej, Nouretdinov, Manokhin, Gammerman (2020), "Computationally efficient versions of
    conformal predictive distributions". Lei, G'Sell, Rinaldo, Tibshirani, Wasserman (2018),
    "Distribution-free predictive inference for regression", for the guaranteed intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from calibrant import ConformalRecalibrator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 1))
    >>> y = X[:, 0] + rng.exponential(size=600)
    >>> model = LinearRegression().fit(X[:300], y[:300])
    >>> calibrated = ConformalRecalibrator().fit(model, X[300:], y[300:])
    >>> calibrated.predict_quantiles(X[:5], alpha=[0.1, 0.5, 0.9]).shape
    (5, 3)
    """

    scores_: Array
    residual_scale_: ResidualScale

    def __init__(self, normalize: bool = True, guarantee: bool = False) -> None:
        self.normalize = normalize
        self.guarantee = guarantee

    # ---- the distribution -------------------------------------------------------------------

    def _learn(self, prediction: Prediction, y: Array, weight: Array) -> MonotoneMap:
        if self.guarantee and np.any(weight != weight[0]):
            raise ParameterError(
                "guarantee=True needs exchangeable rows, and rows of unequal weight are not "
                "exchangeable. Leave sample_weight out, or set guarantee=False."
            )
        location, scale = self._location_scale(prediction)
        scores = (y - location) / scale
        fitted, order = ResidualScale.fit(scores, weight), np.argsort(scores)
        self.residual_scale_, self.scores_ = fitted, scores[order]
        # A new row counts as one of average weight: with equal weights these are i / (n + 1).
        level = np.cumsum(weight[order]) / (weight.sum() + weight.mean())
        return invertible_map(ndtr((self.scores_ - fitted.centre) / fitted.width), level)

    def _base(self, prediction: Prediction) -> Distribution:
        return self.residual_scale_.normal(*self._location_scale(prediction))

    def _recalibrated(self, prediction: Prediction) -> Distribution:
        dist = super()._recalibrated(prediction)
        if isinstance(prediction, Clipped):
            return Clipped(dist, prediction.low, prediction.high)
        return dist

    def _location_scale(self, prediction: Prediction) -> tuple[Array, Array]:
        if not isinstance(prediction, Distribution):
            return prediction, np.ones(len(prediction))
        # Mass moved onto a bound would make the standard deviation vanish there.
        free = prediction.base if isinstance(prediction, Clipped) else prediction
        if not self.normalize:
            return free.mean, np.ones(len(free))
        scale = free.stddev
        if not np.all(scale > 0):
            raise DataError(
                f"Row {np.argmin(scale)} has a predicted standard deviation of 0, by which its "
                "residual can't be divided. Use normalize=False."
            )
        return free.mean, scale

    def _to_tensors(self) -> dict[str, Array]:
        own = {"residual_scale": np.array(self.residual_scale_), "scores": self.scores_}
        return super()._to_tensors() | own

    def _from_tensors(self, tensors: dict[str, Array]) -> None:
        super()._from_tensors(tensors)
        self.residual_scale_ = ResidualScale(*tensors["residual_scale"].tolist())
        self.scores_ = tensors["scores"]

    # ---- the guarantee ----------------------------------------------------------------------

    def _check_cross_fit(self) -> None:
        if self.guarantee:
            raise ParameterError(
                "guarantee=True needs calibration rows that no fit has seen: hold some out and "
                "call fit(model, X_cal, y_cal)."
            )

    def predict_interval(self, X: Any, coverage: ArrayLike = 0.9) -> Array:
        """Prediction intervals: central ones or, with ``guarantee=True``, symmetric ones.

        The guaranteed interval of level p is ``location -+ scale r`` with r the k-th smallest of
        the n absolute scores, ``k = ceil((n + 1) p)``. For exchangeable rows it covers with
        probability at least p, and ``k / (n + 1)`` exactly where scores have no ties. It is
        infinite where ``k > n``.

        Returns
        -------
        array of shape (n, 2) for one coverage, (n, 2, L) for a list: row, bound, level
        """
        if not self.guarantee:
            return super().predict_interval(X, coverage)
        prediction = self._predicted(X)
        level = np.atleast_1d(check_levels(coverage, "coverage"))
        n_scores = len(self.scores_)
        warn_if_too_few("coverage", level, 1.0 - level, n_scores)
        radius = padded(np.sort(np.abs(self.scores_)))[bounding_ranks(n_scores, level)]
        bounds = self._at_scores(prediction, np.concatenate([-radius, radius]))
        bounds = bounds.reshape(len(bounds), 2, len(level))
        return bounds[:, :, 0] if np.ndim(coverage) == 0 else bounds

    def predict_quantiles(self, X: Any, alpha: ArrayLike = (0.1, 0.5, 0.9)) -> Array:
        """Quantiles at any levels or, with ``guarantee=True``, one-sided bounds.

        The bound of level a is ``location + scale s_(k)``. From 0.5 upwards
        ``k = ceil((n + 1) a)``: a new row lies at or below it with probability at least a. Below
        0.5 ``k = floor((n + 1) a)``: it lies below with probability at most a. The bound is
        infinite where k is 0 or n + 1.

        Returns
        -------
        array of shape (n, L), or (n,) for one level
        """
        if not self.guarantee:
            return super().predict_quantiles(X, alpha)
        prediction = self._predicted(X)
        level = np.atleast_1d(check_levels(alpha, "alpha"))
        n_scores = len(self.scores_)
        warn_if_too_few("alpha", level, np.minimum(level, 1.0 - level), n_scores)
        chosen = one_sided_ranks(n_scores, level)
        bounds = self._at_scores(prediction, padded(self.scores_)[chosen])
        return bounds[:, 0] if np.ndim(alpha) == 0 else bounds

    def _at_scores(self, prediction: Prediction, scores: Array) -> Array:
        """Targets that have these scores, (n, k) for (k,) of them."""
        location, scale = self._location_scale(prediction)
        values: Array = location[:, None] + scale[:, None] * scores
        if isinstance(prediction, Clipped):
            return np.clip(values, prediction.low[:, None], prediction.high[:, None])
        return values

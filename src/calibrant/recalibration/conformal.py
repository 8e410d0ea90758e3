"""Conformal predictive systems, split and cross."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from calibrant.distributions import Clipped, Distribution, MonotoneMap
from calibrant.errors import CalibrantWarning, DataError, ParameterError
from calibrant.persistence import savable_model
from calibrant.recalibration._models import Array, Prediction
from calibrant.recalibration._shape import Spread, invertible_map
from calibrant.recalibration._wrapped import Recalibrator


@savable_model
class ConformalRecalibrator(Recalibrator):
    """Conformal prediction as a distribution, around any model.

    Held-out rows give scores ``s_i = (y_i - location_i) / scale_i``. A new row falls below the
    i-th smallest of n scores with probability ``i / (n + 1)``, whatever the model and the noise,
    if it is exchangeable with them. So the predictive distribution has

        F(location + scale s_(i)) = i / (n + 1),   i = 1 ... n,

    as in a split conformal predictive system (Vovk et al. 2020). Between neighbouring scores and
    beyond the outermost ones the mass, ``1 / (n + 1)`` each, is spread like the normal
    distribution with the centre and width of the scores: F is continuous and every quantile
    finite. (It is ``Recalibrated(Normal(...), g)`` with knots of g at the scores.)

    Parameters
    ----------
    normalise : bool, default True
        Divide residuals by the predicted standard deviation, so that rows predicted as uncertain
        get wide intervals; otherwise, and for models that predict points only, the scale is 1.
    guarantee : bool, default False
        Give `predict_interval` and `predict_quantiles` a coverage that holds in finite samples:
        bounds are order statistics of the scores, not interpolated, and infinite, with a
        warning, where n is too small to promise the level. For `fit` only.

    Attributes
    ----------
    model_ : the fitted model
    monotone_ : MonotoneMap
        The map g.
    n_calibration_ : int
        Held-out rows that g was learned from.
    scores_ : array of shape (n_calibration_,)
        Sorted scores of the held-out rows.
    spread_ : Spread
        Centre and width of the scores.

    Notes
    -----
    The location is the predicted mean. Bounds that an estimator was given (``bounds=``) hold for
    the recalibrated distribution too.

    With ``cross_fit`` scores come from models fitted on fewer rows than the one that predicts:
    coverage is close to the level in practice, but nothing is promised.

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
    spread_: Spread

    def __init__(self, normalise: bool = True, guarantee: bool = False) -> None:
        self.normalise = normalise
        self.guarantee = guarantee

    # ---- the distribution -------------------------------------------------------------------

    def _learn(self, prediction: Prediction, y: Array, weight: Array) -> MonotoneMap:
        if self.guarantee and np.any(weight != weight[0]):
            raise ParameterError(
                "guarantee=True promises coverage for exchangeable rows, and rows of unequal "
                "weight are not. Leave sample_weight out, or set guarantee=False."
            )
        location, scale = self._location_scale(prediction)
        scores = (y - location) / scale
        spread, order = Spread.fit(scores, weight), np.argsort(scores)
        self.spread_, self.scores_ = spread, scores[order]
        # A new row counts as one of average weight: with equal weights these are i / (n + 1).
        level = np.cumsum(weight[order]) / (weight.sum() + weight.mean())
        return invertible_map(ndtr((self.scores_ - spread.centre) / spread.width), level)

    def _base(self, prediction: Prediction) -> Distribution:
        return self.spread_.normal(*self._location_scale(prediction))

    def _recalibrated(self, prediction: Prediction) -> Distribution:
        dist = super()._recalibrated(prediction)
        if isinstance(prediction, Clipped):
            return Clipped(dist, prediction.low, prediction.high)
        return dist

    def _location_scale(self, prediction: Prediction) -> tuple[Array, Array]:
        if not isinstance(prediction, Distribution):
            return prediction, np.ones(len(prediction))
        # Mass moved onto a bound would make the spread vanish there.
        free = prediction.base if isinstance(prediction, Clipped) else prediction
        if not self.normalise:
            return free.mean, np.ones(len(free))
        scale = free.stddev
        if not np.all(scale > 0):
            raise DataError(
                f"Row {np.argmin(scale)} has a predicted standard deviation of 0, by which its "
                "residual can't be divided. Use normalise=False."
            )
        return free.mean, scale

    def _to_tensors(self) -> dict[str, Array]:
        own = {"spread": np.array(self.spread_), "scores": self.scores_}
        return super()._to_tensors() | own

    def _from_tensors(self, tensors: dict[str, Array]) -> None:
        super()._from_tensors(tensors)
        self.spread_ = Spread(*tensors["spread"].tolist())
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
        level = _levels(coverage, "coverage")
        self._warn_if_too_few("coverage", level, 1.0 - level)
        radius = _padded(np.sort(np.abs(self.scores_)))[_ceil((len(self.scores_) + 1) * level)]
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
        level = _levels(alpha, "alpha")
        self._warn_if_too_few("alpha", level, np.minimum(level, 1.0 - level))
        rank = (len(self.scores_) + 1) * level
        chosen = np.where(level < 0.5, -_ceil(-rank), _ceil(rank))
        bounds = self._at_scores(prediction, _padded(self.scores_)[chosen])
        return bounds[:, 0] if np.ndim(alpha) == 0 else bounds

    def _at_scores(self, prediction: Prediction, scores: Array) -> Array:
        """Targets that have these scores, (n, k) for (k,) of them."""
        location, scale = self._location_scale(prediction)
        values: Array = location[:, None] + scale[:, None] * scores
        if isinstance(prediction, Clipped):
            return np.clip(values, prediction.low[:, None], prediction.high[:, None])
        return values

    def _warn_if_too_few(self, name: str, level: Array, tail: Array) -> None:
        """Say how many rows it takes to promise levels with so much outside."""
        hardest = int(np.argmin(tail))
        needed = float(np.ceil((1.0 - 1e-9) / tail[hardest] - 1.0))  # 1 / (1 - 0.9999) > 10000
        if needed > len(self.scores_):
            warnings.warn(
                f"{name}={level[hardest]:g} can't be promised with {len(self.scores_)} "
                f"calibration rows, it needs at least {needed:.0f}: bounds are infinite.",
                CalibrantWarning,
                stacklevel=3,
            )


def _levels(values: ArrayLike, name: str) -> Array:
    level = np.asarray(values, dtype=np.float64)
    if level.ndim > 1 or level.size == 0 or not np.all((level > 0) & (level < 1)):
        raise ParameterError(
            f"{name} must be one number or a list of numbers in (0, 1), got {values!r}."
        )
    return np.atleast_1d(level)


def _padded(ordered: Array) -> Array:
    """Order statistics by rank 0 ... n + 1, infinite at both ends."""
    return np.concatenate([[-np.inf], ordered, [np.inf]])


def _ceil(rank: Array) -> Any:
    # 100 * 0.55 is 55.00000000000001 and means 55.
    return np.ceil(np.round(rank, 9)).astype(np.intp)

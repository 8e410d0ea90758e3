"""Isotonic recalibration of Kuleshov, Fenner and Ermon (2018)."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import IsotonicRegression

from calibrant.checks import Array
from calibrant.distributions import Distribution, MonotoneMap
from calibrant.distributions.pit import randomized_pit
from calibrant.persistence import savable_model
from calibrant.recalibration._invertible_map import invertible_map
from calibrant.recalibration._recalibrator import Recalibrator
from calibrant.recalibration.models import Prediction
from calibrant.recalibration.pit_map import effective_rows
from calibrant.recalibration.residual_scale import ResidualScale, with_residuals


@savable_model
class IsotonicRecalibrator(Recalibrator):
    """Recalibration by isotonic regression of observed on predicted frequencies.

    With ``u_i = F_i(y_i)`` the PIT values of n held-out rows, R is the isotonic regression of
    the shares ``#{j : u_j <= u_i} / n`` on the ``u_i`` (Algorithm 1 of "Accurate Uncertainties
    for Deep Learning Using Calibrated Regression", ICML 2018), and the map is

        g(p) = (n R(p) + p) / (n + 1),

    as if the model itself were one more observation: g keeps a slope of ``1 / (n + 1)``
    where R is flat, so that it has an inverse and no density is zero.

    A model that predicts points only gets ``Normal(prediction + centre, width)`` as its
    distribution, centre and width those of the held-out residuals.

    Attributes
    ----------
    model_ : the fitted model
    monotone_ : MonotoneMap
        The map g.
    n_calibration_ : int
        Held-out rows that g was learned from.
    residual_scale_ : ResidualScale or None
        Centre and width of the residuals; None where the model has distributions of its own.

    Notes
    -----
    R is the empirical distribution of the PIT values, with a knot at every row: good for
    coverage and CRPS, too rough for densities. `fit_pit_map` is the smooth version. Targets
    more than about 8 standard deviations out have a PIT of 0 or 1 and can't be told apart;
    `ConformalRecalibrator` can.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from calibrant import IsotonicRecalibrator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 1))
    >>> y = X[:, 0] + rng.exponential(size=600)
    >>> model = LinearRegression().fit(X[:300], y[:300])
    >>> calibrated = IsotonicRecalibrator().fit(model, X[300:], y[300:])
    >>> calibrated.predict_interval(X[:5], coverage=0.9).shape
    (5, 2)
    """

    residual_scale_: ResidualScale | None

    def _learn(self, prediction: Prediction, y: Array, weight: Array) -> MonotoneMap:
        self.residual_scale_ = ResidualScale.of_points(prediction, y, weight)
        dist = self._base(prediction)
        return isotonic_map(randomized_pit(dist.cdf_left(y), dist.cdf(y)), weight)

    def _base(self, prediction: Prediction) -> Distribution:
        return with_residuals(prediction, self.residual_scale_)

    def _to_tensors(self) -> dict[str, Array]:
        fitted = self.residual_scale_
        own = {} if fitted is None else {"residual_scale": np.array(fitted)}
        return super()._to_tensors() | own

    def _from_tensors(self, tensors: dict[str, Array]) -> None:
        super()._from_tensors(tensors)
        saved = tensors.get("residual_scale")
        self.residual_scale_ = None if saved is None else ResidualScale(*saved.tolist())


def isotonic_map(pit: Array, weight: Array) -> MonotoneMap:
    """Return the map of `IsotonicRecalibrator` for PIT values and weights > 0, (n,) each."""
    order = np.argsort(pit)
    values, weights = pit[order], weight[order]
    share = np.cumsum(weights) / weights.sum()
    share = share[np.searchsorted(values, values, side="right") - 1]  # ties share the last one
    curve = IsotonicRegression(y_min=0.0, y_max=1.0).fit(values, share, sample_weight=weights)
    x, observed = curve.X_thresholds_, curve.y_thresholds_
    rows = effective_rows(weights)
    return invertible_map(x, (rows * observed + x) / (rows + 1.0))

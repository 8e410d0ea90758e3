"""Recalibration within groups that may overlap (Mondrian)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Index, group_columns, take_rows
from calibrant.distributions import (
    Distribution,
    Empirical,
    MonotoneMap,
    Recalibrated,
    concatenate,
)
from calibrant.persistence import savable_model
from calibrant.recalibration._recalibrator import Recalibrator, check_enough
from calibrant.recalibration.group_maps import (
    GroupMap,
    fit_group_maps,
    group_knots,
    group_levels,
)
from calibrant.recalibration.grouping import (
    PREDICTED,
    Grouping,
    Labels,
    group_codes,
    group_values,
    model_columns,
)
from calibrant.recalibration.models import Prediction, check_model, check_rows, predicted
from calibrant.recalibration.pit_map import fit_pit_map
from calibrant.recalibration.residual_scale import ResidualScale, with_residuals


@savable_model
class GroupRecalibrator(Recalibrator):
    """Recalibration of all rows, then of the groups that are still off, which may overlap.

    A forecast that is right on average may be too narrow in one zone and too wide for large
    targets. Held-out rows give a common map g and, one after another, a map of each group whose
    PIT values are not uniform after the maps before it (see `fit_group_maps`). A new row goes
    through the common map and those of the groups that it belongs to, in the order in which they
    were learned. Small groups, groups that chance explains, and labels that were not seen keep
    the common map.

    Parameters
    ----------
    groups : str or list of str, optional
        What to group by: columns of X, "predicted mean", "predicted spread". Numbers are cut at
        their deciles if there are more than 20 different ones, with fewer than 10 rows each. X
        may be a frame with columns that the model does not know. Labels can also be given to
        `fit`.

    Attributes
    ----------
    model_ : the fitted model
    monotone_ : MonotoneMap
        The common map g.
    groupings_ : tuple of Grouping
        The columns and their groups.
    steps_ : tuple of GroupMap
        Maps of groups in the order in which they apply.
    n_calibration_ : int
        Held-out rows that the maps were learned from.
    residual_scale_ : ResidualScale or None
        Centre and width of the residuals; None where the model has distributions of its own.

    Notes
    -----
    A map for each group of a partition is Mondrian conformal prediction (Vovk, Gammerman and
    Shafer 2005); passes over overlapping groups are multicalibration (Hebert-Johnson, Kim,
    Reingold and Rothblum 2018). ``cross_fit(groups=...)`` are rows that are held out together, as
    in every recalibrator: name the columns to calibrate by in the constructor.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import calibration_by_group
    >>> from calibrant.recalibration import GroupRecalibrator
    >>> class Flat:
    ...     def predict_dist(self, X):
    ...         return Normal(np.zeros(len(X)), np.ones(len(X)))
    >>> rng = np.random.default_rng(0)
    >>> X, zone = np.zeros((4000, 1)), rng.choice(["calm", "wild"], 4000)
    >>> y = rng.normal(size=4000) * np.where(zone == "wild", 2.0, 0.5)
    >>> model = GroupRecalibrator().fit(Flat(), X[:2000], y[:2000], groups=zone[:2000])
    >>> dist = model.predict_dist(X[2000:], groups=zone[2000:])
    >>> calibration_by_group(dist, y[2000:], zone[2000:]).coverage.round(2)
    array([0.9 , 0.91])
    """

    groupings_: tuple[Grouping, ...]
    steps_: tuple[GroupMap, ...]
    residual_scale_: ResidualScale | None

    def __init__(self, groups: str | list[str] | None = None) -> None:
        self.groups = groups

    # ---- fit --------------------------------------------------------------------------------

    def fit(
        self,
        model: Any,
        X_cal: Any,
        y_cal: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Learn the maps from calibration rows that the model was not fitted on.

        Parameters
        ----------
        model : fitted model
            With ``predict_dist``, else ``predict``: then the distribution is that of the
            residuals.
        X_cal : array or frame of shape (n, d)
        y_cal : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Rows of weight 0 are left out.
        groups : array or series of shape (n,), frame or mapping of n rows, optional
            Labels to group by, besides the columns that the constructor names. Labels of new
            rows are then given to `predict_dist`, unless X has columns of the same names.

        Returns
        -------
        self
        """
        check_model(model, fitted=True)
        X, y, weight = check_rows(X_cal, y_cal, sample_weight)
        rows = np.flatnonzero(weight > 0)
        check_enough(len(rows))
        given = {} if groups is None else group_columns(groups, len(y))
        labels = {name: values[rows] for name, values in given.items()}
        used = X if len(rows) == len(y) else take_rows(X, rows)
        prediction = predicted(model, model_columns(model, used))
        return self._calibrate(model, used, prediction, y[rows], weight[rows], labels)

    def _calibrate(
        self,
        model: Any,
        X: Any,
        prediction: Prediction,
        y: Array,
        weight: Array,
        labels: Labels | None = None,
    ) -> Self:
        common = self._learn(prediction, y, weight)
        dist = self._base(prediction)
        named = [self.groups] if isinstance(self.groups, str) else list(self.groups or [])
        names = dict.fromkeys([*(labels or {}), *named])
        columns = {name: group_values(name, X, dist, labels) for name in names}
        groupings = tuple(Grouping.fit(name, values) for name, values in columns.items())
        self.steps_ = fit_group_maps(
            common,
            dist.cdf_left(y),
            dist.cdf(y),
            weight,
            group_codes(groupings, list(columns.values()), len(y)),
            [len(each) for each in groupings],
        )
        self.monotone_, self.groupings_ = common, groupings
        self.n_calibration_, self.model_ = len(y), model
        return self

    def _learn(self, prediction: Prediction, y: Array, weight: Array) -> MonotoneMap:
        self.residual_scale_ = ResidualScale.of_points(prediction, y, weight)
        dist = self._base(prediction)
        return fit_pit_map(dist.cdf(y), weight, left=dist.cdf_left(y))

    def _base(self, prediction: Prediction) -> Distribution:
        return with_residuals(prediction, self.residual_scale_)

    # ---- predict ----------------------------------------------------------------------------

    def predict_dist(self, X: Any, groups: Any = None) -> Distribution:
        """Predictive distribution of every row, recalibrated.

        Parameters
        ----------
        X : array or frame of shape (n, d)
        groups : array or series of shape (n,), frame or mapping of n rows, optional
            Labels of these rows, in the form that `fit` was given; not needed where X has
            columns of these names.
        """
        self._check_fitted()
        dist = self._base(predicted(self.model_, model_columns(self.model_, X)))
        labels = {} if groups is None else group_columns(groups, len(dist))
        columns = [group_values(each.source, X, dist, labels) for each in self.groupings_]
        return self._mapped(dist, group_codes(self.groupings_, columns, len(dist)))

    def _mapped(self, dist: Distribution, codes: Index) -> Distribution:
        if not self.steps_:
            return Recalibrated(dist, self.monotone_)
        # Rows of the same groups share a map, and there are far fewer such maps than rows.
        found, of_row = np.unique(codes, axis=0, return_inverse=True)
        of_row = of_row.reshape(len(dist))
        knots = group_knots(self.monotone_)
        levels = group_levels(self.monotone_, self.steps_, found)
        if not isinstance(dist, Empirical):
            return Recalibrated(dist, MonotoneMap(knots, levels[of_row]))
        parts = [np.flatnonzero(of_row == k) for k in range(len(found))]
        maps = [MonotoneMap(knots, level) for level in levels]
        mapped = [Recalibrated(dist[rows], g) for rows, g in zip(parts, maps, strict=True)]
        return concatenate(mapped)[np.argsort(np.concatenate(parts))]

    def predict(self, X: Any, groups: Any = None) -> Array:
        """Mean of the predictive distribution, (n,); `groups` as in `predict_dist`."""
        return self.predict_dist(X, groups).mean

    def predict_interval(self, X: Any, coverage: ArrayLike = 0.9, groups: Any = None) -> Array:
        """Central prediction intervals; `groups` as in `predict_dist`.

        Returns
        -------
        array of shape (n, 2) for one coverage, (n, 2, L) for a list: row, bound, level
        """
        return self.predict_dist(X, groups).interval(coverage)

    def predict_quantiles(
        self, X: Any, alpha: ArrayLike = (0.1, 0.5, 0.9), groups: Any = None
    ) -> Array:
        """Quantiles at any levels, (n, L), or (n,) for one; `groups` as in `predict_dist`."""
        return self.predict_dist(X, groups).ppf(alpha)

    @property
    def group_columns_(self) -> list[str]:
        """Columns that new rows need besides the inputs of the model."""
        self._check_fitted()
        return [each.source for each in self.groupings_ if each.source not in PREDICTED]

    # ---- save and load ----------------------------------------------------------------------

    def _to_parts(self) -> dict[str, Any]:
        scale = self.residual_scale_
        return {
            "groupings": self.groupings_,
            "steps": self.steps_,
            "residual_scale": None if scale is None else np.array(scale),
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        self.groupings_, self.steps_ = parts["groupings"], parts["steps"]
        scale = parts["residual_scale"]
        self.residual_scale_ = None if scale is None else ResidualScale(*scale.tolist())

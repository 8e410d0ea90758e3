"""`calibrate`: one call for any model that predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.calibration.bounds import ConformalBounds
from calibrant.calibration.calibrated_model import CalibratedModel
from calibrant.calibration.choice import Rows, choose, small_network
from calibrant.calibration.inputs import table_or_none
from calibrant.calibration.networks import NetworkSource
from calibrant.calibration.predictions import (
    HowToRead,
    given_predictions,
    is_given,
    predict_held_out,
)
from calibrant.checks import Array, Index, count_rows, finite_numbers, name_of, take_rows
from calibrant.errors import DataError, ParameterError
from calibrant.estimators.atoms import Atoms
from calibrant.recalibration.residual_scale import ResidualScale, with_residuals

_LEAST_ROWS = 20
_FRESH = 0.3  # share of the rows that a guarantee is learned from


def calibrate(
    model: Any,
    X: Any,
    y: Any,
    *,
    output: str | None = None,
    levels: ArrayLike | None = None,
    location: Literal["keep", "learn"] = "keep",
    refine: Literal["head", "all"] | None = None,
    guarantee: bool = False,
    cv: Any = 10,
    groups: ArrayLike | None = None,
    features: Callable[[Any], Any] | None = None,
    collate: Callable[[Any], Any] | None = None,
    learner: Any = None,
    random_state: int = 0,
) -> CalibratedModel:
    """Give any model calibrated predictive distributions.

    1. The model predicts rows that it was not fitted on: points, quantiles or distributions.
    2. A correction is learned from these predictions and y. Candidates are none at all (unless the
       model predicts points), one monotone map for all rows, and a small network that learns the
       distribution of normal scores given features and prediction. Cross-validated CRPS decides:
       what makes it worse by more than noise is rolled back.

    Parameters
    ----------
    model : model that predicts, in one of these forms
        - a trained ``torch.nn.Module``; a copy is used, and X, y are rows that it was not trained
          on;
        - an **unfitted** regressor of scikit-learn, LightGBM, XGBoost, CatBoost or with their
          methods: clones are fitted without one fold each and predict that fold, and one is fitted
          on all rows. A warning tells where the clones are too different for that, as networks
          may be;
        - a **fitted** regressor: X, y are calibration rows that it was not fitted on. Residuals of
          training rows would be too small;
        - a model of quantiles or distributions, fitted or not, as above: quantile-forest, CatBoost
          with MultiQuantile, NGBoost, TabPFN, TabICL, any object with ``predict_dist``, a function
          of X that returns quantiles, or ``predict`` together with `levels`;
        - predictions of the rows of X: quantiles, (n, K), a `Distribution` or another answer that
          `as_distribution` reads. New ones are corrected by ``recalibrate``.
    X : table, or whatever the model takes
        A network may take a dict or tuple of arrays, or a data set of samples.
    y : array of shape (n,)
        The name of a series is kept, for reports and the command line.
    output : str, optional
        What a network returns: "mean"; "mean_logvar" or "mean_scale", a tuple or (n, 2);
        "distribution", of ``torch.distributions``; "mixture", a tuple (weights, means, scales), or
        "mixture_logits", (logits, means, log-scales), (n, K) each; "quantiles". Detected if it is
        clear.
    levels : array of shape (K,), optional
        Levels of quantiles.
    location : {"keep", "learn"}, default "keep"
        For models that predict points: keep the distributions around the points, or let the
        network move them where it finds the points biased. ``predict`` returns the model's own
        points in both cases.
    refine : {"head", "all"} or None
        Train the last layer, or all weights, of a copy of a network further, by the CRPS on 60% of
        the rows; the others calibrate. Rows that are held out from the 60% decide when to stop, and
        bring the copy back to its start where nothing improves. ``predict`` returns the points of
        the copy.
    guarantee : bool, default False
        Hold out 30% of the rows for a conformal bound: ``predict_interval`` and
        ``predict_quantiles`` then cover with at least their probability, for exchangeable rows.
    cv : int, splitter or iterable of (train, test), default 10
        Folds of an unfitted model. The clone that predicts has seen more rows than those that are
        calibrated: the more folds, the less more.
    groups : array of shape (n,), optional
        Rows of one group are held out together.
    features : callable, optional
        From X to a table (n, d) that the correction reads. The default is X itself if it is a
        table, the tables (n, d) of a dict, and otherwise nothing but the prediction.
    collate : callable, optional
        From rows of X to what a network is called with: a tensor, a tuple or a dict.
    learner : unfitted estimator with ``predict_dist``, optional
        Takes the place of the small network, such as ``MMDRegressor(quality="best")``.
    random_state : int

    Returns
    -------
    CalibratedModel

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from calibrant import calibrate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(150, 1))
    >>> y = X[:, 0] + rng.exponential(size=150)
    >>> model = calibrate(LinearRegression(), X, y)
    >>> model.predict_interval(X[:5], coverage=0.9).shape
    (5, 2)
    """
    if location not in ("keep", "learn"):
        raise ParameterError(f'location must be "keep" or "learn", got {location!r}.')
    target = _checked_target(model, X, y)
    labels = _checked_groups(groups, len(target), guarantee=guarantee)
    fresh, rest = _split(len(target), guarantee, random_state)

    how = HowToRead(output, levels, collate, refine, cv, random_state)
    source, prediction, rows = predict_held_out(model, X, target, rest, labels, how)
    _check_enough(len(rows), "rows to learn the correction from")
    y_held_out = target[rows]
    scale = ResidualScale.of_points(prediction, y_held_out, np.ones(len(rows)))
    read_features = features or table_or_none
    held_out = Rows(
        base=with_residuals(prediction, scale),
        y=y_held_out,
        features=None if X is None else read_features(take_rows(X, rows)),
        groups=None if labels is None else labels[rows],
    )
    atoms = Atoms.find(y_held_out, float(np.std(y_held_out)) or 1.0, as_components=False)
    choice = choose(
        held_out,
        atoms,
        small_network(random_state) if learner is None else learner,
        points=scale is not None,
        location=location,
        random_state=random_state,
    )
    made = CalibratedModel(
        source=source,
        residual_scale=scale,
        correction=choice.correction,
        atoms=atoms,
        bounds=None,
        features=read_features,
        scores=choice.scores,
        n_calibration=len(rows),
        settings={
            "output": source.output if isinstance(source, NetworkSource) else output,
            "levels": None if levels is None else np.asarray(levels, dtype=np.float64),
        },
        target_name_=name_of(y) or getattr(model, "target_name_", None),
    )
    return _with_bounds(made, model, X, target, fresh) if guarantee else made


def _with_bounds(
    made: CalibratedModel, model: Any, X: Any, y: Array, fresh: Index
) -> CalibratedModel:
    """Add the guarantee, learned from rows that nothing was fitted to."""
    own = None if X is None else take_rows(X, fresh)
    if is_given(model):
        given = given_predictions(model, made.settings["levels"])[fresh]
        dist = made.recalibrate(given, own)
    else:
        dist = made.predict_dist(own)
    return replace(made, bounds=ConformalBounds.fit(dist, y[fresh]))


def _split(n_rows: int, guarantee: bool, random_state: int) -> tuple[Index, Index]:
    """Rows for the guarantee, if any, and the others."""
    if not guarantee:
        return np.arange(0), np.arange(n_rows)
    order = np.random.default_rng(random_state).permutation(n_rows)
    cut = round(_FRESH * n_rows)
    return order[:cut], np.sort(order[cut:])


def _checked_target(model: Any, X: Any, y: Any) -> Array:
    # Quantiles of several steps ahead, (series, steps, K), have targets (series, steps).
    flat = np.reshape(y, -1) if is_given(model) and np.ndim(y) >= 2 else y
    target = finite_numbers(flat, "y")
    if X is None and not is_given(model):
        raise DataError("X is missing: only predictions can be calibrated without it.")
    if X is not None and (n_rows := count_rows(X)) != len(target):
        raise DataError(f"X and y must have as many rows, got {n_rows} and {len(target)}.")
    _check_enough(len(target), "rows")
    return target


def _checked_groups(
    groups: ArrayLike | None, n_rows: int, *, guarantee: bool
) -> NDArray[Any] | None:
    if groups is None:
        return None
    if guarantee:
        raise ParameterError(
            "guarantee=True needs exchangeable rows, and rows in groups are not. Leave groups or "
            "guarantee out."
        )
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise DataError(f"groups must have one label per row, ({n_rows},), got {labels.shape}.")
    return labels


def _check_enough(n_rows: int, what: str) -> None:
    if n_rows < _LEAST_ROWS:
        raise DataError(
            f"calibrate needs at least {_LEAST_ROWS} {what}, got {n_rows}. Pass more, or calibrate "
            "an unfitted model, which uses all rows for both."
        )

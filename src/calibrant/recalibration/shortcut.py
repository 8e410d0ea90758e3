"""Recalibration in one call."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from calibrant.recalibration.by_group import GroupRecalibrator

_MOST_NAMES = 20  # a longer list of text is one of labels


def recalibrate(
    model: Any,
    X_cal: Any,
    y_cal: Any,
    *,
    groups: Any = None,
    sample_weight: ArrayLike | None = None,
) -> GroupRecalibrator:
    """Recalibrate a fitted model on held-out rows, over all of them and within groups.

    Parameters
    ----------
    model : fitted model
        With ``predict_dist`` or ``predict``.
    X_cal : array or frame of shape (n, d)
        Rows that the model was not fitted on.
    y_cal : array of shape (n,)
    groups : str, list of str, or labels, optional
        Names of columns of X_cal, "predicted mean" and "predicted spread", or the labels
        themselves: an array of shape (n,), a frame or a mapping of n rows. Groups may overlap.
    sample_weight : array of shape (n,), optional

    Returns
    -------
    GroupRecalibrator

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LinearRegression
    >>> from calibrant import recalibrate
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"x": rng.uniform(size=600), "zone": rng.choice(["a", "b"], 600)})
    >>> y = X["x"] + rng.normal(size=600) * np.where(X["zone"] == "a", 0.1, 1.0)
    >>> linear = LinearRegression().fit(X[["x"]][:300], y[:300])
    >>> model = recalibrate(linear, X[300:], y[300:], groups="zone")
    >>> width = np.diff(model.predict_interval(X, coverage=0.9))[:, 0]
    >>> bool(width[X["zone"] == "a"].mean() < 0.3 * width[X["zone"] == "b"].mean())
    True
    """
    names = _as_names(groups)
    made = GroupRecalibrator(groups=names)
    labels = None if names is not None else groups
    return made.fit(model, X_cal, y_cal, sample_weight, groups=labels)


def _as_names(groups: Any) -> list[str] | None:
    """Return names of columns; None where groups are labels, or there are none."""
    if isinstance(groups, str):
        return [groups]
    named = isinstance(groups, list | tuple) and len(groups) <= _MOST_NAMES
    return [*groups] if named and all(isinstance(each, str) for each in groups) else None

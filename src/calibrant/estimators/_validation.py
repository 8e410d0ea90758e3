"""Checks of what users pass to `fit` and `predict`; every complaint is of our family."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from calibrant.errors import CalibrantError, DataError, DataWarning
from calibrant.estimators._windows import Windows
from calibrant.tables import (
    TableEncoder,
    as_frame,
    check_finite,
    needs_encoder,
    to_local,
)

if TYPE_CHECKING:
    from calibrant.estimators._base import NetworkRegressor

Array = NDArray[np.float64]

LEAST_ROWS = 10


class Sample(NamedTuple):
    """Inputs (n, d), targets (n,) and weights (n,) in float64, as the user's units have them.

    Inputs that are sequences are `Windows`, (n, steps, d). Rows of one group belong together.
    """

    x: Array | Windows
    y: Array
    weight: Array
    groups: NDArray[Any] | None = None

    def take(self, index: NDArray[Any]) -> Sample:
        """Return the rows of an index or a mask."""
        groups = None if self.groups is None else self.groups[index]
        return Sample(self.x[index], self.y[index], self.weight[index], groups)


def check_sample(
    model: NetworkRegressor, X: Any, y: Any, sample_weight: ArrayLike | None, *, reset: bool
) -> Sample:
    """Check inputs, targets and weights of the same rows."""
    if y is None:
        raise DataError(
            f"This {type(model).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )
    x = check_inputs(model, X, reset=reset)
    return Sample(x, *_check_targets(x, y, sample_weight))


def check_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    """One label a row."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise DataError(f"groups must have one label a row, ({n_rows},), got shape {labels.shape}.")
    return labels


def check_inputs(model: NetworkRegressor, X: Any, *, reset: bool) -> Array | Windows:
    """Float64 matrix of a table, (n, d), or windows of sequences, (n, steps, d).

    With ``reset=True`` the model learns what its inputs look like; otherwise they must be the
    same as then.
    """
    X = to_local(X)
    if isinstance(X, np.ndarray) and X.ndim == 3:
        X = Windows.of_array(X)
    steps = X.length if isinstance(X, Windows) else None
    if reset:
        model.n_steps_ = steps
    elif steps != model.n_steps_:
        raise DataError(
            f"X holds {_in_words(steps)}, but {type(model).__name__} was fitted on "
            f"{_in_words(model.n_steps_)}."
        )
    if isinstance(X, Windows):
        return _check_windows(model, X, reset=reset)
    return check_matrix(model, X, reset=reset)


def _in_words(steps: int | None) -> str:
    return "a table (n, d)" if steps is None else f"sequences (n, {steps}, d)"


def _check_windows(model: NetworkRegressor, windows: Windows, *, reset: bool) -> Array | Windows:
    n, _, d = windows.shape
    if n == 0:
        raise DataError(f"Found array with 0 sample(s) (shape={windows.shape}): X has no windows.")
    if reset:
        model.n_features_in_, model.encoder_ = d, None
        if hasattr(model, "feature_names_in_"):  # of an earlier fit to a frame
            del model.feature_names_in_
    elif d != model.n_features_in_:
        raise DataError(
            f"X has {d} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    return windows if model._reads_sequences else windows.flat()


def check_matrix(model: NetworkRegressor, X: Any, *, reset: bool) -> Array:
    """Float64 matrix of inputs, (n, d).

    With ``reset=True`` the model learns the features' names and number and how to encode
    them; otherwise they must be the same as then.
    """
    impute = model.missing == "impute"
    with _in_our_family():
        if hasattr(X, "dtypes") and hasattr(X, "columns"):
            validate_data(model, X, reset=reset, skip_check_array=True)
            encode = needs_encoder(X, impute=impute)
        else:
            gaps = "allow-nan" if impute else True
            X = validate_data(model, X, reset=reset, dtype=np.float64, ensure_all_finite=gaps)
            encode = impute
        if reset:
            model.encoder_ = TableEncoder(impute=impute).fit(as_frame(X)) if encode else None
        if model.encoder_ is not None:
            X = model.encoder_.transform(as_frame(X))
        elif hasattr(X, "columns"):
            check_finite(as_frame(X))  # by name, which the encoder does itself
        return cast(Array, check_array(X, dtype=np.float64, input_name="X", estimator=model))


def _check_targets(
    x: Array | Windows, y: Any, sample_weight: ArrayLike | None
) -> tuple[Array, Array]:
    """Targets and weights of the rows of x, each (n,) in float64."""
    with _in_our_family():
        target = column_or_1d(to_local(y), warn=True)
        if not np.issubdtype(np.asarray(target).dtype, np.number):
            target = _to_numbers(target)
        target = check_array(target, dtype=np.float64, ensure_2d=False, input_name="y")
        check_consistent_length(x, target)
        if sample_weight is None:
            return target, np.ones(len(target))
        weights = check_array(
            to_local(sample_weight), dtype=np.float64, ensure_2d=False, input_name="sample_weight"
        )
    if weights.shape != target.shape:
        raise DataError(
            f"sample_weight must have one number a row, ({len(target)},), got {weights.shape}."
        )
    if weights.min() < 0:
        raise DataError(f"sample_weight must not be negative, got {weights.min():g}.")
    if not weights.any():
        raise DataError("All sample weights are zero: no row is left to fit.")
    return target, weights


def check_enough(target: Array) -> None:
    """Complain about too few rows, and warn of a constant target."""
    if len(target) < LEAST_ROWS:
        raise DataError(
            f"Found n_samples={len(target)} with a weight above 0, but at least {LEAST_ROWS} rows "
            "are needed: some of them are held out for early stopping."
        )
    if np.ptp(target) == 0:
        warnings.warn(
            f"The target is constant ({target[0]:g}): the prediction is a narrow distribution "
            "around it.",
            DataWarning,
            stacklevel=3,
        )


def _to_numbers(target: Any) -> Array:
    try:
        return np.asarray(target).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"y must be numeric, got {np.asarray(target).dtype}: Unknown label type. {error}"
        ) from error


@contextmanager
def _in_our_family() -> Iterator[None]:
    """Let the messages of scikit-learn's checks come as errors of our family."""
    try:
        yield
    except CalibrantError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from error

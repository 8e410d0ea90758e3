"""Checks of the inputs of `fit` and `predict`, and their encoding; failures raise a DataError."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array, validate_data

from calibrant.checks import Array, package_of
from calibrant.errors import CalibrantError, ColumnWarning, DataError, DataWarning
from calibrant.estimators.several_inputs import check_several
from calibrant.estimators.windows import Windows
from calibrant.tables import ArrowSource, ParquetSource, TableEncoder, as_frame, to_local

if TYPE_CHECKING:
    from calibrant.estimators.base import NetworkRegressor


def check_inputs(
    model: NetworkRegressor, X: Any, *, reset: bool, target: Array | None = None
) -> Array | Windows:
    """Return the float64 matrix of a table or of a dict of inputs, (n, d), or windows of sequences.

    With ``reset=True`` the model stores number, names and kind of its inputs, and how to encode
    them; otherwise they must be the same as in `fit`.

    Parameters
    ----------
    target : array of shape (n,), optional
        With it, whole numbers that turn out to be codes become categories.
    """
    _refuse_larger(X)
    X = to_local(X)
    if isinstance(X, pd.Series):
        raise DataError(_series_in_words(model, X, reset=reset))
    several = isinstance(X, Mapping)
    if isinstance(X, np.ndarray) and X.ndim == 3:
        X = Windows.of_array(X)
    steps = X.length if isinstance(X, Windows) else None
    if reset:
        model.n_steps_, model.input_shapes_ = steps, ()
    elif steps != model.n_steps_ or several != bool(model.input_shapes_):
        raise DataError(
            f"X holds {_in_words(steps, several)}, but {type(model).__name__} was fitted on "
            f"{_in_words(model.n_steps_, bool(model.input_shapes_))}."
        )
    if several:
        return check_several(model, X, reset=reset)
    if isinstance(X, Windows):
        return _check_windows(model, X, reset=reset)
    return _check_table(model, X, target, reset=reset)


def _refuse_larger(X: Any) -> None:
    """Refuse a table that may be larger than memory, and name what reads it."""
    if isinstance(X, ArrowSource | ParquetSource):
        raise DataError(
            f"Expected rows in memory, got {type(X).__name__}: use predict_parquet, which writes "
            "predictions part by part, or evaluate_source, which scores them."
        )
    if package_of(X) == "ray":
        raise DataError(
            f"Expected rows in memory, got {type(X).__name__} of Ray: predict_on_ray of "
            "calibrant.engines predicts it."
        )


def _series_in_words(model: NetworkRegressor, X: pd.Series[Any], *, reset: bool) -> str:
    """Error of one row, or one column, in place of a table."""
    names = () if reset else getattr(model, "feature_names_in_", ())
    if len(names) and set(names) & set(X.index):
        advice = "For one row of a frame pass X.iloc[[0]], with two brackets, not X.iloc[0]."
    else:
        advice = "For one column of a frame pass X[['name']], with two brackets, not X['name']."
    return f"Expected a table (n, d), got a Series of shape {X.shape}. {advice}"


def _in_words(steps: int | None, several: bool) -> str:
    if several:
        return "a dict of inputs"
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


def _check_table(model: NetworkRegressor, X: Any, target: Array | None, *, reset: bool) -> Array:
    is_frame = hasattr(X, "dtypes") and hasattr(X, "columns")
    with as_data_errors():
        if is_frame and not reset and model.encoder_ is not None:
            X = model.encoder_.with_left_out(X)
        if is_frame or _holds_text(X):
            validate_data(model, X, reset=reset, skip_check_array=True)
            X = as_frame(X)
        else:
            X = validate_data(
                model, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
            )
        encoder = _fit_encoder(X, target) if reset else model.encoder_
        assert encoder is not None  # only models of windows have none
        model.encoder_ = encoder
        if encoder.is_identity and isinstance(X, np.ndarray) and not np.isnan(X).any():
            return X
        with warnings.catch_warnings():
            if reset:  # `_fit_encoder` has warned of these cells
                warnings.simplefilter("ignore", DataWarning)
            matrix = encoder.transform(as_frame(X))
        return cast(Array, check_array(matrix, dtype=np.float64, estimator=model))


def _holds_text(X: Any) -> bool:
    """Whether X is an array with text in it, as a `ColumnTransformer` makes of mixed columns."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OU":
        return False
    return X.dtype.kind == "U" or any(isinstance(value, str) for value in X.flat)


def _fit_encoder(X: Any, target: Array | None) -> TableEncoder:
    """Learn the encoding of training rows, and warn of what a user may not expect."""
    if isinstance(X, np.ndarray):
        return TableEncoder().fit_matrix(X)
    encoder = TableEncoder().fit(X)
    if encoder.surprises:
        warnings.warn(
            f"{'. '.join(encoder.surprises)}. model.encoder_.describe() says what was done to "
            "every column.",
            ColumnWarning,
            stacklevel=8,
        )
    return encoder if target is None else encoder.with_codes(X, target)


@contextmanager
def as_data_errors() -> Iterator[None]:
    """Turn failures of scikit-learn's checks into DataError."""
    try:
        yield
    except CalibrantError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from error

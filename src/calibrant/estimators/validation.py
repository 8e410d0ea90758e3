"""Checks of what users pass to `fit` and `predict`; failures raise a CalibrantError."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from calibrant.checks import Array
from calibrant.errors import (
    CalibrantError,
    ColumnWarning,
    DataError,
    DataWarning,
    ParameterError,
)
from calibrant.estimators.several_inputs import check_several
from calibrant.estimators.windows import Windows
from calibrant.networks import InputShapes
from calibrant.tables import (
    TableEncoder,
    as_frame,
    to_local,
)

if TYPE_CHECKING:
    from calibrant.estimators.base import NetworkRegressor
    from calibrant.estimators.streamed_data import RowStream


LEAST_ROWS = 10


class Sample(NamedTuple):
    """Inputs (n, d), targets (n,) and weights (n,) in float64, in the units of the user.

    Sequences are `Windows`, (n, steps, d). Rows of one group are never split.
    """

    x: Array | Windows
    y: Array
    weight: Array
    groups: NDArray[Any] | None = None

    def take(self, index: NDArray[Any]) -> Sample:
        """Return the rows of an index or a mask."""
        groups = None if self.groups is None else self.groups[index]
        return Sample(self.x[index], self.y[index], self.weight[index], groups)


class FitData(NamedTuple):
    """The checked arguments of `fit`.

    Parameters
    ----------
    sample : Sample
        All training rows; of a stream, a sample of them.
    validation : Sample or None
        Rows that the user passed for validation, or that were held out from a stream.
    cv : int, splitter, iterable or None
        How rows are held out, if the user chose it.
    seed : int
    inputs : tuple of (name, shape of one row)
        Of a dict of inputs; empty for one table or sequences.
    stream : RowStream or None
        The training rows, where they are not in memory.
    n_elsewhere : int or None
        Their number, or that of training rows on other machines.
    """

    sample: Sample
    validation: Sample | None
    cv: Any
    seed: int
    inputs: InputShapes = ()
    stream: RowStream | None = None
    n_elsewhere: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.n_elsewhere or len(self.sample.y)

    @property
    def chooses_rows(self) -> bool:
        """Whether `fit` itself chooses the rows to hold out."""
        return self.cv is None and self.validation is None


def check_fit_data(
    model: NetworkRegressor,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    *,
    validation_data: tuple[Any, ...] | None = None,
    groups: ArrayLike | None = None,
    cv: Any = None,
) -> FitData:
    """Check the arguments of `fit`; the model stores number, names and kind of its inputs."""
    seed = draw_seed(model)
    sample = check_sample(model, X, y, sample_weight, reset=True)
    check_enough(sample.y[sample.weight > 0])
    if groups is not None:
        sample = sample._replace(groups=check_groups(to_local(groups), len(sample.y)))
    if cv is None or validation_data is not None:  # a splitter of the user counts all rows
        sample = sample.take(sample.weight > 0)
    validation = None if validation_data is None else _check_validation(model, validation_data)
    return FitData(sample, validation, cv, seed, model.input_shapes_)


def draw_seed(model: NetworkRegressor) -> int:
    """Seed of everything random in a fit."""
    return int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))


def _check_validation(model: NetworkRegressor, data: tuple[Any, ...]) -> Sample:
    if not 2 <= len(data) <= 3:
        raise ParameterError(
            f"validation_data must be (X, y) or (X, y, sample_weight), got {len(data)} items."
        )
    X, y, weights = data if len(data) == 3 else (*data, None)
    sample = check_sample(model, X, y, weights, reset=False)
    return sample.take(sample.weight > 0)


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
    target, weight = _check_targets(x, y, sample_weight)
    return Sample(_with_codes(model, X, x, target) if reset else x, target, weight)


def _with_codes(
    model: NetworkRegressor, X: Any, x: Array | Windows, target: Array
) -> Array | Windows:
    """Encode a frame anew where whole numbers turn out to be codes: their order means nothing."""
    if isinstance(x, Windows) or model.encoder_ is None or not hasattr(X, "columns"):
        return x
    frame = as_frame(to_local(X))
    encoder = model.encoder_.with_codes(frame, target)
    if encoder is model.encoder_:
        return x
    model.encoder_ = encoder
    return encoder.transform(frame)


def check_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    """Return the labels as an array, one per row."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise DataError(
            f"groups must have one label per row, ({n_rows},), got shape {labels.shape}."
        )
    return labels


def check_inputs(model: NetworkRegressor, X: Any, *, reset: bool) -> Array | Windows:
    """Return the float64 matrix of a table or of a dict of inputs, (n, d), or windows of sequences.

    With ``reset=True`` the model stores number, names and kind of its inputs; otherwise they must
    be the same as in `fit`.
    """
    several = isinstance(X, Mapping)
    X = X if several else to_local(X)
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
    return check_matrix(model, X, reset=reset)


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


def check_matrix(model: NetworkRegressor, X: Any, *, reset: bool) -> Array:
    """Return the float64 matrix of inputs, (n, d).

    With ``reset=True`` the model stores names and number of the features and how to encode them;
    otherwise they must be the same as in `fit`.
    """
    is_frame = hasattr(X, "dtypes") and hasattr(X, "columns")
    with _as_data_errors():
        if is_frame and not reset and model.encoder_ is not None:
            X = model.encoder_.with_left_out(X)
        if is_frame or _holds_text(X):
            validate_data(model, X, reset=reset, skip_check_array=True)
            X = as_frame(X)
        else:
            X = validate_data(
                model, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
            )
        encoder = _fit_encoder(X) if reset else model.encoder_
        assert encoder is not None  # only models of windows have none
        model.encoder_ = encoder
        if encoder.is_identity and isinstance(X, np.ndarray) and not np.isnan(X).any():
            return X
        with warnings.catch_warnings():
            if reset:  # `_fit_encoder` has told of these cells
                warnings.simplefilter("ignore", DataWarning)
            matrix = encoder.transform(as_frame(X))
        return cast(Array, check_array(matrix, dtype=np.float64, estimator=model))


def _holds_text(X: Any) -> bool:
    """Whether X is an array with text in it, as a `ColumnTransformer` makes of mixed columns."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OU":
        return False
    return X.dtype.kind == "U" or any(isinstance(value, str) for value in X.flat)


def _fit_encoder(X: Any) -> TableEncoder:
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
    return encoder


def _check_targets(
    x: Array | Windows, y: Any, sample_weight: ArrayLike | None
) -> tuple[Array, Array]:
    """Targets and weights of the rows of x, each (n,) in float64."""
    with _as_data_errors():
        target = to_local(y)
        shape = np.asarray(target).shape
        if len(shape) == 2 and shape[1] > 1:
            raise DataError(
                f"y should be a 1d array, got an array of shape {shape} instead. For several "
                "outputs use MultiOutput(estimator).fit(X, Y)."
            )
        target = column_or_1d(target, warn=True)
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
            f"sample_weight must have one number per row, ({len(target)},), got {weights.shape}."
        )
    if weights.min() < 0:
        raise DataError(f"sample_weight must not be negative, got {weights.min():g}.")
    if not weights.any():
        raise DataError("All sample weights are zero: no row is left to fit.")
    return target, weights


def check_enough(target: Array) -> None:
    """Raise an error for too few rows, and warn of a constant target."""
    if len(target) < LEAST_ROWS:
        raise DataError(
            f"Found n_samples={len(target)} with a weight above 0, but at least {LEAST_ROWS} rows "
            "are needed, because some of them are held out for early stopping."
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
def _as_data_errors() -> Iterator[None]:
    """Turn failures of scikit-learn's checks into DataError."""
    try:
        yield
    except CalibrantError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from error


def may_fall_below_zero(y: Any) -> bool:
    """Whether a target without negative values is near enough to zero to be predicted below it."""
    values = np.asarray(y, dtype=np.float64)
    return bool(0.0 <= values.min() < 2.0 * values.std())

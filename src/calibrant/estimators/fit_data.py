"""The arguments of `fit`, checked; failures raise a CalibrantError."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from calibrant.checks import Array, name_of
from calibrant.errors import DataError, DataWarning, ParameterError
from calibrant.estimators.inputs import as_data_errors, check_inputs
from calibrant.estimators.windows import Windows
from calibrant.networks import InputShapes
from calibrant.tables import read_target, to_local

if TYPE_CHECKING:
    from calibrant.estimators.base import NetworkRegressor
    from calibrant.estimators.streamed_data import RowStream


LEAST_ROWS = 10
_LARGEST = 1e100  # target whose variance, and the variance of that, are still within float64


class Sample(NamedTuple):
    """Inputs (n, d), targets (n,) and weights (n,) in float64, in the units of the user.

    Sequences are `Windows`, (n, steps, d). Rows of one group are never split. `trend` is what a
    linear trend, learned from other rows, predicts for the targets, (n,); networks learn the
    residual.
    """

    x: Array | Windows
    y: Array
    weight: Array
    groups: NDArray[Any] | None = None
    trend: Array | float = 0.0

    @property
    def residual(self) -> Array:
        """Targets minus their trend, (n,)."""
        return np.asarray(self.y - self.trend)

    def take(self, index: NDArray[Any]) -> Sample:
        """Return the rows of an index or a mask."""
        groups = None if self.groups is None else self.groups[index]
        trend = self.trend if isinstance(self.trend, float) else self.trend[index]
        return Sample(self.x[index], self.y[index], self.weight[index], groups, trend)


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
        The inputs of a dict; empty for one table or sequences.
    stream : RowStream or None
        The training rows, if they are not in memory.
    n_elsewhere : int or None
        Number of training rows if they are in a stream or on other machines.
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
        sample = sample._replace(groups=check_groups(groups, len(sample.y)))
    if cv is None or validation_data is not None:  # a splitter of the user counts all rows
        sample = sample.take(sample.weight > 0)
    validation = None if validation_data is None else _check_validation(model, validation_data)
    return FitData(sample, validation, cv, seed, model.input_shapes_)


def draw_seed(model: NetworkRegressor) -> int:
    """Seed of everything random in a fit."""
    return int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))


def _check_validation(model: NetworkRegressor, data: tuple[Any, ...]) -> Sample:
    if not isinstance(data, tuple | list) or not 2 <= len(data) <= 3:
        got = f"{len(data)} items" if isinstance(data, tuple | list) else type(data).__name__
        raise ParameterError(f"validation_data must be (X, y) or (X, y, sample_weight), got {got}.")
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
    X, target = to_local(X), check_target(y)
    if not isinstance(X, Mapping):  # codes among its columns are found by the targets
        _check_lengths(X, target)
    x = check_inputs(model, X, reset=reset, target=target if reset else None)
    _check_lengths(x, target)
    return Sample(x, target, check_weights(sample_weight, len(target)))


def _check_lengths(X: Any, target: Array) -> None:
    try:
        check_consistent_length(X, target)
    except (TypeError, ValueError) as error:
        raise DataError(f"X and y must have the same rows. {error}") from error


def check_target(y: Any) -> Array:
    """Return the targets as one finite float64 number per row, (n,)."""
    with as_data_errors():
        values, name = to_local(y), name_of(y)
        shape = np.asarray(values).shape
        if len(shape) == 2 and shape[1] > 1:
            raise DataError(
                f"y should be a 1d array, got an array of shape {shape} instead. For several "
                "outputs use MultiOutput(estimator).fit(X, Y)."
            )
        values = column_or_1d(values, warn=True)
        if not np.issubdtype(np.asarray(values).dtype, np.number):
            values = _to_numbers(values, name)
        target: Array = check_array(
            values, dtype=np.float64, ensure_2d=False, input_name="y", ensure_all_finite=False
        )
    missing = int(np.isnan(target).sum())
    if missing:
        raise DataError(
            f"Input y contains NaN: {missing} of {len(target)} targets are missing. Leave these "
            "rows out."
        )
    largest = float(np.abs(target).max())
    if largest == np.inf:
        raise DataError(
            "Input y contains infinity, or numbers too large for float64. Leave these rows out."
        )
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        raise DataError(
            f"The largest target is {largest:g} in size: variances of such numbers are beyond "
            "float64. Change the unit of y."
        )
    return target


def _to_numbers(target: Any, name: str | None) -> Array:
    values = np.asarray(target)
    if values.dtype.kind in "mM":
        raise DataError(
            f"y must be numeric, got {values.dtype}. Convert it to numbers in a unit of your own, "
            "such as days."
        )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):  # text, such as "$4,733.00"
        return np.asarray(read_target(pd.Series(values, name=name)), dtype=np.float64)


def check_weights(sample_weight: Any, n_rows: int) -> Array:
    """Return the weights of the rows, (n,), times a power of two; 1 without weights."""
    if sample_weight is None:
        return np.ones(n_rows)
    given = np.asarray(to_local(sample_weight))
    if given.shape != (n_rows,):
        raise DataError(
            f"sample_weight must have one number per row, ({n_rows},), got {given.shape}."
        )
    with as_data_errors():
        weights: Array = check_array(
            given, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
        )
    if weights.min() < 0:
        raise DataError(f"sample_weight must not be negative, got {weights.min():g}.")
    if not weights.any():
        raise DataError("All sample weights are zero: no row is left to fit.")
    # Only ratios matter, and sums and squares must stay finite. Powers of two do not round.
    scaled: Array = np.ldexp(weights, -np.frexp(weights.max())[1])
    return scaled


def check_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    """Return the labels as an array, one per row."""
    labels = np.asarray(to_local(groups))
    if labels.shape != (n_rows,):
        raise DataError(
            f"groups must have one label per row, ({n_rows},), got shape {labels.shape}."
        )
    missing = int(pd.isna(labels).sum())
    if missing:
        raise DataError(
            f"groups must have a label for every row, but {missing} of {n_rows} are missing."
        )
    try:
        np.unique(labels)
    except TypeError as error:
        raise DataError(
            f"groups must be labels of one type, such as numbers or strings: {error}"
        ) from error
    return labels


def check_enough(target: Array) -> None:
    """Raise an error for too few rows, and warn of a constant target."""
    if len(target) < LEAST_ROWS:
        raise DataError(
            f"Found n_samples={len(target)} with a weight above 0, but at least {LEAST_ROWS} rows "
            "are needed to train on some and hold out others."
        )
    if np.ptp(target) == 0:
        warnings.warn(
            f"The target is constant ({target[0]:g}): the prediction is a narrow distribution "
            "around it.",
            DataWarning,
            stacklevel=5,
        )


def may_fall_below_zero(y: Any) -> bool:
    """Whether a target without negative values is near enough to zero to be predicted below it."""
    values = np.asarray(y, dtype=np.float64)
    return bool(0.0 <= values.min() < 2.0 * values.std())

"""Several inputs per row, such as an image and a table: a dict of arrays as one matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from calibrant.checks import Array, as_numbers, count_rows
from calibrant.errors import DataError, ParameterError
from calibrant.estimators.scaling import Scaler, Scaling, fit_scaler
from calibrant.networks import InputShapes, widths
from calibrant.tables import to_local

if TYPE_CHECKING:
    from calibrant.estimators.base import NetworkRegressor


def check_several(model: NetworkRegressor, X: Mapping[str, Any], *, reset: bool) -> Array:
    """Return the float64 matrix (n, d) of all inputs, one after another.

    Parameters
    ----------
    X : mapping of name to array (n, ...)
    reset : bool
        Store names and shapes of the inputs; otherwise they must be those of `fit`.
    """
    if not isinstance(getattr(model, "network", None), nn.Module):
        raise ParameterError(
            f"X is a dict of inputs, which only a network of your own reads: use {_like(model)}, "
            "whose forward takes them by these names, or pass one table."
        )
    if not X:
        raise DataError("X is an empty dict: pass at least one input, {name: array (n, ...)}.")
    known = None if reset else dict(model.input_shapes_ or ())
    if known is not None and set(X) != set(known):
        raise DataError(
            f"X has the inputs {_listed(X)}, but {type(model).__name__} was fitted on "
            f"{_listed(known)}."
        )
    arrays = {name: _checked(X[name], name) for name in (X if known is None else known)}
    count_rows(arrays)  # as many in all of them
    shapes = tuple((name, array.shape[1:]) for name, array in arrays.items())
    if reset:
        model.input_shapes_, model.encoder_ = shapes, None
        model.n_features_in_ = sum(widths(shapes))
        if hasattr(model, "feature_names_in_"):  # of an earlier fit to a frame
            del model.feature_names_in_
    for name, shape in shapes:
        if known is not None and shape != known[name]:
            raise DataError(
                f"Input {name!r} has rows of shape {shape}, but {type(model).__name__} was fitted "
                f"on {known[name]}."
            )
    return np.hstack([array.reshape(len(array), -1) for array in arrays.values()])


def fit_scaler_of_several(
    values: Array, weights: Array, scaling: Scaling, shapes: InputShapes
) -> Scaler:
    """Fit the scaling of several inputs, (n, d), on training rows.

    An input (n, d) is scaled column by column, sequences (n, steps, d) alike in all steps, and
    images and other arrays as a whole: they keep their contrasts.
    """
    loc, scale, limit = [], [], None
    ends = np.cumsum(widths(shapes))
    for part, (_, shape) in zip(np.split(values, ends[:-1], axis=1), shapes, strict=True):
        columns = shape[-1] if 1 <= len(shape) <= 2 else 1
        stacked = part.reshape(-1, columns)
        times = part.shape[1] // columns
        scaler = fit_scaler(stacked, np.repeat(weights, times), scaling)
        loc.append(np.tile(scaler.loc, times))
        scale.append(np.tile(scaler.scale, times))
        limit = scaler.limit
    return Scaler(np.concatenate(loc), np.concatenate(scale), limit)


def _checked(values: Any, name: str) -> Array:
    array = as_numbers(to_local(values), f"Input {name!r}", DataError)
    if array.ndim == 0 or 0 in array.shape:
        raise DataError(
            f"Input {name!r} must be an array (n, ...) with rows, got shape {array.shape}."
        )
    wrong = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    if wrong.any():
        raise DataError(
            f"Input {name!r} has NaN or infinity in {wrong.sum()} of {len(array)} rows, the first "
            f"is row {wrong.argmax()}. Fill them or leave the rows out: only gaps in one table are "
            "imputed."
        )
    return array


def _like(model: NetworkRegressor) -> str:
    name = type(model).__name__ if hasattr(model, "network") else "MMDRegressor"
    return f"{name}(network=module)"


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)

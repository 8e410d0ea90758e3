"""What models of other packages return, as distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import logit, softmax

from calibrant.checks import Array, as_numbers, check_quantile_levels, show
from calibrant.distributions import Distribution, Empirical, Quantiles
from calibrant.errors import DataError, ParameterError

# Levels at which quantiles are asked for, and binned distributions are read.
LEVELS: Array = np.concatenate([[0.002, 0.005], np.arange(1, 100) / 100, [0.995, 0.998]])
_DECILES = np.arange(1, 10) / 10  # what TabPFN returns unless it is asked for others
_LEAST_TAIL = 0.25  # least slope of a tail, in units of the row's mean slope
_APART = 1e-9  # distance of equal quantiles, in units of the range of the row or its size


def as_distribution(answer: Any, levels: ArrayLike | None = None) -> Distribution:
    """Read what a quantile model or a foundation model returned as distributions of n rows.

    Parameters
    ----------
    answer : one of
        - a `Distribution`;
        - quantiles, (n, K), or (series, steps, K), whose steps become rows one after the other;
        - a list of K arrays (n,), as TabPFN returns quantiles;
        - a frame with a column for each level, named "0.1" or 0.1, among others, as ``predict_df``
          of Chronos returns; `levels` chooses some of them;
        - a tuple (quantiles, mean), as Chronos returns; the mean is not used. The quantiles of
          Chronos-2 are a list with (targets, steps, K) for each series;
        - a mapping with "logits" and "criterion" (its ``borders`` are edges of bins), as TabPFN
          returns for ``output_type="full"``; with "probabilities", (n, B), and "edges", (B + 1,);
          with "samples", (n, S); or with "quantiles" and perhaps "levels".
    levels : array of shape (K,), optional
        Levels of the quantiles, increasing, inside (0, 1).

    Examples
    --------
    >>> from calibrant.calibration import as_distribution
    >>> as_distribution([[1.0, 2.0, 4.0]], levels=[0.1, 0.5, 0.9]).median
    array([2.])
    >>> bins = {"probabilities": [[0.5, 0.5]], "edges": [0.0, 1.0, 3.0]}
    >>> as_distribution(bins).ppf([0.25, 0.75])
    array([[0.5, 2. ]])
    """
    if isinstance(answer, Distribution):
        return answer
    if isinstance(answer, Mapping):
        return _from_mapping(answer, levels)
    if isinstance(answer, pd.DataFrame):
        answer, levels = _from_frame(answer, levels)
    if isinstance(answer, tuple) and len(answer) == 2 and _dimensions(answer[0]) >= 2:
        answer = answer[0]
    if isinstance(answer, list) and answer and levels is not None:
        parts = [np.asarray(_local(part)) for part in answer]
        if len(parts) == np.size(levels) and all(part.ndim == 1 for part in parts):
            answer = np.stack(parts, axis=1)
        elif all(part.ndim == 3 for part in parts):  # series may have different lengths
            answer = np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
    if levels is None:
        raise ParameterError(
            "Quantiles need their levels: pass levels=[0.1, 0.5, 0.9] or those that the model has."
        )
    return quantiles_at(answer, levels)


def quantiles_at(values: Any, levels: ArrayLike) -> Quantiles:
    """Return the distribution with these quantiles, (n, K) or (series, steps, K).

    Equal neighbours, as of a target with atoms, are moved apart by 1e-9 of the row's range. Where
    the outermost quantiles nearly coincide, as in a forest, whose quantiles end at observed
    targets, the tails beyond them still get a quarter of the row's mean slope in the log-odds:
    without a tail there would be no telling how far out a target is.
    """
    levels = check_quantile_levels(levels)
    table = as_numbers(_local(values), "Quantiles", DataError)
    if table.ndim == 3:
        table = table.reshape(-1, table.shape[-1])
    if table.ndim != 2 or table.shape[1] != len(levels):
        raise DataError(
            f"Expected quantiles of shape (n, {len(levels)}), one column for each level, got "
            f"{table.shape}. Pass the levels that the model has as levels=."
        )
    missing = ~np.isfinite(table).all(axis=1)
    if missing.any():
        raise DataError(
            f"The model predicts NaN or infinite quantiles in {missing.sum()} of {len(table)} "
            f"rows, the first of them row {missing.argmax()}. Leave these rows out, or repair the "
            "model's inputs."
        )
    crossing = (np.diff(table, axis=1) < 0).any(axis=1)
    if crossing.any():
        row = int(crossing.argmax())
        raise DataError(
            f"Quantiles must not cross, but those of {crossing.sum()} of {len(table)} rows do (row "
            f"{row}: {show(table[row])}). If the levels are in this order, sort each row: "
            "calibrate(lambda X: np.sort(model.predict(X), axis=1), X, y, levels=...)."
        )
    unit = np.maximum(np.ptp(table, axis=1), np.abs(table).max(axis=1) * 1e-3)
    stairs = _APART * np.where(unit > 0, unit, 1.0)[:, None] * np.arange(len(levels))
    return _with_tails(levels, np.maximum.accumulate(table - stairs, axis=1) + stairs)


def _with_tails(levels: Array, values: Array) -> Quantiles:
    """Continue increasing quantiles, (n, K), to a hundredth of the outermost tails."""
    outer = np.array([levels[0] / 100.0, 1.0 - (1.0 - levels[-1]) / 100.0])
    odds, ends = logit(levels), logit(outer)
    mean = (values[:, -1] - values[:, 0]) / (odds[-1] - odds[0])
    low = (values[:, 1] - values[:, 0]) / (odds[1] - odds[0])
    high = (values[:, -1] - values[:, -2]) / (odds[-1] - odds[-2])
    first = values[:, 0] - np.maximum(low, _LEAST_TAIL * mean) * (odds[0] - ends[0])
    last = values[:, -1] + np.maximum(high, _LEAST_TAIL * mean) * (ends[1] - odds[-1])
    table = np.column_stack([first, values, last])
    return Quantiles(np.concatenate([outer[:1], levels, outer[1:]]), table)


def binned(probabilities: Any, edges: Any) -> Quantiles:
    """Return the distribution with these probabilities, (n, B), between edges, (B + 1,).

    Mass is spread evenly inside a bin; quantiles are read at 103 levels.
    """
    mass, ends = (
        as_numbers(_local(part), name, DataError)
        for part, name in ((probabilities, "probabilities"), (edges, "edges"))
    )
    if ends.ndim != 1 or mass.ndim != 2 or mass.shape[1] != len(ends) - 1:
        raise DataError(
            "Expected probabilities (n, B) of bins between B + 1 edges, got shapes "
            f"{mass.shape} and {ends.shape}."
        )
    if not np.all(np.diff(ends) > 0) or not np.isfinite(ends).all():
        raise DataError(f"The edges of bins must be finite and increase, got {show(ends)}.")
    total = mass.sum(axis=1)
    if np.any(~np.isfinite(mass)) or np.any(mass < 0) or np.any(np.abs(total - 1.0) > 1e-3):
        raise DataError(
            "The probabilities of bins must be at least 0 and sum to 1 in every row, got "
            f"{show(mass.min(axis=1))} as the least and {show(total)} as the sums."
        )
    below = np.cumsum(mass, axis=1) / total[:, None]
    cdf = np.concatenate([np.zeros((len(mass), 1)), below], axis=1)
    return quantiles_at([np.interp(LEVELS, own, ends) for own in cdf], LEVELS)


def _from_frame(frame: pd.DataFrame, levels: ArrayLike | None) -> tuple[Array, ArrayLike | None]:
    """Quantiles, (n, K), and their levels; all columns where they are not named by levels."""
    named = {}
    for name in frame.columns:
        try:
            named[float(name)] = name
        except (TypeError, ValueError):  # an id, a time stamp, a mean
            continue
    found = sorted(level for level in named if 0.0 < level < 1.0) if levels is None else levels
    chosen = [named[level] for level in np.atleast_1d(found).tolist() if level in named]
    if chosen and len(chosen) == np.size(found):
        return frame[chosen].to_numpy(np.float64), found
    return frame.to_numpy(), levels


def _dimensions(values: Any) -> int:
    """Number of dimensions of an array, or of nested lists of arrays."""
    return 1 + _dimensions(values[0]) if isinstance(values, list) and values else np.ndim(values)


def _from_mapping(answer: Mapping[str, Any], levels: ArrayLike | None) -> Distribution:
    if "logits" in answer and hasattr(answer.get("criterion"), "borders"):
        logits = as_numbers(_local(answer["logits"]), "logits", DataError)
        return binned(softmax(logits, axis=-1), answer["criterion"].borders)
    if "probabilities" in answer and "edges" in answer:
        return binned(answer["probabilities"], answer["edges"])
    if "samples" in answer:
        return Empirical(as_numbers(_local(answer["samples"]), "samples", DataError))
    if "quantiles" in answer:
        known = answer.get("levels", levels)
        count = len(answer["quantiles"])
        if known is None and isinstance(answer["quantiles"], list) and count == len(_DECILES):
            known = _DECILES
        return as_distribution(answer["quantiles"], known)
    raise ParameterError(
        "Expected a mapping with 'logits' and 'criterion', 'probabilities' and 'edges', 'samples' "
        f"or 'quantiles', got one with {sorted(map(str, answer))}."
    )


def _local(values: Any) -> Any:
    """Return tensors as arrays, and the rest unchanged."""
    return values.detach().cpu().double().numpy() if hasattr(values, "detach") else values

"""Cross-validation of several methods on a user's own table, as an experiment."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import DataError, DataWarning, ParameterError
from calibrant.experiments.candidates import candidate
from calibrant.experiments.methods import build, settings_of
from calibrant.experiments.store import Cell, Record
from calibrant.experiments.tasks import Split
from calibrant.experiments.trial import fit_and_predict, scored

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.checks import Array, Index

LEAST_ROWS = 20
_FEW_VALUES = 10


@dataclass(frozen=True, eq=False)
class OwnTable:
    """Cross-validation on one table; built by `own_table`.

    Attributes
    ----------
    name : str
        Name of the table with a hash of its content: changed content is another experiment.
    X : DataFrame of n rows
    y : array of shape (n,)
    groups : array of shape (n,)
        Rows with the same label are in the same fold.
    folds : tuple of pairs of arrays
        Positions of training and test rows.
    seed : int
    """

    name: str
    X: pd.DataFrame
    y: Array
    groups: NDArray[Any]
    folds: tuple[tuple[Index, Index], ...]
    seed: int

    def cells(self, methods: Sequence[str]) -> list[Cell]:
        """One cell per fold and method, method by method."""
        label = f"compare-{len(self.folds)}"
        return [
            Cell(label, self.name, method, fold)
            for method in methods
            for fold in range(len(self.folds))
        ]

    def batched(self, cell: Cell) -> bool:
        """Whether folds of this method can train as one batch."""
        return candidate(cell.method).batched

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Everything that determines the result of a cell, apart from the data."""
        return settings_of(self.estimator(cell.method)) | {
            "seed": self.seed,
            "recalibration": candidate(cell.method).recalibrated or None,
        }

    def run(self, cells: Sequence[Cell], device: str) -> list[Record]:
        """Fit and score one method on some folds, as one batch if there are several."""
        from calibrant.metrics.calibration import pit_bounds

        method = candidate(cells[0].method)
        splits = [self.split(cell.trial) for cell in cells]
        estimators = [
            self.estimator(cell.method).set_params(
                random_state=self.seed + cell.trial, device=device
            )
            for cell in cells
        ]
        forecasts = fit_and_predict(method, estimators, splits)
        return [
            scored(dist, split, seconds, device, packages=method.requires)
            | {
                "seed": self.seed,
                "settings": self.settings(cell),
                "pit": np.round(pit_bounds(dist, split.y_test), 6).tolist(),  # left, right
                "together": len(cells),
            }
            for cell, split, (dist, seconds) in zip(cells, splits, forecasts, strict=True)
        ]

    def estimator(self, method: str) -> Any:
        """The estimator of a method, still without a seed."""
        return build(candidate(method), "honest", series=False)

    def split(self, fold: int) -> Split:
        """Training and test rows of a fold."""
        train, test = self.folds[fold]
        return Split(
            self.X.iloc[train],
            self.y[train],
            self.X.iloc[test],
            self.y[test],
            {"groups": self.groups[train]},
        )


def own_table(
    X: Any,
    y: Any,
    *,
    folds: int = 5,
    groups: ArrayLike | None = None,
    name: str = "table",
    seed: int = 0,
) -> OwnTable:
    """Check a table and assign its rows to folds.

    Parameters
    ----------
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    folds : int
    groups : array of shape (n,), optional
        Rows with the same label stay together; by default those with equal inputs do.
    name : str
    seed : int
        Seed of the folds and of the training.

    Examples
    --------
    >>> import numpy as np
    >>> table = own_table(np.arange(40.0).reshape(20, 2), np.arange(20.0), folds=2)
    >>> [len(test) for train, test in table.folds], len(table.cells(["hnn", "mmd"]))
    ([10, 10], 4)
    """
    from calibrant.checks import finite_numbers
    from calibrant.checks.folds import make_folds
    from calibrant.tables import as_frame, check_finite, to_local

    frame, target = as_frame(to_local(X)), finite_numbers(to_local(y), "y")
    if len(frame) != len(target):
        raise DataError(f"X has {len(frame)} rows, but y has {len(target)} values.")
    check_finite(frame)
    _check_target(target)
    labels = _equal_inputs(frame) if groups is None else np.asarray(groups)
    if labels.shape != target.shape:
        raise DataError(f"groups must have one label per row, {target.shape}, got {labels.shape}.")
    different = len(np.unique(labels))
    if not 2 <= folds <= different:
        what = "rows with different inputs" if groups is None else "groups"
        raise ParameterError(f"folds must be from 2 to the {different} {what}; got {folds}.")
    alone = different == len(target)
    parts = make_folds(folds, frame, target, None if alone else labels, random_state=seed)
    safe_name = re.sub(r"[^\w-]+", "-", name).strip("-") or "table"
    digest = _fingerprint(frame, target, labels)
    return OwnTable(f"{safe_name}-{digest}", frame, target, labels, tuple(parts), seed)


def _check_target(y: Array) -> None:
    if len(y) < LEAST_ROWS:
        raise DataError(
            f"A comparison needs at least {LEAST_ROWS} rows with a target, got {len(y)}: with "
            "fewer, the result would be random."
        )
    different = len(np.unique(y))
    if different == 1:
        raise DataError(f"The target is {y[0]:g} in every row: there is nothing to predict.")
    if different == 2:
        low, high = np.unique(y)
        raise DataError(
            f"The target has only the values {low:g} and {high:g}: that is classification. "
            "This library predicts numbers; use a classifier."
        )
    if different <= _FEW_VALUES:
        warnings.warn(
            f"The target has only {different} different values. If they are classes, use a "
            "classifier; counts and grades are fine.",
            DataWarning,
            stacklevel=3,
        )


def _equal_inputs(frame: pd.DataFrame) -> NDArray[Any]:
    """One label per row, equal for equal inputs, so that no input is in two folds."""
    labels: NDArray[Any] = (
        frame.groupby(list(frame.columns), dropna=False, observed=True, sort=False)
        .ngroup()
        .to_numpy()
    )
    return labels


def _fingerprint(frame: pd.DataFrame, y: Array, labels: NDArray[Any]) -> str:
    from pandas.util import hash_pandas_object

    digest = hashlib.sha256("\n".join(map(str, frame.columns)).encode())
    digest.update(hash_pandas_object(frame, index=False).to_numpy().tobytes())
    digest.update(y.tobytes())
    digest.update("\n".join(map(str, labels)).encode())
    return digest.hexdigest()[:12]

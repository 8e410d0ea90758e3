"""Groups of rows: one label per row, or several columns of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from calibrant.checks.arrays import as_array, name_of
from calibrant.errors import DataError


def group_columns(groups: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return columns of group labels by name; a row belongs to one group of every column.

    Parameters
    ----------
    groups : array or series of shape (n,), array of shape (n, k), frame, or mapping of names
        Labels of any type. A series is called by its name, an array "group".
    n_rows : int

    Examples
    --------
    >>> from calibrant.checks import group_columns
    >>> list(group_columns({"zone": ["a", "b"], "new": [True, False]}, 2))
    ['zone', 'new']
    >>> group_columns(["a", "b", "c"], 2)
    Traceback (most recent call last):
    calibrant.errors.DataError: groups must have one label for each of the 2 rows, got shape (3,).
    """
    if isinstance(groups, Mapping) or hasattr(groups, "columns"):
        names = groups if isinstance(groups, Mapping) else groups.columns
        columns = {str(name): as_array(groups[name]) for name in names}
    else:
        array = as_array(groups)
        if array.ndim == 2 and array.shape[1] > 1:
            columns = {f"group {j + 1}": array[:, j] for j in range(array.shape[1])}
        else:
            columns = {name_of(groups) or "group": array}
    for name, labels in columns.items():
        if labels.ndim == 2 and labels.shape[1] == 1:
            columns[name] = labels[:, 0]
        if columns[name].shape != (n_rows,):
            raise DataError(
                f"groups must have one label for each of the {n_rows} rows, got shape "
                f"{labels.shape}."
            )
    return columns

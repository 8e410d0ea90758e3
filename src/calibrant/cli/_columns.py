"""Which columns of a table mean what: target, weights, groups and inputs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from calibrant.cli._hints import did_you_mean
from calibrant.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from calibrant.cli._output import Voice

_MOST_CATEGORIES = 1000


def check_columns(frame: pd.DataFrame, names: Iterable[str], path: Path) -> None:
    """Complain about names that are not columns of the table."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        wanted = " and ".join(_with_hint(name, frame.columns) for name in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise DataError(f"{path} has no column {wanted}{more}. {_listing(frame.columns)}")


def numbers(frame: pd.DataFrame, name: str, path: Path) -> pd.Series[Any]:
    """Return a column that must be numeric, gaps allowed."""
    import pandas as pd

    check_columns(frame, [name], path)
    values = pd.to_numeric(frame[name], errors="coerce")
    wrong = (values.isna() & frame[name].notna()).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"Column {name!r} of {path} must hold numbers, but row {row + 1} has "
            f"{str(frame[name].iloc[row])!r}."
        )
    return values.astype("float64")


def labels(frame: pd.DataFrame, name: str) -> NDArray[Any]:
    """Return a column as labels of groups; rows without one form a group of their own."""
    return frame[name].astype(object).map(str).to_numpy(dtype=object)


def rows_with_target(frame: pd.DataFrame, target: str, path: Path, voice: Voice) -> pd.DataFrame:
    """Rows whose target is known, the target as numbers."""
    values = numbers(frame, target, path)
    known = values.notna()
    if not known.any():
        raise DataError(f"Column {target!r} of {path} has no values.")
    if gaps := int((~known).sum()):
        voice.note(f"{path}: {gaps:,} of {len(frame):,} rows left out, they have no {target!r}")
    return frame.assign(**{target: values})[known]


def text_columns(frame: pd.DataFrame) -> list[str]:
    """Columns that are not numeric: text, true and false, dates."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return [
        name
        for name in frame.columns
        if is_bool_dtype(frame[name].dtype) or not is_numeric_dtype(frame[name].dtype)
    ]


def training_inputs(
    frame: pd.DataFrame, without: Collection[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Columns to learn from, text as categories, and notes about those that were left out.

    A text column whose values hardly repeat (names, keys, time stamps) is left out: one column
    a value would teach the network nothing but the training rows.

    Parameters
    ----------
    frame : DataFrame of n rows
    without : collection of str
        Columns that have another role, or none.
    """
    text = text_columns(frame)
    kept, notes = {}, []
    for name in frame.columns:
        if name in without:
            continue
        if re.fullmatch(r"Unnamed: \d+", name):  # what pandas calls a column without a header
            notes.append(f"{name}: left out, a column without a name is taken for row numbers")
            continue
        column = frame[name]
        if name in text:
            column = _as_text(column)
            different = column.nunique()
            if different > min(len(frame) / 2, _MOST_CATEGORIES):
                notes.append(
                    f"{name}: left out, {different:,} different texts in {len(frame):,} rows look "
                    "like an identifier"
                )
                continue
            column = column.astype("category")
        kept[name] = column
    if not kept:
        raise DataError("No columns are left to learn from, besides the target.")
    return frame[list(kept)].assign(**kept), notes


def select_inputs(
    frame: pd.DataFrame, names: Collection[str], categorical: Collection[str], path: Path
) -> pd.DataFrame:
    """Columns by name, in this order and with these types; the others are ignored."""
    import pandas as pd

    check_columns(frame, names, path)
    return pd.DataFrame(
        {
            name: _as_text(frame[name]) if name in categorical else numbers(frame, name, path)
            for name in names
        }
    )


def _as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.astype(object).map(str, na_action="ignore").astype(object)


def _with_hint(name: str, known: Iterable[str]) -> str:
    close = did_you_mean(name, known)
    return repr(name) if close is None else f"{name!r} (did you mean {close!r}?)"


def _listing(columns: Collection[str]) -> str:
    names = [str(name) for name in columns]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"Its columns are: {', '.join(names[:10])}{more}."

"""The columns that a model reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from calibrant.errors import DataError

Inputs = Callable[[pd.DataFrame], Any]  # from a part of a table to what a model predicts


def fitted_columns(model: Any) -> Inputs:
    """Select the columns that a model, or the one inside it, was fitted on."""
    inner = model
    while hasattr(inner, "model_"):
        inner = inner.model_
    names = getattr(inner, "feature_names_in_", None)
    if names is None:
        return lambda frame: frame.to_numpy()
    optional = [] if inner.encoder_ is None else inner.encoder_.left_out

    def select(frame: pd.DataFrame) -> pd.DataFrame:
        missing = [name for name in names if name not in frame.columns and name not in optional]
        if missing:
            raise DataError(f"The source has no column {missing[0]!r}, which the model reads.")
        return frame[[name for name in names if name in frame.columns]]

    return select

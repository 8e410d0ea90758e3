"""What the correction reads of a user's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from calibrant.tables import as_frame, to_local

Features = Callable[[Any], Any]  # from X to a table (n, d), or None


def table_or_none(X: Any) -> Any:
    """Return X as features if it is a table (n, d), or the tables among several named inputs.

    None stands for no features: of images, sequences, data sets.
    """
    if isinstance(X, Mapping):
        found = {name: table_or_none(part) for name, part in X.items()}
        tables = [
            as_frame(table).reset_index(drop=True).add_prefix(f"{name} ")
            for name, table in found.items()
            if table is not None
        ]
        return pd.concat(tables, axis=1) if tables else None
    local = to_local(X)
    if isinstance(local, list) and local and _is_row(local[0]):
        local = np.asarray(local)
    is_table = getattr(local, "ndim", 0) == 2 and not hasattr(local, "tocsr")
    return local if is_table else None


def _is_row(sample: Any) -> bool:
    try:
        return np.ndim(sample) == 1
    except ValueError:  # several inputs of different shapes
        return False

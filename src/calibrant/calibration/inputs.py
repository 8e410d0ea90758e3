"""What the correction reads of a user's inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.tables import to_local

Features = Callable[[Any], Any]  # from X to a table (n, d), or None


def table_or_none(X: Any) -> Any:
    """Return X as features if it is a table (n, d); None for anything else."""
    local = to_local(X)
    if isinstance(local, list) and local and np.ndim(local[0]) == 1:
        local = np.asarray(local)
    is_table = getattr(local, "ndim", 0) == 2 and not hasattr(local, "tocsr")
    return local if is_table else None

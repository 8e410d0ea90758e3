"""Plain values that every JSON reader accepts."""

from __future__ import annotations

import math
from typing import Any


def json_safe(value: Any) -> Any:
    """Turn numbers that are not finite into None, and types unknown to JSON (dates) into text."""
    if isinstance(value, dict):
        return {str(key): json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)

"""Bounds of the target, which predictions keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

from calibrant.distributions import Clipped, Distribution
from calibrant.errors import ParameterError

Bounds = Sequence[float | None]  # (low, high), None on a side without a bound


def check_bounds(bounds: Bounds | None) -> None:
    """Check the parameter `bounds` of a model."""
    ends = (None, None) if bounds is None else bounds
    if len(ends) == 2 and all(end is None or isinstance(end, Real) for end in ends):
        low, high = _ends(ends)
        if low < high:
            return
    raise ParameterError(
        "bounds must be (low, high) with low < high, numbers or None where there is no bound, "
        f"got {bounds}."
    )


def bounded(dist: Distribution, bounds: Bounds | None) -> Distribution:
    """Distributions whose mass outside the bounds lies on them."""
    return dist if bounds is None else Clipped(dist, *_ends(bounds))


def _ends(bounds: Bounds) -> tuple[float, float]:
    low, high = bounds
    return -math.inf if low is None else low, math.inf if high is None else high

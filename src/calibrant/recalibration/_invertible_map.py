"""Strictly increasing maps through points that may not increase."""

from __future__ import annotations

import numpy as np

from calibrant.checks import Array
from calibrant.distributions import MonotoneMap

_END = 1e-15  # least distance of a knot from 0 and 1
_STEP = 4e-16  # least distance of knots: twice the spacing of float64 below 1, to survive rounding


def invertible_map(x: Array, level: Array) -> MonotoneMap:
    """Interpolate points from (0, 0) to (1, 1) by a strictly increasing map.

    Equal x are moved apart by a few last digits, so that the mass of a tie stays where it is;
    points that bring no new level are left out.

    Parameters
    ----------
    x, level : arrays of shape (k,)
        Not decreasing, in [0, 1].
    """
    steps = _STEP * np.arange(len(x))
    apart = np.maximum.accumulate(np.maximum(x, _END) - steps) + steps
    apart = np.minimum(apart, 1.0 - _END - steps[::-1])
    kept = (np.diff(level, prepend=0.0) > 0) & (level < 1) & (np.diff(apart, prepend=0.0) > 0)
    return MonotoneMap(apart[kept], level[kept])

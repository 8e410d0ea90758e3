"""How much better a large ensemble is than the small ones that could be judged."""

from __future__ import annotations

_LEAST, _MOST = 0.2, 1.0


def contraction(alone: float, pooled: float, size: int, full: int) -> float:
    """Factor for the spread of an ensemble of all networks.

    Out of fold a row is predicted by `size` networks, in the end by all `full` of them. A pool
    of r networks misses by more, and spreads less, by a share that falls like 1 / r; so the
    distance of outcomes in units of the predicted spread is ``a + b / r``. One network and
    pools of `size` give a and b, and the factor is what they foretell for `full`.

    Parameters
    ----------
    alone, pooled : float
        Mean distance ``|y - m| / s`` out of fold, of single networks and of pools.
    size, full : int
        Networks of a pool, and of the whole ensemble.
    """
    if size == 1:
        return 1.0  # nothing to learn the slope from
    slope = (alone - pooled) / (1.0 - 1.0 / size)
    expected = pooled - slope * (1.0 / size - 1.0 / full)
    return min(max(expected / pooled, _LEAST), _MOST)

"""How much better a large ensemble is than the small ones that could be judged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]

_LEAST = 0.2  # narrower than a fifth is no extrapolation any more
_END = 1e-12  # of a probability whose normal score is still a number


def as_of_all(pooled: Array, alone: Array, size: int, full: int) -> Array:
    """PIT values that pools of all networks would have given.

    Out of fold a row is predicted by `size` networks, in the end by all `full` of them. A pool
    of r networks misses by more, and spreads less, by a share that falls like 1 / r: the mean
    distance of outcomes from the median, in normal scores, is ``a + b / r``. One network and
    pools of `size` give a and b; the normal scores are drawn in by what they foretell for
    `full`. Scores, and not the predictions themselves, so that atoms stay where they are.

    Parameters
    ----------
    pooled : array of shape (n,)
        PIT values out of fold of pools of `size` networks.
    alone : array of shape (n * size,)
        Those of single networks.
    size, full : int
        Networks of a pool, and of the whole ensemble.
    """
    if size == 1:
        return pooled  # nothing to learn b from
    score, single = (ndtri(np.clip(u, _END, 1.0 - _END)) for u in (pooled, alone))
    now, before = (float(np.mean(np.abs(each))) for each in (score, single))
    slope = (before - now) / (1.0 - 1.0 / size)
    factor = (now - slope * (1.0 / size - 1.0 / full)) / now
    values: Array = ndtr(min(max(factor, _LEAST), 1.0) * score)
    return values

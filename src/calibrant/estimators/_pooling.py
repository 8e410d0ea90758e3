"""How much better a large ensemble is than the small ones that could be judged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]

_LEAST = 0.2  # narrower than a fifth is no extrapolation any more
_END = 1e-12  # of a probability whose normal score is still a number


def as_of_all(values: Array, full: int) -> Array:
    """PIT values that the pool of all networks would have given, (n,).

    Out of fold a row is predicted by R networks, in the end by all `full` of them, whose
    distribution functions F are averaged. Given the row the F(y) are draws of one distribution,
    so the mean square of ``F(y) - 1/2`` of a pool of r networks is exactly ``a + b / r``. Single
    networks and pools of R give a and b; the normal scores of the pools are drawn in until their
    mean square is that of `full`. Scores, and not the predictions themselves, so that atoms stay
    where they are.

    Parameters
    ----------
    values : array of shape (n, R)
        PIT values of every row by the R networks that never saw it.
    full : int
        Networks of the whole ensemble.
    """
    size = values.shape[1]
    pooled: Array = values.mean(axis=1)
    if size == 1:
        return pooled  # nothing to learn b from
    now, before = (float(np.mean((u - 0.5) ** 2)) for u in (pooled, values))
    slope = (before - now) / (1.0 - 1.0 / size)
    wanted = now - slope * (1.0 / size - 1.0 / full)
    score = ndtri(np.clip(pooled, _END, 1.0 - _END))

    def excess(factor: float) -> float:
        return float(np.mean((ndtr(factor * score) - 0.5) ** 2) - wanted)

    if excess(_LEAST) >= 0.0 or excess(1.0) <= 0.0:
        factor = _LEAST if excess(_LEAST) >= 0.0 else 1.0
    else:
        factor = brentq(excess, _LEAST, 1.0)
    drawn_in: Array = ndtr(factor * score)
    return drawn_in

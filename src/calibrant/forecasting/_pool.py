"""Shares of networks and climatology in the averaged quantiles of each step."""

from __future__ import annotations

import numpy as np

from calibrant.checks import Array
from calibrant.forecasting._horizon_maps import smooth_over_steps

_CANDIDATES: Array = np.linspace(0.0, 1.0, 21)
_USUAL = 0.4  # share of the climatology before anything is known
_PRIOR = 0.05  # relative loss that a share further from the usual one by 1 must gain


def learn_shares(
    networks: Array, climatology: Array, actual: Array, scale: Array, levels: Array
) -> Array:
    """Share of the climatology at each step, (H,), that has the least pinball loss.

    Averages of quantiles are better than either part where both err independently. Few origins
    are known, so that shares are smoothed over steps and drawn towards a usual one.

    Parameters
    ----------
    networks, climatology : arrays of shape (n, H, Q)
        Quantiles of held-out origins.
    actual : array of shape (n, H)
        nan where missing.
    scale : array of shape (n,)
        Of each origin's series.
    levels : array of shape (Q,)
    """
    there = np.isfinite(actual)
    losses = np.empty((actual.shape[1], len(_CANDIDATES)))
    for at, share in enumerate(_CANDIDATES):
        away = np.where(there, actual, 0.0)[..., None] - pooled(networks, climatology, share)
        loss = np.maximum(levels * away, (levels - 1.0) * away).mean(axis=2) / scale[:, None]
        losses[:, at] = np.where(there, loss, 0.0).sum(axis=0)
    losses = smooth_over_steps(losses)
    least = np.maximum(losses.min(axis=1, keepdims=True), np.finfo(float).tiny)
    penalty = _PRIOR * (_CANDIDATES - _USUAL) ** 2
    return np.asarray(_CANDIDATES[np.argmin(losses / least + penalty, axis=1)])


def pooled(networks: Array, climatology: Array, share: Array | float) -> Array:
    """Averaged quantiles, (n, H, Q); `share` of the climatology is a number or (H, 1)."""
    return np.asarray((1.0 - share) * networks + share * climatology)

"""The inner split of a step: the newest windows are held out."""

from __future__ import annotations

import numpy as np

from calibrant.errors import ParameterError
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting._table import Index


def blocked_split(origin: Ticks, target: Ticks, fraction: float) -> tuple[Index, Index]:
    """Windows to train on and windows to hold out, a block of the newest ones.

    The last `fraction` of the target times is held out. A held-out window must end no earlier
    than the last target trained on: else the network would know what came after the origin, and
    held-out forecasts would look better than new ones. So the ``h - 1`` targets after the split
    are on neither side. Held-out windows may look back over the split, as new ones will.

    Parameters
    ----------
    origin, target : arrays of shape (n,)
        Ticks at which the windows end, and of what they aim at.
    fraction : float in (0, 1)

    Returns
    -------
    train, held_out : positions
    """
    if not 0 < fraction < 1:
        raise ParameterError(f"validation_fraction must lie in (0, 1), got {fraction}.")
    times = np.unique(target)
    cut = times[min(len(times) - 1, int(np.ceil(len(times) * (1.0 - fraction))))]
    train = np.flatnonzero(target < cut)
    if not len(train):
        return train, np.flatnonzero(target >= cut)
    return train, np.flatnonzero(origin >= target[train].max())

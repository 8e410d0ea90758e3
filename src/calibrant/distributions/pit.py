"""Randomised probability integral transform, for distributions with atoms."""

from __future__ import annotations

import numpy as np

from calibrant.checks import Array


def randomized_pit(left: Array, right: Array, random_state: int | np.random.Generator = 0) -> Array:
    """Draw PIT values uniformly between ``F(y-)`` and ``F(y)``.

    ``u = left + v (right - left), v uniform on [0, 1]``, one v per row. Where the ends are equal,
    as without atoms, u is equal to them; for the true distribution u is uniform in any case.

    Parameters
    ----------
    left, right : arrays of shape (n, ...)
        ``F(y-)`` and ``F(y)``; further axes share the v of their row.
    random_state : int or numpy Generator
        Source of v.

    Returns
    -------
    array of shape (n, ...)

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions.pit import randomized_pit
    >>> randomized_pit(np.array([0.2, 0.0]), np.array([0.2, 0.5])).round(3)
    array([0.2  , 0.135])
    """
    v = np.random.default_rng(random_state).random(len(left))
    return left + v.reshape(-1, *[1] * (left.ndim - 1)) * (right - left)

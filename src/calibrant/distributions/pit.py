"""Randomised probability integral transform, for distributions with atoms, and normal scores."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibrant.checks import Array
from calibrant.distributions._base import Distribution


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


def normal_scores(
    dist: Distribution, y: Array, random_state: int | np.random.Generator = 0
) -> Array:
    """Normal scores ``Phi^{-1}(F(y))`` from the nearer tail, (n,); drawn at random on atoms.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,)
    random_state : int or numpy Generator
        For targets on atoms, as in `randomized_pit`.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.distributions.pit import normal_scores
    >>> normal_scores(Normal([0.0, 0.0], [1.0, 2.0]), np.array([20.0, -1.0])).round(6)
    array([20. , -0.5])
    """
    cdf, left, above = dist.cdf(y), dist.cdf_left(y), dist.prob_above(y)
    drawn = ndtri(randomized_pit(left, cdf, random_state))
    continuous = np.where(cdf < 0.5, ndtri(cdf), -ndtri(above))
    return np.where(cdf > left, drawn, continuous)

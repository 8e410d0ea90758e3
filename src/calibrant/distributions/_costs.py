"""Expected costs of decisions under a predictive distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, as_numbers, show
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    from calibrant.distributions._base import Distribution


def unit_costs(under: ArrayLike, over: ArrayLike, n_rows: int) -> tuple[Array, Array]:
    """Return the costs of one unit too little and too much, (n, 1) each, checked."""
    costs = []
    for name, values in (("under", under), ("over", over)):
        array = as_numbers(values, name)
        if array.shape not in ((), (n_rows,)) or not np.all((array > 0) & np.isfinite(array)):
            raise ParameterError(
                f"{name} must be a cost above 0, one number or one for each of {n_rows} rows, got "
                f"{show(array)}."
            )
        costs.append(np.broadcast_to(array, (n_rows,))[:, None])
    return costs[0], costs[1]


def mean_distance(dist: Distribution, values: Array) -> Array:
    """``E|Y - v|`` of every row, (n, k) for values (n, k).

    It is ``CRPS(v) + E|Y - Y'| / 2``, and the second term is ``v - E Y - CRPS(v)`` at any v above
    all mass.
    """
    top = dist._panels()[:, -1:]
    half_spread = top - dist.mean[:, None] - dist._crps(top)
    return dist._crps(values) + half_spread

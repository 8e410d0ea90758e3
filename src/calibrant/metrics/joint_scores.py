"""Proper scores of joint forecasts, from samples: several outputs, or the steps of a path."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, as_numbers, show
from calibrant.errors import DataError, ParameterError


def energy_score(samples: ArrayLike, y: ArrayLike, *, scale: ArrayLike | None = None) -> Array:
    """Energy score of every row, (n,): the CRPS of a joint forecast; the mean is the score.

    ``E|X - y| - E|X - X'| / 2``

    It is proper and rewards correct marginals and, more weakly, correct dependence.

    Parameters
    ----------
    samples : array of shape (n, k, m)
        k >= 2 joint draws per row.
    y : array of shape (n, m)
    scale : array of shape (m,), optional
        Unit of every output. Without it an output with large numbers decides alone.

    Notes
    -----
    Distances are Euclidean. The estimate is unbiased, so that scores of different numbers of
    samples can be compared; of few samples it may be below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.metrics import energy_score
    >>> energy_score([[[0.0, 0.0], [3.0, 4.0]]], [[0.0, 0.0]])
    array([0.])
    >>> draws = np.random.default_rng(0).standard_normal((500, 100, 3))
    >>> float(energy_score(draws, np.zeros((500, 3))).mean().round(2))
    0.47
    """
    from scipy.spatial.distance import pdist

    drawn, target = _checked(samples, y)
    if scale is not None:
        unit = as_numbers(scale, "scale")
        if unit.shape != target.shape[1:] or not np.all((unit > 0) & np.isfinite(unit)):
            raise ParameterError(
                f"scale must be {target.shape[1]} numbers above 0, one per output, "
                f"got {show(unit)}."
            )
        drawn, target = drawn / unit, target / unit
    distance = np.linalg.norm(drawn - target[:, None], axis=2).mean(axis=1)
    apart = np.array([pdist(row).mean() for row in drawn])
    return np.asarray(distance - 0.5 * apart)


def variogram_score(samples: ArrayLike, y: ArrayLike, *, order: float = 0.5) -> Array:
    """Variogram score of every row, (n,): how well differences between outputs are forecast.

    ``sum_jl (|y_j - y_l|^p - E|X_j - X_l|^p)^2``

    It is proper, more sensitive to dependence than the energy score, and blind to a shift that all
    outputs share: read both.

    Parameters
    ----------
    samples : array of shape (n, k, m)
        k >= 2 joint draws per row.
    y : array of shape (n, m)
    order : float
        The exponent p.

    Notes
    -----
    Scheuerer and Hamill (2015). Bring outputs of different units to one unit first.

    Examples
    --------
    >>> from calibrant.metrics import variogram_score
    >>> variogram_score([[[0.0, 1.0], [0.0, 1.0]]], [[5.0, 6.0]])
    array([0.])
    """
    if not (np.isfinite(order) and order > 0):
        raise ParameterError(f"order must be above 0, got {order!r}.")
    drawn, target = _checked(samples, y)
    score = np.zeros(len(target))
    for j in range(1, target.shape[1]):  # one output and all before it: memory of the samples
        expected = (np.abs(drawn[:, :, :j] - drawn[:, :, j : j + 1]) ** order).mean(axis=1)
        observed = np.abs(target[:, :j] - target[:, j : j + 1]) ** order
        score += 2.0 * np.sum((observed - expected) ** 2, axis=1)
    return score


def _checked(samples: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    drawn, target = as_numbers(samples, "samples", DataError), as_numbers(y, "y", DataError)
    if drawn.ndim != 3 or drawn.shape[1] < 2 or 0 in drawn.shape:
        raise DataError(
            "samples must have shape (rows, draws, outputs) with at least two draws, "
            f"got {drawn.shape}."
        )
    if target.shape != (drawn.shape[0], drawn.shape[2]):
        raise DataError(
            f"y must have shape {(drawn.shape[0], drawn.shape[2])}, rows and outputs of the "
            f"samples, got {target.shape}."
        )
    for values, name in ((drawn, "samples"), (target, "y")):
        wrong = ~np.isfinite(values)
        if wrong.any():
            raise DataError(
                f"{name} must be finite, but {int(wrong.sum())} of {values.size} values are not. "
                "Drop or impute these rows."
            )
    return drawn, target

"""Gaussian copula: marginal distributions joined by the rank correlation of held-out PIT values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from calibrant.checks import Array, Flags
from calibrant.distributions._base import Distribution

_MIN_ROWS = 10  # too few to estimate the dependence below
_LEAST_EIGENVALUE = 1e-6


def _independence(correlation: Array) -> Array:
    return np.eye(len(correlation))


def rank_correlation(pits: Array, *, shrink_to: Callable[[Array], Array] = _independence) -> Array:
    """Correlation of normal scores, (m, m), estimated from PIT values of held-out rows.

    With r the rank of a PIT value among the n of its column, the score is
    ``z = Phi^-1(r / (n + 1))``: with ranks, miscalibration of a column does not distort the
    dependence. The sample correlation is shrunk with the intensity of Ledoit and Wolf (2004).

    Parameters
    ----------
    pits : array of shape (n, m)
        PIT values of m marginals; nan where an outcome is missing.
    shrink_to : callable
        From the sample correlation to the matrix it is shrunk towards; independence by default.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions.copula import rank_correlation
    >>> u = np.random.default_rng(0).random(500)
    >>> rank_correlation(np.column_stack([u, 1.0 - u])).round(1)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    from sklearn.covariance import ledoit_wolf

    n, m = pits.shape
    there = np.isfinite(pits)
    if n < _MIN_ROWS or m == 1:
        return np.eye(m)
    ranks = rankdata(pits, axis=0, nan_policy="omit")
    scores = np.where(there, ndtri(ranks / (there.sum(axis=0) + 1)), 0.0)  # 0 is the median
    _, shrinkage = ledoit_wolf(scores)
    sample = _pairwise_correlation(scores, there)
    return _nearest_correlation((1.0 - shrinkage) * sample + shrinkage * shrink_to(sample))


def _pairwise_correlation(scores: Array, there: Flags) -> Array:
    """Correlation of each pair of columns over the rows that have both; 0 for too few."""
    both = there.T.astype(np.float64) @ there
    squares = (scores**2).T @ there  # of the first column, over the rows that have the second
    product = scores.T @ scores
    size = np.sqrt(squares * squares.T)
    known = (both >= _MIN_ROWS) & (size > 0)
    correlation = np.divide(product, size, out=np.zeros_like(product), where=known)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def _nearest_correlation(matrix: Array) -> Array:
    """Correlation matrix without the negative eigenvalues of an average."""
    values, vectors = np.linalg.eigh(matrix)
    positive = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    spread = np.sqrt(np.diag(positive))
    return np.asarray(positive / np.outer(spread, spread))


def joint_sample(
    marginals: Sequence[Distribution],
    correlation: Array,
    k: int,
    random_state: int | np.random.Generator | None,
    rows: Array | None = None,
) -> Array:
    """Draw k joint values for every row, (k, n, m), from a Gaussian copula.

    Parameters
    ----------
    marginals : m distributions of n rows
    correlation : array of shape (m, m)
    rows : array of shape (n, n), optional
        Correlation of the rows, which are independent without it. That of two values is then the
        product of both.
    """
    rng = np.random.default_rng(random_state)
    n = len(marginals[0])
    scores = rng.multivariate_normal(
        np.zeros(len(marginals)), correlation, size=(k, n), method="cholesky"
    )
    if rows is not None:
        scores = np.linalg.cholesky(rows) @ scores
    levels = np.clip(ndtr(scores), 2.0**-54, 1.0 - 2.0**-53)  # (k, n, m)
    return np.stack([dist.ppf(levels[:, :, j].T).T for j, dist in enumerate(marginals)], axis=2)

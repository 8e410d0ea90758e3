"""Quantile functions that are piecewise linear in the log-odds of the level."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.special import expit, logit, spence

from calibrant.checks import Array


class LogisticPieces(NamedTuple):
    """Constants of the K - 1 pieces between K levels; z is the log-odds of a level."""

    knots: Array  # (K,), log-odds of the levels
    ends: Array  # (K,), the same with the outermost pieces extended to infinity
    mass: Array  # (K - 1,), probability of each piece
    mean: Array  # (K - 1,), expectation of z on it
    variance: Array  # (K - 1,), variance of z on it
    constants: Array  # (K - 1,), subtracted from each piece in the CRPS

    @classmethod
    def between(cls, levels: Array) -> Self:
        """Return the pieces between levels, (K,)."""
        knots: Array = np.asarray(logit(levels))
        ends = np.concatenate([[-np.inf], knots[1:-1], [np.inf]])
        inner = knots[1:-1]
        # Integrals of z and z^2 over the probability below; both vanish at -inf.
        first = _first(inner)
        near = _second(-np.abs(inner))
        second = np.where(inner < 0, near, np.pi**2 / 3 - near)
        mass = np.diff(expit(ends))
        mean = np.diff(first, prepend=0.0, append=0.0) / mass
        square = np.diff(second, prepend=0.0, append=np.pi**2 / 3) / mass
        below = np.logaddexp(0.0, inner) - expit(inner)  # integral of F^2 up to there
        above = np.logaddexp(0.0, -inner) - expit(-inner)
        constants = 1.0 + np.append(0.0, below) + np.append(above, 0.0)
        return cls(knots, ends, mass, mean, np.maximum(square - mean**2, 0.0), constants)


def log_cosh(z: Array) -> Array:
    """``2 log(2 cosh(z / 2))``, minus the log-density of the standard logistic."""
    size = np.abs(z)
    return size + 2.0 * np.log1p(np.exp(-size))


def _first(z: Array) -> Array:
    """Integral of z over the probability up to z: ``p log p + (1 - p) log(1 - p)``."""
    return -expit(z) * np.logaddexp(0.0, -z) - expit(-z) * np.logaddexp(0.0, z)


def _second(z: Array) -> Array:
    """Integral of z^2 over the probability up to z <= 0; spence is the dilogarithm."""
    return z**2 * expit(z) - 2.0 * z * np.log1p(np.exp(z)) - 2.0 * spence(1.0 + np.exp(z))

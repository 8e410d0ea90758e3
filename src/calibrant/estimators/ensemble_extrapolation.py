"""Extrapolate calibration from a row's few out-of-fold members to the whole ensemble."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from torch import Tensor

from calibrant.checks import Array
from calibrant.estimators.combine import equal_mixture
from calibrant.networks import Head

_LEAST = 0.2  # smallest factor: a stronger shrinkage would be no extrapolation any more
_END = 1e-12  # smallest probability, so that normal scores stay finite
_MOST_STRETCH = 3.0
_CRPS_ROWS = 2_000  # enough to tell which kind of network is better
_TIE = 5e-4  # difference of CRPS that is not worth uneven weights
_STEPS = 8  # the weights of kinds are multiples of an eighth


def pit_shrinkage(
    values: Array, shares: Array, per_kind: int, weight: Array | None = None
) -> float:
    """Factor by which normal scores of PIT values shrink from a few members to all of them.

    Out of fold a row is predicted by R networks of each kind, a new row by all `per_kind` of them;
    the distribution functions F are averaged. Take sets of one network of each kind, trained on the
    same rows: given the row, their F(y) are draws from one distribution, with variance b, so the
    mean square of ``F(y) - 1/2`` of an average over r sets is exactly ``a + b / r``. With the
    factor, the normal scores of averages over R sets get the mean square of the whole ensemble.

    Parameters
    ----------
    values : array of shape (n, kinds, R)
        Out-of-fold PIT values of every row.
    shares : array of shape (kinds,)
        Weights of the kinds in the ensemble, which add up to 1.
    per_kind : int
        Number of networks of each kind.
    weight : array of shape (n,), optional
        Weights of the rows.
    """
    if values.shape[2] == 1:
        return 1.0  # b can't be estimated
    averaged: Array = values.mean(axis=2) @ shares
    wanted = ensemble_mean_square(values, shares, per_kind, weight)

    def excess(factor: float) -> float:
        return mean_square(_scaled_scores(averaged, factor), weight) - wanted

    if excess(_LEAST) >= 0.0:
        return _LEAST
    return 1.0 if excess(1.0) <= 0.0 else float(brentq(excess, _LEAST, 1.0))


def mean_square(values: Array, weight: Array | None = None) -> float:
    """Weighted mean square of ``u - 1/2`` of PIT values u, (n,)."""
    return float(np.average((values - 0.5) ** 2, weights=weight))


def ensemble_mean_square(
    values: Array, shares: Array, per_kind: int, weight: Array | None = None
) -> float:
    """Mean square of ``F(y) - 1/2`` of the whole ensemble, as `pit_shrinkage` extrapolates it."""
    sets: Array = values.transpose(0, 2, 1) @ shares  # (n, R)
    variance = float(np.average(sets.var(axis=1, ddof=1), weights=weight))
    fall: float = variance * (1.0 / sets.shape[1] - 1.0 / per_kind)
    return mean_square(sets.mean(axis=1), weight) - fall


def fit_stretch(square_of: Callable[[float], float], n_rows: float) -> float:
    """Factor from 1 to 3 by which all networks are stretched, so that they are not overconfident.

    PIT values u of a calibrated forecast have ``E (u - 1/2)^2 = 1/12``; of an overconfident one it
    is larger. A map of levels can't mend much of that: the 5% level would have to come from far in
    the tail of the widest component. What chance explains of the excess is not stretched away.

    Parameters
    ----------
    square_of : callable
        Mean square of ``u - 1/2`` as a function of the factor; it falls.
    n_rows : float
        Number of rows that it is computed from; of weighted rows, their effective number.
    """
    target = 1.0 / 12.0
    excess = square_of(1.0) - target
    if excess <= 0.0:
        return 1.0

    def excess_at(log_factor: float) -> float:
        return square_of(float(np.exp(log_factor))) - target

    most = float(np.log(_MOST_STRETCH))
    root = most if excess_at(most) >= 0.0 else float(brentq(excess_at, 0.0, most, xtol=0.01))
    noise = 1.0 / np.sqrt(180.0 * n_rows)  # deviation of the mean square of uniform values
    return float(np.exp(root * max(0.0, 1.0 - (noise / excess) ** 2)))


def extrapolate_pit(values: Array, shares: Array, factor: float) -> Array:
    """PIT values, (n,), extrapolated to the mixture of all members.

    The normal scores are shrunk, not the predictions, so that atoms stay where they are.

    Parameters
    ----------
    values : array of shape (n, kinds, R)
        Out-of-fold values of every row.
    shares : array of shape (kinds,)
    factor : float
        From `pit_shrinkage`.
    """
    return _scaled_scores(values.mean(axis=2) @ shares, factor)


def _scaled_scores(levels: Array, factor: float) -> Array:
    if factor == 1.0:
        return levels
    scaled: Array = ndtr(factor * ndtri(np.clip(levels, _END, 1.0 - _END)))
    return scaled


def best_shares(
    crps: Callable[[tuple[int, ...]], float], kinds: int, repeats: int, per_kind: int
) -> Array:
    """Weights of the kinds of networks with the lowest CRPS of the ensemble, (kinds,).

    The CRPS of a mixture with weights w is ``sum_i w_i c_i - 1/2 sum_ij w_i w_j D_ij``, with the
    CRPS c of its parts and D the squared distance of their distribution functions, which follows
    from the CRPS of pairs. Means over networks of one kind extrapolate it to ensembles of any size.

    Parameters
    ----------
    crps : callable
        Mean CRPS of the equally weighted mixture of the networks at some positions; one kind comes
        after the other.
    kinds : int
    repeats : int
        Number of networks of each kind whose outputs `crps` has.
    per_kind : int
        Number of networks of each kind in the whole ensemble.
    """
    alone = np.array([crps((i,)) for i in range(kinds * repeats)])
    apart = np.zeros((kinds * repeats,) * 2)
    for i, j in combinations(range(kinds * repeats), 2):
        apart[i, j] = apart[j, i] = 4.0 * (0.5 * (alone[i] + alone[j]) - crps((i, j)))
    blocks = apart.reshape(kinds, repeats, kinds, repeats)
    distance = blocks.mean(axis=(1, 3))
    # Two networks of a kind are the same one with probability 1 / per_kind; of one alone it is
    # not known how much others would differ from it.
    own = np.diagonal(distance) * repeats / max(1, repeats - 1)
    np.fill_diagonal(distance, (1.0 - 1.0 / per_kind) * own)
    score = alone.reshape(kinds, repeats).mean(axis=1)

    def expected(shares: Array) -> float:
        return float(shares @ score - 0.5 * shares @ distance @ shares)

    # Noise must not decide between kinds: the most even shares that are about as good as the best.
    least = min(map(expected, _possible_shares(kinds)))
    most = least + _TIE * abs(least)
    good = (shares for shares in _possible_shares(kinds) if expected(shares) <= most)
    return min(good, key=lambda shares: float(shares @ shares))


def _possible_shares(kinds: int) -> list[Array]:
    """All weights of kinds in steps of an eighth that add up to 1."""
    parts = (np.array(each) for each in product(range(_STEPS + 1), repeat=kinds))
    return [each / _STEPS for each in parts if each.sum() == _STEPS]


def mixture_crps(
    head: Head, outputs: Tensor, y: Array, weight: Array
) -> Callable[[tuple[int, ...]], float]:
    """Mean CRPS of equal mixtures, by the positions of networks in outputs (M, n, n_outputs)."""
    some = slice(None, None, max(1, len(y) // _CRPS_ROWS))

    def crps(positions: tuple[int, ...]) -> float:
        dist = equal_mixture(head, outputs[list(positions), some])
        return float(np.average(dist.crps(y[some]), weights=weight[some]))

    return crps

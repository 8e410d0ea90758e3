"""Synthetic regression data whose true conditional distribution is known exactly.

Every target is drawn from a distribution that depends on four inputs, a Gaussian mixture except
for `discrete`:

======== ============== =====================================================
input    distribution   what it does
======== ============== =====================================================
`x`      U(-3, 3)       drives the mean, the spread and the shape
`shift`  N(0, 1)        moves the whole distribution a little
`spread` U(-1, 1)       widens or narrows it a little
`idle`   N(0, 1)        nothing: a good model learns to ignore it
======== ============== =====================================================

`x` has the largest effect, so that a plot over `x` alone shows most of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrant.datasets._dataset import Dataset, DatasetInfo
from calibrant.datasets._draws import GENERATED, RandomState, generator, row_count

if TYPE_CHECKING:
    from numpy.typing import NDArray


def heteroscedastic(n: int = 2000, random_state: RandomState = 0) -> Dataset:
    """Normal noise whose scale grows twelvefold along `x`, around a wave.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Seed or source of the draws; None is a fresh seed.

    Returns
    -------
    Dataset
        With ``truth`` of K = 1 component.

    Examples
    --------
    >>> heteroscedastic(100).truth["scales"].shape
    (100, 1)
    """
    rng = generator(random_state)
    inputs = _draw_inputs(n, rng)
    scale = 0.1 * np.exp(2.5 * (inputs.x + 3.0) / 6.0 + 0.15 * inputs.spread)  # (n,)
    return _draw_dataset(
        "heteroscedastic",
        "Normal noise around a wave; its scale grows twelvefold along x.",
        inputs,
        weights=np.ones((n, 1)),
        locs=_wave(inputs)[:, None],
        scales=scale[:, None],
        rng=rng,
    )


def skewed(n: int = 2000, random_state: RandomState = 0) -> Dataset:
    """One mode with a long upper tail, its scale growing towards both ends of `x`.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Seed or source of the draws; None is a fresh seed.

    Returns
    -------
    Dataset
        With ``truth`` of K = 3 components: the body, the shoulder and the tail.

    Examples
    --------
    >>> skewed(100).truth["weights"].shape
    (100, 3)
    """
    rng = generator(random_state)
    inputs = _draw_inputs(n, rng)
    scale = (0.2 + 0.1 * (inputs.x + 0.5) ** 2) * np.exp(0.15 * inputs.spread)  # (n,)
    weights = np.array([0.6, 0.3, 0.1])
    # The weighted sum of the offsets is zero, so that the wave is the conditional mean.
    offsets = np.array([-0.5, 0.4, 1.8])
    return _draw_dataset(
        "skewed",
        "One mode and a long upper tail around a wave; no normal distribution fits.",
        inputs,
        weights=np.tile(weights, (n, 1)),
        locs=_wave(inputs)[:, None] + scale[:, None] * offsets,
        scales=scale[:, None] * np.array([0.35, 0.6, 1.0]),
        rng=rng,
    )


def bimodal(n: int = 2000, random_state: RandomState = 0) -> Dataset:
    """Two branches that part as `x` grows, the upper one gaining weight.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Seed or source of the draws; None is a fresh seed.

    Returns
    -------
    Dataset
        With ``truth`` of K = 2 components: the lower and the upper branch.

    Examples
    --------
    >>> bimodal(100).truth["locs"].shape
    (100, 2)
    """
    rng = generator(random_state)
    inputs = _draw_inputs(n, rng)
    upper = 0.3 + 0.4 / (1.0 + np.exp(-1.5 * inputs.x))  # (n,), between 0.3 and 0.7
    half_gap = 2.0 / (1.0 + np.exp(-2.0 * inputs.x))  # (n,), the branches part at x = 0
    scale = 0.3 * np.exp(0.15 * inputs.spread)
    return _draw_dataset(
        "bimodal",
        "One branch that becomes two as x grows; no single mode describes the right half.",
        inputs,
        weights=np.column_stack([1.0 - upper, upper]),
        locs=_wave(inputs)[:, None] + half_gap[:, None] * np.array([-1.0, 1.0]),
        scales=np.column_stack([scale, scale]),
        rng=rng,
    )


def discrete(n: int = 2000, random_state: RandomState = 0) -> Dataset:
    """Whole numbers, with three to a dozen possible values per row, like scores and counts.

    Each target is one of twenty equally likely values: the twenty quantiles of a normal
    distribution at 1/40, 3/40 ... 39/40, rounded.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Seed or source of the draws; None is a fresh seed.

    Returns
    -------
    Dataset
        With ``truth`` of 20 samples per row.

    Examples
    --------
    >>> data = discrete(100)
    >>> data.truth["samples"].shape, bool((data.y == data.y.round()).all())
    ((100, 20), True)
    """
    from scipy.special import ndtri

    rng = generator(random_state)
    inputs = _draw_inputs(n, rng)
    scale = (0.6 + 0.4 * np.abs(inputs.x)) * np.exp(0.15 * inputs.spread)  # (n,)
    quantiles = ndtri((np.arange(20) + 0.5) / 20)  # (20,)
    samples = np.round(5.0 + _wave(inputs)[:, None] + scale[:, None] * quantiles)
    y = samples[np.arange(n), rng.integers(20, size=n)]
    return _dataset(
        "discrete",
        "Whole numbers around a wave: a distribution of atoms, which no density describes.",
        inputs,
        y,
        {"samples": samples},
    )


@dataclass(frozen=True)
class _Inputs:
    """The four input columns, each of shape (n,)."""

    x: NDArray[np.float64]
    shift: NDArray[np.float64]
    spread: NDArray[np.float64]
    idle: NDArray[np.float64]


def _draw_inputs(n: int, rng: np.random.Generator) -> _Inputs:
    rows = row_count(n)
    return _Inputs(
        x=rng.uniform(-3.0, 3.0, rows),
        shift=rng.standard_normal(rows),
        spread=rng.uniform(-1.0, 1.0, rows),
        idle=rng.standard_normal(rows),
    )


def _wave(inputs: _Inputs) -> NDArray[np.float64]:
    """The common location, of shape (n,)."""
    return 1.5 * np.sin(1.5 * inputs.x) + 0.4 * inputs.x + 0.2 * inputs.shift


def _draw_dataset(
    name: str,
    description: str,
    inputs: _Inputs,
    *,
    weights: NDArray[np.float64],
    locs: NDArray[np.float64],
    scales: NDArray[np.float64],
    rng: np.random.Generator,
) -> Dataset:
    """Draw one target per row from its mixture; the three arrays have shape (n, K)."""
    n, n_components = weights.shape
    # The number of cumulative weights below a uniform draw is a random component per row.
    below = rng.uniform(size=(n, 1)) > np.cumsum(weights, axis=1)
    chosen = np.minimum(below.sum(axis=1), n_components - 1)  # rounding may leave the sum below 1
    row = np.arange(n)
    y = rng.normal(locs[row, chosen], scales[row, chosen])
    truth = {"weights": weights, "locs": locs, "scales": scales}
    return _dataset(name, description, inputs, y, truth)


def _dataset(
    name: str,
    description: str,
    inputs: _Inputs,
    y: NDArray[np.float64],
    truth: dict[str, NDArray[np.float64]],
) -> Dataset:
    import pandas as pd

    frame = pd.DataFrame(vars(inputs) | {"y": y})
    info = DatasetInfo(
        name=name,
        title=name,
        description=description,
        target="y",
        rows=len(frame),
        columns=len(frame.columns),
        licence=GENERATED,
    )
    return Dataset(info, frame, truth)


GENERATORS = (heteroscedastic, skewed, bimodal, discrete)  # what `load` knows by name

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

`x` has the largest effect, so that a plot over `x` alone shows most of it. A
generator is written as a function from these inputs to the true distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.checks import Array
from calibrant.datasets._dataset import Dataset, DatasetInfo
from calibrant.datasets._draws import GENERATED, RandomState, generator, row_count

Truth = dict[str, Array]  # as in `Dataset`: weights, locs and scales, (n, K), or samples, (n, m)


@dataclass(frozen=True)
class Inputs:
    """The four input columns, each of shape (n,)."""

    x: Array
    shift: Array
    spread: Array
    idle: Array

    @property
    def wave(self) -> Array:
        """The common location, of shape (n,)."""
        return 1.5 * np.sin(1.5 * self.x) + 0.4 * self.x + 0.2 * self.shift


GENERATORS: list[Callable[..., Dataset]] = []  # what `load` knows by name


def generated(truth: Callable[[Inputs], Truth]) -> Callable[..., Dataset]:
    """Turn a truth given the inputs into a generator that `load` knows; a decorator.

    Its name and its docstring become the name and the description of the data set.
    """

    def generate(n: int = 2000, random_state: RandomState = 0) -> Dataset:
        rng, rows = generator(random_state), row_count(n)
        inputs = Inputs(
            x=rng.uniform(-3.0, 3.0, rows),
            shift=rng.standard_normal(rows),
            spread=rng.uniform(-1.0, 1.0, rows),
            idle=rng.standard_normal(rows),
        )
        return _dataset(truth.__name__, truth.__doc__ or "", inputs, truth(inputs), rng)

    generate.__name__, generate.__doc__ = truth.__name__, truth.__doc__
    GENERATORS.append(generate)
    return generate


@generated
def heteroscedastic(inputs: Inputs) -> Truth:
    """Normal noise around a wave; its scale grows twelvefold along x."""
    scale = 0.1 * np.exp(2.5 * (inputs.x + 3.0) / 6.0 + 0.15 * inputs.spread)  # (n,)
    return {
        "weights": np.ones((len(scale), 1)),
        "locs": inputs.wave[:, None],
        "scales": scale[:, None],
    }


@generated
def skewed(inputs: Inputs) -> Truth:
    """One mode and a long upper tail around a wave; no normal distribution fits."""
    scale = (0.2 + 0.1 * (inputs.x + 0.5) ** 2) * np.exp(0.15 * inputs.spread)  # (n,)
    # Body, shoulder and tail. The weighted sum of their offsets is zero, so that the wave is the
    # conditional mean.
    weights, offsets = np.array([0.6, 0.3, 0.1]), np.array([-0.5, 0.4, 1.8])
    return {
        "weights": np.tile(weights, (len(scale), 1)),
        "locs": inputs.wave[:, None] + scale[:, None] * offsets,
        "scales": scale[:, None] * np.array([0.35, 0.6, 1.0]),
    }


@generated
def bimodal(inputs: Inputs) -> Truth:
    """One branch that becomes two as x grows; no single mode describes the right half."""
    upper = 0.3 + 0.4 / (1.0 + np.exp(-1.5 * inputs.x))  # (n,), between 0.3 and 0.7
    half_gap = 2.0 / (1.0 + np.exp(-2.0 * inputs.x))  # (n,), the branches part at x = 0
    scale = 0.3 * np.exp(0.15 * inputs.spread)
    return {
        "weights": np.column_stack([1.0 - upper, upper]),
        "locs": inputs.wave[:, None] + half_gap[:, None] * np.array([-1.0, 1.0]),
        "scales": np.column_stack([scale, scale]),
    }


@generated
def discrete(inputs: Inputs) -> Truth:
    """Whole numbers around a wave: a distribution of atoms, which no density describes."""
    from scipy.special import ndtri

    # Three to a dozen possible values per row, like scores and counts: twenty equally likely
    # quantiles of a normal distribution, rounded.
    scale = (0.6 + 0.4 * np.abs(inputs.x)) * np.exp(0.15 * inputs.spread)  # (n,)
    quantiles = ndtri((np.arange(20) + 0.5) / 20)  # (20,)
    return {"samples": np.round(5.0 + inputs.wave[:, None] + scale[:, None] * quantiles)}


def _dataset(
    name: str, description: str, inputs: Inputs, truth: Truth, rng: np.random.Generator
) -> Dataset:
    import pandas as pd

    frame = pd.DataFrame(vars(inputs) | {"y": _draw_targets(truth, rng)})
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


def _draw_targets(truth: Truth, rng: np.random.Generator) -> Array:
    """Draw one target per row, (n,)."""
    y: Array
    if "samples" in truth:
        n, count = truth["samples"].shape
        y = truth["samples"][np.arange(n), rng.integers(count, size=n)]
        return y
    n, n_components = truth["weights"].shape
    # The number of cumulative weights below a uniform draw is a random component per row.
    below = rng.uniform(size=(n, 1)) > np.cumsum(truth["weights"], axis=1)
    chosen = np.minimum(below.sum(axis=1), n_components - 1)  # rounding may leave the sum below 1
    row = np.arange(n)
    y = rng.normal(truth["locs"][row, chosen], truth["scales"][row, chosen])
    return y

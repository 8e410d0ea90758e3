from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from calibrant.datasets import Dataset, synthetic
from calibrant.distributions import Empirical
from calibrant.errors import ParameterError

# Those whose truth is a mixture; `discrete` has tests of its own.
GENERATORS = [generate for generate in synthetic.GENERATORS if generate is not synthetic.discrete]
Generate = Callable[..., Dataset]


def true_cdf(data: Dataset, y: NDArray[np.float64]) -> NDArray[np.float64]:
    assert data.truth is not None
    weights, locs, scales = (data.truth[key] for key in ("weights", "locs", "scales"))
    return (weights * stats.norm.cdf(y[:, None], locs, scales)).sum(axis=1)


def true_moments(data: Dataset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    assert data.truth is not None
    weights, locs, scales = (data.truth[key] for key in ("weights", "locs", "scales"))
    mean = (weights * locs).sum(axis=1)
    variance = (weights * (scales**2 + (locs - mean[:, None]) ** 2)).sum(axis=1)
    return mean, np.sqrt(variance)


@pytest.mark.parametrize("generate", GENERATORS)
def test_shapes_and_truth(generate: Generate) -> None:
    data = generate(200, random_state=3)
    assert list(data.X.columns) == ["x", "shift", "spread", "idle"]
    assert data.X.shape == (200, 4)
    assert data.y.shape == (200,)
    assert data.y.dtype == np.float64
    assert np.isfinite(data.frame.to_numpy()).all()
    assert data.truth is not None
    assert set(data.truth) == {"weights", "locs", "scales"}
    assert len({value.shape for value in data.truth.values()}) == 1
    np.testing.assert_allclose(data.truth["weights"].sum(axis=1), 1.0)
    assert (data.truth["scales"] > 0).all()


@pytest.mark.parametrize("generate", GENERATORS)
def test_targets_come_from_the_truth(generate: Generate) -> None:
    data = generate(20_000, random_state=0)
    pit = true_cdf(data, data.y)
    # Uniform overall and in each part of x: the truth holds given the input, not on average only.
    for part in np.array_split(np.argsort(data.X["x"].to_numpy()), 4):
        assert stats.kstest(pit[part], "uniform").pvalue > 1e-3


@pytest.mark.parametrize("generate", GENERATORS)
def test_same_seed_same_rows(generate: Generate) -> None:
    np.testing.assert_array_equal(generate(50, random_state=1).y, generate(50, random_state=1).y)
    assert not np.array_equal(generate(50, random_state=1).y, generate(50, random_state=2).y)
    by_generator = generate(50, random_state=np.random.default_rng(1))
    np.testing.assert_array_equal(by_generator.y, generate(50, random_state=1).y)


@pytest.mark.parametrize("generate", GENERATORS)
def test_spread_and_mean_vary_clearly(generate: Generate) -> None:
    mean, spread = true_moments(generate(2000))
    assert spread.max() > 4 * spread.min()
    assert np.ptp(mean) > 3.0


def test_skewed_has_one_mode_and_an_upper_tail() -> None:
    data = synthetic.skewed(1)
    assert data.truth is not None
    mean, spread = true_moments(data)
    grid = np.linspace(mean[0] - 5 * spread[0], mean[0] + 8 * spread[0], 4001)
    weights, locs, scales = (data.truth[key][0] for key in ("weights", "locs", "scales"))
    density = (weights * stats.norm.pdf(grid[:, None], locs, scales)).sum(axis=1)
    rises = np.diff(density) > 0
    assert np.count_nonzero(rises[:-1] & ~rises[1:]) == 1
    step = grid[1] - grid[0]
    skewness = (((grid - mean) / spread) ** 3 * density).sum() * step
    assert skewness > 1.0


def test_bimodal_branches_part_along_x() -> None:
    data = synthetic.bimodal(2000)
    assert data.truth is not None
    gap = np.diff(data.truth["locs"], axis=1)[:, 0] / data.truth["scales"][:, 0]
    x = data.X["x"].to_numpy()
    assert gap[x < -2].max() < 2  # two equal normals have one mode up to a gap of two scales
    assert gap[x > 1].min() > 6


def test_discrete_targets_come_from_the_truth() -> None:
    data = synthetic.discrete(20_000)
    assert data.truth is not None
    assert list(data.X.columns) == ["x", "shift", "spread", "idle"]
    truth = Empirical(data.truth["samples"])
    np.testing.assert_array_equal(data.y, np.round(data.y))
    assert (truth.log_prob(data.y) > -np.inf).all()
    below = truth.cdf_left(data.y)
    u = np.random.default_rng(1).uniform(below, truth.cdf(data.y))
    for part in np.array_split(np.argsort(data.X["x"].to_numpy()), 4):
        assert stats.kstest(u[part], "uniform").pvalue > 1e-3
    values = [len(np.unique(row)) for row in data.truth["samples"][:500]]
    assert min(values) <= 4
    assert max(values) >= 8


def test_discrete_same_seed_same_rows() -> None:
    one, two = synthetic.discrete(50, random_state=1), synthetic.discrete(50, random_state=1)
    np.testing.assert_array_equal(one.frame, two.frame)
    assert not np.array_equal(one.y, synthetic.discrete(50, random_state=2).y)


@pytest.mark.parametrize("n", [0, -1, 2.5, "many"])
def test_bad_row_counts_are_refused(n: object) -> None:
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1; got"):
        synthetic.skewed(n)


@pytest.mark.parametrize("seed", [-1, "zero"])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(ParameterError, match="random_state must be a whole number"):
        synthetic.bimodal(10, random_state=seed)

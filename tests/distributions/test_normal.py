from __future__ import annotations

import numpy as np
import pytest
import scoringrules as sr
from scipy.stats import norm

from calibrant.distributions import Normal
from calibrant.errors import ParameterError


@pytest.fixture
def sizes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-9, 9, 200)
    return scale * rng.normal(0, 5, 200), scale


def test_against_scipy(sizes: tuple[np.ndarray, np.ndarray]) -> None:
    loc, scale = sizes
    dist, theirs = Normal(loc, scale), norm(loc, scale)
    y = loc + scale * np.random.default_rng(1).normal(0, 4, 200)
    np.testing.assert_allclose(dist.cdf(y), theirs.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(dist.prob_above(y), theirs.sf(y), rtol=1e-12)
    np.testing.assert_allclose(dist.log_prob(y), theirs.logpdf(y), rtol=1e-12)
    for q in (1e-300, 1e-9, 0.2, 0.5, 0.99, 1 - 1e-9):
        np.testing.assert_allclose(dist.ppf(q), theirs.ppf(q), rtol=1e-12)
    np.testing.assert_array_equal(dist.mean, loc)
    np.testing.assert_allclose(dist.variance, theirs.var())


def test_crps_against_scoringrules(sizes: tuple[np.ndarray, np.ndarray]) -> None:
    loc, scale = sizes
    y = loc + scale * np.random.default_rng(1).normal(0, 4, 200)
    np.testing.assert_allclose(Normal(loc, scale).crps(y), sr.crps_normal(y, loc, scale), rtol=1e-9)


def test_parameters_are_copied() -> None:
    loc, scale = np.zeros(2), np.ones(2)
    dist = Normal(loc, scale)
    loc += 1.0
    scale += 1.0
    np.testing.assert_array_equal(dist.mean, 0.0)
    np.testing.assert_array_equal(dist.stddev, 1.0)


def test_one_row_from_numbers_and_other_dtypes() -> None:
    assert len(Normal(0.0, 1.0)) == 1
    dist = Normal(np.zeros(2, dtype=np.float32), [1, 2])
    assert dist.loc.dtype == dist.scale.dtype == np.float64


@pytest.mark.parametrize(
    ("loc", "scale", "message"),
    [
        ([np.nan, 0.0], [1.0, 1.0], r"loc must be finite, got \[nan\]"),
        ([0.0], [np.inf], r"scale must be finite, got \[inf\]"),
        ([0.0, 0.0], [0.0, 1.0], r"scale must be positive, got \[0\.\]"),
        ([0.0], [-1.0], "scale must be positive"),
        ([0.0, 1.0], [1.0], r"same shape, got .*'loc': \(2,\), 'scale': \(1,\)"),
        ([[0.0]], [1.0], r"loc must be one number per row, got shape \(1, 1\)"),
        (["a"], [1.0], r"loc must be numbers, got \['a'\]"),
        ([None], [1.0], "loc must be"),
    ],
)
def test_bad_parameters(loc: object, scale: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Normal(loc, scale)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_affine_that_overflows() -> None:
    with pytest.raises(ParameterError, match="loc must be finite"):
        Normal([1e300], [1.0]).affine(0.0, 1e300)
    with pytest.raises(ParameterError, match="scale must be positive"):
        Normal([0.0], [1e-300]).affine(0.0, 1e-300)

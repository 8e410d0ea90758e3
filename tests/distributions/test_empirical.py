from __future__ import annotations

import numpy as np
import pytest
import scoringrules as sr

from calibrant.distributions import Clipped, Empirical, MonotoneMap, Recalibrated, concatenate
from calibrant.errors import ParameterError


@pytest.fixture
def samples() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (10.0 ** rng.uniform(-6, 6, (40, 1))) * rng.normal(size=(40, 25)).round(1)


def test_against_numpy(samples: np.ndarray) -> None:
    dist = Empirical(samples)
    for q in (1e-9, 0.04, 0.3, 0.5, 0.96, 1.0):
        theirs = np.quantile(samples, q, axis=1, method="inverted_cdf")
        np.testing.assert_array_equal(dist.ppf(q), theirs)
    np.testing.assert_allclose(dist.mean, samples.mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(dist.variance, samples.var(axis=1), rtol=1e-9)
    y = samples[:, :9]
    at_most = np.mean(samples[:, None, :] <= y[:, :, None], axis=2)
    below = np.mean(samples[:, None, :] < y[:, :, None], axis=2)
    np.testing.assert_allclose(dist.cdf(y), at_most)
    np.testing.assert_allclose(dist.cdf_left(y), below)
    np.testing.assert_allclose(dist.log_prob(y), np.log(at_most - below))
    assert np.all(dist.log_prob(samples.max(axis=1) + 1) == -np.inf)


def test_crps_against_scoringrules(samples: np.ndarray) -> None:
    y = np.median(samples, axis=1) + np.linspace(-3, 3, 40) * samples.std(axis=1)
    theirs = sr.crps_ensemble(y, samples, estimator="nrg")
    np.testing.assert_allclose(Empirical(samples).crps(y), theirs, rtol=1e-6)


def test_many_values_at_once(samples: np.ndarray) -> None:
    """A search in each row and counting by columns must agree."""
    dist = Empirical(samples)
    y = np.tile(samples, 2)
    for method in (dist.cdf, dist.cdf_left, dist.crps):
        each = np.stack([method(column) for column in y.T], axis=1)
        np.testing.assert_allclose(method(y), each, rtol=1e-12)


def test_moments_of_samples_far_from_zero() -> None:
    offsets = np.array([0.0, 1.0, 2.0, 3.0]) / 2**30
    dist = Empirical([1e6 + offsets])
    np.testing.assert_allclose(dist.stddev, offsets.std(), rtol=1e-12)


def test_one_sample_is_a_point() -> None:
    dist = Empirical([[2.0], [3.0]])
    np.testing.assert_array_equal(dist.ppf([0.0, 0.5, 1.0]), [[2.0] * 3, [3.0] * 3])
    np.testing.assert_array_equal(dist.variance, 0.0)
    np.testing.assert_array_equal(dist.crps(2.5), 0.5)
    through = Recalibrated(dist, MonotoneMap([0.2], [0.7]))
    np.testing.assert_array_equal(through.crps(2.5), 0.5)
    np.testing.assert_array_equal(Clipped(dist, 2.5, 9.0).mean, [2.5, 3.0])


def test_levels_on_the_steps_are_exact() -> None:
    """F(ppf(i / m)) is i / m, and not one sample more, in floating point as well."""
    for m in (3, 7, 10, 49, 100, 1000):
        dist = Empirical([np.arange(1.0, m + 1)])
        level = np.arange(1, m + 1) / m
        np.testing.assert_array_equal(dist.ppf(level)[0], np.arange(1.0, m + 1))
        through = Recalibrated(dist, MonotoneMap([0.3, 0.35], [0.1, 0.8]))
        level = through.cdf(np.arange(1.0, m + 1)[None])[0]
        np.testing.assert_array_equal(through.ppf(level)[0], np.arange(1.0, m + 1))
        above = np.nextafter(level[:-1], 1)
        np.testing.assert_array_equal(through.ppf(above)[0], np.arange(2.0, m + 1))


def test_samples_of_different_numbers_are_kept_side_by_side() -> None:
    joined = concatenate([Empirical([[1.0, 2.0]]), Empirical([[1.0, 2.0, 6.0]])])
    np.testing.assert_allclose(joined.mean, [1.5, 3.0])


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([1.0, 2.0], r"samples must be of shape .*, got shape \(2,\)"),
        (np.empty((3, 0)), r"at least one column, got shape \(3, 0\)"),
        ([[1.0, np.nan]], r"samples must be finite, got \[nan\]"),
        ([["x"]], "samples must be numbers"),
        ([[1.0], [1.0, 2.0]], "samples must be numbers"),
    ],
)
def test_bad_samples(samples: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Empirical(samples)

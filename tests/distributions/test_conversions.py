"""Distributions of scipy and torch with the same cdf and quantiles."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from scipy import stats
from tests.distributions.strategies import FAMILIES, example

from calibrant.calibration.torch_distributions import from_torch
from calibrant.distributions import Distribution, Mixture, Normal
from calibrant.errors import MissingDependencyError

every_family = pytest.mark.parametrize("name", FAMILIES)
LEVELS = np.array([0.001, 0.1, 0.5, 0.8, 0.999])


def values_of(dist: Distribution) -> np.ndarray:
    return dist.ppf(LEVELS) + 0.01


@every_family
def test_scipy_agrees(name: str) -> None:
    dist = example(name)
    frozen = dist.to_scipy()
    for j, level in enumerate(LEVELS):
        y = values_of(dist)[:, j]
        np.testing.assert_allclose(frozen.cdf(y), dist.cdf(y), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(frozen.sf(y), dist.prob_above(y), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(frozen.ppf(level), dist.ppf(level), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(frozen.mean(), dist.mean, rtol=1e-12)
    np.testing.assert_allclose(frozen.std(), dist.stddev, rtol=1e-12)
    # (k, 1) with (n,): every value at every row.
    table = frozen.cdf(np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(table, [dist.cdf(0.0), dist.cdf(1.0)], rtol=1e-12, atol=1e-15)
    assert frozen.interval(0.8)[0] == pytest.approx(dist.interval(0.8)[:, 0], abs=1e-9)


def test_scipy_densities_and_draws() -> None:
    dist = example("quantiles")
    frozen = dist.to_scipy()
    y = dist.median
    np.testing.assert_allclose(frozen.logpdf(y), dist.log_prob(y), rtol=1e-12)
    np.testing.assert_allclose(frozen.pdf(y), np.exp(dist.log_prob(y)), rtol=1e-12)
    drawn = frozen.rvs(size=(20_000, len(dist)), random_state=0)
    assert stats.kstest(drawn[:, 1], lambda t: dist[1].cdf(t[None])[0]).pvalue > 1e-3
    assert np.isnan(dist.to_scipy().dist.cdf(0.0, 99))  # there is no such row
    assert Normal([0.0], [1.0]).to_scipy().dist is not None


@every_family
def test_torch_agrees(name: str) -> None:
    dist = example(name)
    other = dist.to_torch()
    assert other.batch_shape == (len(dist),)
    values = values_of(dist)
    found = other.cdf(torch.as_tensor(values.T.copy()))  # (k, n)
    np.testing.assert_allclose(found.numpy().T, dist.cdf(values), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(other.mean.numpy(), dist.mean, rtol=1e-9)
    np.testing.assert_allclose(other.variance.numpy(), dist.variance, rtol=1e-9)
    if not isinstance(dist, Mixture):  # torch has no icdf of mixtures
        level = torch.as_tensor(LEVELS)[:, None]
        np.testing.assert_allclose(other.icdf(level).numpy().T, dist.ppf(LEVELS), atol=1e-9)
        drawn = other.sample((4000,))
        assert drawn.shape == (4000, len(dist))
        assert np.all(np.abs(drawn.mean(0).numpy() - dist.mean) < 5 * dist.stddev / np.sqrt(4000))


def test_normals_and_mixtures_keep_their_gradients_and_come_back() -> None:
    for name in ("normal", "mixture"):
        dist = example(name)
        other = dist.to_torch()
        y = torch.as_tensor(dist.mean).requires_grad_()
        other.log_prob(y).sum().backward()
        assert y.grad is not None
        np.testing.assert_allclose(
            other.log_prob(y).detach().numpy(), dist.log_prob(dist.mean), rtol=1e-9
        )
        again = from_torch(other)
        assert type(again) is type(dist)
        np.testing.assert_allclose(again.ppf(0.9), dist.ppf(0.9), rtol=1e-9)


def test_a_missing_skpro_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "skpro.distributions", None)
    monkeypatch.delitem(sys.modules, "calibrant.distributions.to_skpro", raising=False)
    with pytest.raises(MissingDependencyError, match=r"pip install 'calibrant\[sktime\]'"):
        example("normal").to_skpro()

"""Distributions of skpro with the same cdf and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributions.strategies import FAMILIES, example

LEVELS = [0.001, 0.1, 0.5, 0.8, 0.999]


@pytest.mark.parametrize("name", FAMILIES)
def test_skpro_agrees(name: str) -> None:
    dist = example(name)
    labels = [f"row {i}" for i in range(len(dist))]
    other = dist.to_skpro(index=labels, columns=["y"])
    assert other.shape == (len(dist), 1)
    for level in LEVELS:
        found = other.ppf(level)
        assert list(found.index) == labels
        assert list(found.columns) == ["y"]
        np.testing.assert_allclose(found["y"], dist.ppf(level), rtol=1e-9, atol=1e-9)
        y = dist.ppf(level) + 0.01
        np.testing.assert_allclose(other.cdf(y[:, None])["y"], dist.cdf(y), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.mean()["y"], dist.mean, rtol=1e-9)
    np.testing.assert_allclose(other.var()["y"], dist.variance, rtol=1e-9)
    some = other.iloc[[2, 0]]
    np.testing.assert_allclose(some.ppf(0.5)["y"], dist.median[[2, 0]], rtol=1e-9, atol=1e-9)
    assert list(some.index) == [labels[2], labels[0]]

"""Rows with a known truth, and a learner that fits in a moment."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import HeteroscedasticRegressor
from calibrant.checks import Array


def draw(n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Inputs (n, 3), targets, and the standard deviation of each."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    scale = np.where(X[:, 1] > 0, 1.0, 0.2)
    return X, 2.0 * X[:, 0] + scale * rng.standard_normal(n), scale


@pytest.fixture(scope="session")
def rows() -> tuple[Array, Array, Array]:
    return draw(1200)


@pytest.fixture(scope="session")
def fresh() -> tuple[Array, Array, Array]:
    return draw(3000, seed=1)


@pytest.fixture
def quick() -> HeteroscedasticRegressor:
    return HeteroscedasticRegressor(hidden=(32,), epochs=30, lr=2e-2, random_state=0, device="cpu")

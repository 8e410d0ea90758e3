"""Small series and small models that the forecasting tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from torch import nn

from calibrant.estimators import HeteroscedasticRegressor


def tiny(**changes: Any) -> HeteroscedasticRegressor:
    return HeteroscedasticRegressor(**({"hidden": (8,), "epochs": 2, "device": "cpu"} | changes))


def own_network() -> nn.Module:
    """A module of a user's own, for windows of five rows."""
    return nn.Sequential(nn.Flatten(), nn.Linear(5, 2))


def wave(n: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.sin(np.arange(n) / 4) + 0.1 * rng.standard_normal(n)


def hourly(n: int, seed: int = 0) -> pd.Series[float]:
    return pd.Series(wave(n, seed), pd.date_range("2024-01-01", periods=n, freq="h"), name="load")


@pytest.fixture
def y() -> NDArray[np.float64]:
    return wave(150)


@pytest.fixture
def dated() -> pd.Series[float]:
    return hourly(150)

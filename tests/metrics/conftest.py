from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.distributions import Normal


@pytest.fixture
def forecast() -> tuple[Normal, NDArray[np.float64]]:
    """A forecast that is a little wrong in mean and spread, and its targets."""
    rng = np.random.default_rng(11)
    loc, scale = rng.normal(10, 3, size=700), rng.uniform(0.5, 2.0, size=700)
    return Normal(loc + 0.2, 0.9 * scale), loc + scale * rng.normal(size=700)

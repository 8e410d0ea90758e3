from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from calibrant.distributions import Empirical, Normal
from calibrant.errors import ParameterError
from calibrant.metrics import pit
from calibrant.metrics.floor import binomial_band
from calibrant.plots import pit_histogram

N = 400
Y = np.random.default_rng(0).normal(size=N)


@pytest.mark.parametrize(
    "dist",
    [Normal(np.zeros(N), np.ones(N)), Empirical(np.tile(np.linspace(-2, 2, 9), (N, 1)))],
    ids=["normal", "empirical"],
)
def test_bars_are_relative_frequencies(dist: Normal | Empirical) -> None:
    ax = pit_histogram(dist, Y, bins=8, band=None)
    heights = [bar.get_height() for bar in ax.containers[0]]  # type: ignore[attr-defined]
    counts, _ = np.histogram(pit(dist, Y), bins=8, range=(0, 1))
    assert np.allclose(heights, counts / N * 8)
    assert np.mean(heights) == pytest.approx(1.0)
    assert "PIT" in ax.get_xlabel()
    assert "relative frequency" in ax.get_ylabel()


def test_band() -> None:
    ax = pit_histogram(Normal(np.zeros(N), np.ones(N)), Y, bins=10, band=0.9)
    (band,) = [p for p in ax.patches if "perfect" in str(p.get_label())]
    assert isinstance(band, Rectangle)
    lower, upper = (10 * float(share) for share in binomial_band(N, 0.1, 0.9))
    assert band.get_y() == pytest.approx(lower)
    assert band.get_height() == pytest.approx(upper - lower)


def test_draws_where_it_is_told() -> None:
    ax = Figure().subplots()
    assert pit_histogram(Normal([0.0], [1.0]), [0.3], ax=ax) is ax
    assert plt.get_fignums() == []


def test_bad_options() -> None:
    dist = Normal([0.0], [1.0])
    with pytest.raises(ParameterError, match="bins must be at least 1, got 0"):
        pit_histogram(dist, [0.0], bins=0)
    with pytest.raises(ParameterError, match=r"band must be in \(0, 1\) or None"):
        pit_histogram(dist, [0.0], band=1.0)

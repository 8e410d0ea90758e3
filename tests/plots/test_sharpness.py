from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Normal
from calibrant.errors import ParameterError
from calibrant.metrics import mean_width
from calibrant.plots import sharpness

SPREAD = np.random.default_rng(0).gamma(4.0, size=400)
FORECASTS = {
    "sharp": Normal(np.zeros(400), SPREAD),
    "wide": Normal(np.zeros(400), 2 * SPREAD),
}


def test_boxes_hold_the_quantiles_of_the_widths() -> None:
    ax = sharpness(FORECASTS, coverage=0.8)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["sharp", "wide"]
    for box, dist in zip(ax.patches, FORECASTS.values(), strict=True):
        widths = 2 * 1.2815515655446004 * dist.stddev  # of a normal distribution, by hand
        edges = box.get_path().vertices[:, 0]
        assert np.allclose([edges.min(), edges.max()], np.quantile(widths, [0.25, 0.75]))
    assert "80% intervals (target units)" in ax.get_xlabel()


def test_diamonds_are_the_mean_widths() -> None:
    ax = sharpness(FORECASTS)
    means = [line.get_xdata()[0] for line in ax.get_lines() if line.get_marker() == "D"]
    assert np.allclose(means, [mean_width(dist) for dist in FORECASTS.values()])


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="at least one forecast"):
        sharpness({})
    with pytest.raises(ParameterError, match="Expected a predictive distribution"):
        sharpness({"a": [1.0]})  # type: ignore[dict-item]

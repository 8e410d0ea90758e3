from __future__ import annotations

import numpy as np
import pytest

from calibrant import metrics
from calibrant.distributions import Normal
from calibrant.errors import ParameterError
from calibrant.plots import risk_coverage

SPREAD = np.random.default_rng(0).gamma(4.0, size=400)
Y = SPREAD * np.random.default_rng(1).normal(size=400)


def test_lines_are_the_curves() -> None:
    forecasts = {
        "knows": Normal(np.zeros(400), SPREAD),
        "does not": Normal(np.zeros(400), SPREAD[::-1].copy()),
    }
    ax = risk_coverage(forecasts, Y)
    for line, (name, dist) in zip(ax.get_lines(), forecasts.items(), strict=True):
        curve = metrics.risk_coverage(dist, Y)
        np.testing.assert_array_equal(line.get_xdata(), curve.kept)
        np.testing.assert_array_equal(line.get_ydata(), curve.risk)
        assert line.get_label() == f"{name} (mean {curve.area:.3g})"
    assert len({line.get_linestyle() for line in ax.get_lines()}) == 2
    assert "rejected first" in ax.get_xlabel()


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="at least one forecast"):
        risk_coverage({}, Y)

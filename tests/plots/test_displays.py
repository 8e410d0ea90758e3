from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.distributions import DistributionPredictor, Normal
from calibrant.errors import ParameterError
from calibrant.metrics import LEVELS, coverage
from calibrant.plots import IntervalDisplay, PITDisplay, ReliabilityDisplay, SharpnessDisplay

N = 60
X = np.linspace(0, 1, N)
Y = np.random.default_rng(0).normal(size=N)
DIST = Normal(X, np.full(N, 0.9))
DISPLAYS = [IntervalDisplay, PITDisplay, ReliabilityDisplay, SharpnessDisplay]


class Model(DistributionPredictor):
    def predict_dist(self, X):
        return Normal(X, np.full(len(X), 0.9))


@pytest.mark.parametrize("display", DISPLAYS)
def test_draws_where_it_is_told_and_again(display) -> None:
    first, second = Figure().subplots(1, 2)
    drawn = display.from_estimator(Model(), X, Y, ax=first)
    assert drawn.ax_ is first
    assert drawn.figure_ is first.figure
    assert drawn.plot(ax=second).ax_ is second
    assert drawn.name == "Model"


def test_the_estimator_and_its_predictions_give_one_line() -> None:
    by_model = ReliabilityDisplay.from_estimator(Model(), X, Y)
    by_dist = ReliabilityDisplay.from_predictions(DIST, Y)
    for display in (by_model, by_dist):
        curve = display.ax_.get_lines()[-1]
        assert np.array_equal(curve.get_ydata(), coverage(DIST, Y, coverage=LEVELS))
    assert by_model.ax_.get_lines()[-1].get_label().startswith("Model (ECPE")


def test_options_reach_the_function_that_draws() -> None:
    assert len(PITDisplay.from_predictions(DIST, Y, bins=7, band=None).ax_.patches) == 7
    bands = IntervalDisplay.from_predictions(DIST, Y, coverage=[0.5, 0.9]).ax_.collections
    assert [band.get_label() for band in bands] == ["90% interval", "50% interval"]
    widths = SharpnessDisplay.from_predictions(DIST, Y, coverage=0.5, name="mine").ax_
    assert widths.get_xlabel() == "width of 50% intervals (target units)"
    assert [label.get_text() for label in widths.get_yticklabels()] == ["mine"]


def test_a_model_without_distributions_is_told_what_to_do() -> None:
    with pytest.raises(ParameterError, match=r"predict_dist, got object.*ConformalRecalibrator"):
        PITDisplay.from_estimator(object(), X, Y)

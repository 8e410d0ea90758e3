from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.distributions import Clipped, Normal
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import LEVELS, coverage, ecpe, evaluate, noise_floor
from calibrant.metrics.floor import binomial_band
from calibrant.plots import coverage_over_time, pit_histogram, reliability, sharpness
from calibrant.plots.style import line_style

N = 300
Y = np.random.default_rng(0).normal(size=N)
TRUTH = Normal(np.zeros(N), np.ones(N))
NARROW = Normal(np.zeros(N), np.full(N, 0.6))


def test_one_curve_is_the_coverage() -> None:
    ax = reliability(TRUTH, Y)
    diagonal, curve = ax.get_lines()
    assert np.array_equal(np.asarray(diagonal.get_xdata()), np.asarray(diagonal.get_ydata()))
    assert f"ECPE {noise_floor(N).ecpe:.3f} by chance" in str(diagonal.get_label())
    assert np.array_equal(curve.get_xdata(), LEVELS)
    assert np.array_equal(curve.get_ydata(), coverage(TRUTH, Y, coverage=LEVELS))
    assert curve.get_label() == f"ECPE {ecpe(TRUTH, Y):.3f}"
    assert "nominal coverage" in ax.get_xlabel()
    assert "300 targets" in ax.get_ylabel()


def test_several_methods_have_their_own_colour_and_name() -> None:
    ax = reliability({"truth": TRUTH, "narrow": NARROW}, Y)
    _, first, second = ax.get_lines()
    assert np.array_equal(second.get_ydata(), coverage(NARROW, Y, coverage=LEVELS))
    assert first.get_color() != second.get_color()
    legend = ax.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[-2:] == [
        f"{k} (ECPE {ecpe(d, Y):.3f})" for k, d in (("truth", TRUTH), ("narrow", NARROW))
    ]


def test_many_methods_stay_apart() -> None:
    assert len({line_style(k) for k in range(42)}) == 42
    ax = reliability({str(k): TRUTH for k in range(12)}, Y)
    drawn = [line.get_color() for line in ax.get_lines()[1:]]
    assert drawn == [line_style(k)[0] for k in range(12)]


def test_methods_stay_apart_without_colour() -> None:
    assert len({line_style(k)[1] for k in range(6)}) == 6
    ax = reliability({str(k): TRUTH for k in range(4)}, Y)
    assert [line.get_linestyle() for line in ax.get_lines()[1:]] == ["-", "--", "-.", ":"]


def test_band_is_the_binomial_one() -> None:
    (band,) = reliability(TRUTH, Y, band=0.8).collections
    lower, upper = binomial_band(N, LEVELS, 0.8)
    points = band.get_paths()[0].vertices
    assert np.isin(lower, points[:, 1]).all()
    assert np.isin(upper, points[:, 1]).all()
    assert len(reliability(TRUTH, Y, band=None).collections) == 0


def test_draws_where_it_is_told() -> None:
    ax = Figure().subplots()
    assert reliability(TRUTH, Y, ax=ax) is ax
    assert plt.get_fignums() == []


def test_bad_input_opens_no_figure() -> None:
    with pytest.raises(ParameterError, match="at least one forecast, got an empty mapping"):
        reliability({}, Y)
    with pytest.raises(ParameterError, match=r"band must be in \(0, 1\) or None, got 90"):
        reliability(TRUTH, Y, band=90)
    with pytest.raises(DataError, match="y must be finite"):
        reliability(TRUTH, np.full(N, np.nan))
    assert plt.get_fignums() == []


@pytest.mark.parametrize("draw", [reliability, pit_histogram, coverage_over_time, sharpness])
def test_an_evaluation_gives_the_figure_of_its_distribution(draw) -> None:
    targets = {} if draw is sharpness else {"y": Y}
    for dist in (TRUTH, Clipped(TRUTH, low=0.0)):
        y = np.maximum(Y, 0.0) if dist is not TRUTH else Y
        given = {name: y for name in targets}
        expected, shown = draw(dist, **given), draw(evaluate(dist, y))
        for a, b in zip(expected.get_lines(), shown.get_lines(), strict=True):
            assert a.get_ydata() == pytest.approx(b.get_ydata())
        for a, b in zip(expected.patches, shown.patches, strict=True):
            assert a.get_path().vertices == pytest.approx(b.get_path().vertices)

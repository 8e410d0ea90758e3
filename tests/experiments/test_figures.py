"""The figures of a small store."""

from __future__ import annotations

import numpy as np
from tests.experiments.records import DEPTH, LEVELS, RECORDS

from calibrant.experiments import figures


def test_figures() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    drawn = {}
    for name, figure in figures(RECORDS + DEPTH):
        drawn[name] = [ax.get_title() or ax.get_title("left") for ax in figure.axes]
        if name == "honest-reliability":
            (curve,) = [
                line
                for line in figure.axes[0].lines
                if line.get_label().startswith("hnn (ECPE 0.2")
            ]
            colours = {  # the same method looks the same in every panel
                tuple(line.get_color() for line in ax.lines) for ax in figure.axes
            }
            assert len(colours) == 1
            assert [text.get_text() for text in figure.legends[0].get_texts()] == [
                *("90% of perfect forecasts", "perfect", "hnn", "mmd", "ngboost")
            ]
            np.testing.assert_allclose(curve.get_ydata(), LEVELS**2)
        if name == "honest-pm25-intervals":
            (outside,) = [line for line in figure.axes[0].lines if "outside" in line.get_label()]
            assert outside.get_xdata().tolist() == [5]  # 3 above the interval up to 2.5
        if name == "honest-depth":
            (line,) = figure.axes[0].get_legend_handles_labels()[0]
            assert line.lines[0].get_xdata().tolist() == [1, 2]
            assert line.lines[0].get_ydata().tolist() == [1800.0, 1800.0]
            assert [ax.get_ylabel() for ax in figure.axes] == ["fit seconds", "ECPE"]
            assert [ax.get_yscale() for ax in figure.axes] == ["log", "linear"]
            assert figure.axes[1].lines[0].get_label() == "perfect forecaster"
    assert drawn == {
        "honest-reliability": ["wine", "pm25"],
        "honest-wine-intervals": ["wine, hnn", "wine, mmd", "wine, ngboost"],
        "honest-pm25-intervals": ["pm25, hnn", "pm25, mmd", "pm25, ngboost"],
        "honest-depth": ["", ""],
    }

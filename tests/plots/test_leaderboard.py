from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from calibrant.errors import DataError
from calibrant.plots import leaderboard

RUNS = pd.DataFrame(
    {
        "method": ["b", "b", "b", "a", "a", "a"],
        "seed": [0, 1, 2, 0, 1, 2],
        "ecpe": [0.05, 0.07, 0.09, 0.02, 0.03, 0.07],
    }
)


def bars(ax) -> list[tuple[float, float]]:
    """Centre and half length of every horizontal error bar."""
    found = []
    for container in ax.containers:
        assert isinstance(container, ErrorbarContainer)
        point, _, (segments,) = container
        ((start, _), (end, _)) = segments.get_segments()[0]
        assert np.isclose((start + end) / 2, point.get_xdata()[0])
        found.append((float(point.get_xdata()[0]), (end - start) / 2))
    return found


def test_leaderboard_sorts_by_the_mean_and_draws_its_error() -> None:
    ax = leaderboard(RUNS, value="ecpe", floor=0.01)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    expected = RUNS.groupby("method")["ecpe"].agg(["mean", "sem"])
    assert np.allclose(bars(ax), expected.loc[["a", "b"]])
    floor, first = ax.get_lines()[:2]
    assert floor.get_xdata() == [0.01, 0.01]
    assert np.array_equal(first.get_xdata(), [0.02, 0.03, 0.07])
    assert "lower is better" in ax.get_xlabel()


def test_leaderboard_follows_the_direction_of_the_metric() -> None:
    ax = leaderboard(RUNS.rename(columns={"ecpe": "r2"}), value="r2")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a"]
    assert ax.get_xlabel() == "r2 (higher is better)"


def test_missing_columns_are_named() -> None:
    with pytest.raises(DataError, match="has no column crps; its columns are: method, seed"):
        leaderboard(RUNS, value="crps")
    with pytest.raises(DataError, match="no rows"):
        leaderboard(RUNS.iloc[:0], value="ecpe")

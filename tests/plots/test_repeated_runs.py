from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from calibrant.errors import DataError, ParameterError
from calibrant.plots import ablation, depth_study, leaderboard

RUNS = pd.DataFrame(
    {
        "method": ["b", "b", "b", "a", "a", "a"],
        "seed": [0, 1, 2, 0, 1, 2],
        "layers": [1, 2, 4, 1, 2, 4],
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


def test_ablation_is_paired() -> None:
    ax = ablation(RUNS, value="ecpe", baseline="a", variant="method")
    change = np.array([0.03, 0.04, 0.02])
    assert np.allclose(bars(ax), [(change.mean(), change.std(ddof=1) / np.sqrt(3))])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b"]


def test_ablation_needs_pairs() -> None:
    with pytest.raises(DataError, match="Every variant needs a score on every run"):
        ablation(RUNS.iloc[1:], value="ecpe", baseline="a", variant="method")
    with pytest.raises(DataError, match="Several rows share a variant and seed"):
        ablation(RUNS.assign(seed=0), value="ecpe", baseline="a", variant="method")
    with pytest.raises(ParameterError, match="one of the variants a, b, got 'c'"):
        ablation(RUNS, value="ecpe", baseline="c", variant="method")


def test_depth_study_draws_a_line_a_method() -> None:
    ax = depth_study(RUNS, value="ecpe", floor=0.01)
    first, second = (container[0] for container in ax.containers)
    assert np.array_equal(first.get_xdata(), [1, 2, 4])
    assert np.array_equal(second.get_ydata(), [0.02, 0.03, 0.07])
    assert [c.get_label() for c in ax.containers] == ["b", "a"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("hidden layers", "ecpe")
    assert depth_study(RUNS, value="ecpe", log=True).get_yscale() == "log"


@pytest.mark.parametrize("draw", [leaderboard, depth_study])
def test_missing_columns_are_named(draw) -> None:
    with pytest.raises(DataError, match="has no column crps; its columns are: method, seed"):
        draw(RUNS, value="crps")
    with pytest.raises(DataError, match="no rows"):
        draw(RUNS.iloc[:0], value="ecpe")

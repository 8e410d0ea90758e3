from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import DataError, ParameterError
from calibrant.experiments import study_plots
from calibrant.experiments.study_plots import ablation, depth_study

RUNS = pd.DataFrame(
    {
        "method": ["b", "b", "b", "a", "a", "a"],
        "seed": [0, 1, 2, 0, 1, 2],
        "layers": [1, 2, 4, 1, 2, 4],
        "ecpe": [0.05, 0.07, 0.09, 0.02, 0.03, 0.07],
    }
)


def test_examples() -> None:
    assert doctest.testmod(study_plots).failed == 0


def test_ablation_is_paired() -> None:
    ax = ablation(RUNS, value="ecpe", baseline="a", variant="method")
    change = np.array([0.03, 0.04, 0.02])
    (container,) = ax.containers
    point, _, (segments,) = container
    ((start, _), (end, _)) = segments.get_segments()[0]
    assert point.get_xdata()[0] == pytest.approx(change.mean())
    assert (end - start) / 2 == pytest.approx(change.std(ddof=1) / np.sqrt(3))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b"]


def test_ablation_needs_pairs() -> None:
    with pytest.raises(DataError, match="Every variant needs a score on every run"):
        ablation(RUNS.iloc[1:], value="ecpe", baseline="a", variant="method")
    with pytest.raises(DataError, match="Several rows share a variant and seed"):
        ablation(RUNS.assign(seed=0), value="ecpe", baseline="a", variant="method")
    with pytest.raises(ParameterError, match="one of the variants a, b, got 'c'"):
        ablation(RUNS, value="ecpe", baseline="c", variant="method")


def test_depth_study_draws_one_line_per_method() -> None:
    ax = depth_study(RUNS, value="ecpe", floor=0.01)
    first, second = (container[0] for container in ax.containers)
    assert np.array_equal(first.get_xdata(), [1, 2, 4])
    assert np.array_equal(second.get_ydata(), [0.02, 0.03, 0.07])
    assert [c.get_label() for c in ax.containers] == ["b", "a"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("hidden layers", "ecpe")
    assert depth_study(RUNS, value="ecpe", log=True).get_yscale() == "log"


@pytest.mark.parametrize("missing", ["layers", "ecpe"])
def test_missing_columns_are_named(missing: str) -> None:
    with pytest.raises(DataError, match=f"has no column {missing}; its columns are: method, seed"):
        depth_study(RUNS.drop(columns=missing), value="ecpe")

"""The protocol of fev-bench, and the scores of its benchmark."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import fev

from calibrant.distributions import Quantiles


@pytest.mark.skipif("CALIBRANT_DATA" not in os.environ, reason="CALIBRANT_DATA is not set")
@pytest.mark.parametrize("name", list(fev.PUBLISHED))
def test_seasonal_naive_has_the_published_error(name: str) -> None:
    task = fev.read_task(name, Path(os.environ["CALIBRANT_DATA"]))
    starts = fev.window_starts(task, False)
    assert len(starts) == 20
    assert fev.naive_mase(task, starts) == pytest.approx(
        fev.PUBLISHED[name]["naive MASE"], abs=1e-6
    )
    # Settings are chosen on windows that end where the first of the twenty begins.
    earlier = fev.window_starts(task, True)
    assert earlier[-1] + fev.HORIZON == starts[0]


def task_of(values: np.ndarray) -> fev.Task:
    times = pd.date_range("2024-01-01", periods=values.shape[1], freq="h")
    return fev.Task(values, [f"y{i}" for i in range(values.shape[2])], times, None)


def test_scores_of_known_quantiles() -> None:
    rng = np.random.default_rng(0)
    task = task_of(rng.normal(size=(2, 10_000, 3)))
    cuts = list(range(10_000 - 20 * fev.HORIZON, 10_000, fev.HORIZON))
    levels = np.arange(1, 100) / 100
    from scipy.special import ndtri

    perfect = Quantiles(levels, np.tile(ndtri(levels), (6 * fev.HORIZON, 1)))
    found = fev.score(task, cuts, [perfect] * 20)
    # CRPS of a standard normal is 1 / sqrt(pi); nine levels weigh its middle; the seasonal
    # difference has the mean 2 / sqrt(pi).
    assert found["sql"] == pytest.approx(0.55, abs=0.02)
    assert found["coverage"][1] == pytest.approx(0.9, abs=0.005)
    assert found["ecpe"] == pytest.approx(found["floor"], rel=0.2)
    assert found["outcomes_per_step"] == 120


def test_totals_of_joint_and_independent_paths() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=(fev.PATHS, 200, 1))
    paths = np.repeat(common, fev.HORIZON, axis=2)  # all steps alike
    future = np.repeat(rng.normal(size=(1, 1, 200)), fev.HORIZON, axis=1)
    past = rng.normal(size=(1, 3 * fev.SEASON, 200))
    task = task_of(np.concatenate([past, future], axis=1))
    found = fev.average_days([fev.score_days(paths, task, past.shape[1])])
    assert found["totals_joint"]["coverage"][0] == pytest.approx(0.9, abs=0.06)
    assert found["totals_independent"]["coverage"][0] < 0.5
    assert found["variogram_joint"] < found["variogram_independent"]

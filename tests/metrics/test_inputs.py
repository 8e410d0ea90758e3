"""Every metric refuses the same bad input in the same words."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from calibrant import metrics
from calibrant.distributions import Normal
from calibrant.errors import CalibrantError, DataError, ParameterError
from calibrant.metrics import METRICS

DIST = Normal([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
Y = [0.1, 0.9, 2.5]


def needs_targets_alone(function: Any) -> bool:
    """Whether a public function can be called with a distribution and targets."""
    if not inspect.isfunction(function):
        return False
    names, parameters = zip(*inspect.signature(function).parameters.items(), strict=True)
    optional = [p.default is not p.empty for p in parameters[2:]]
    return names[:2] == ("dist", "y") and all(optional)


NAMES = [name for name in metrics.__all__ if needs_targets_alone(getattr(metrics, name))]


def test_all_of_them_are_found() -> None:
    assert {"evaluate", "pit", "calibration_test", "calibration_by_bins", *METRICS} - set(
        NAMES
    ) == {
        "p_value",
        "ecpe_by_mean",
        "ecpe_by_stddev",
        "ecpe_by_group",
    }


@pytest.fixture(params=NAMES)
def metric(request: pytest.FixtureRequest) -> Any:
    return getattr(metrics, request.param)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.1, np.nan, 2.5], r"y must be finite, but 1 of 3 .* nan in row 1.*Drop or impute"),
        ([0.1, 0.9, np.inf], r"y must be finite.*inf in row 2"),
        ([0.1, 0.9], r"3 rows of the distribution, shape \(3,\) or \(3, 1\), got shape \(2,\)"),
        ([[0.1, 0.9, 2.5]], r"got shape \(1, 3\)"),
        (np.zeros((3, 3)), r"got shape \(3, 3\)"),
        (0.5, r"got shape \(\)"),
        (["a", "b", "c"], "y must be numbers"),
        (pd.array([1, None, 3], dtype="Int64"), r"y must be finite.*nan in row 1"),
    ],
)
def test_bad_targets(metric: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        metric(DIST, y)
    assert isinstance(caught.value, CalibrantError)
    assert isinstance(caught.value, ValueError)


def test_a_point_prediction_is_no_forecast(metric: Any) -> None:
    with pytest.raises(ParameterError, match=r"predictive distribution, got ndarray.*predict_dist"):
        metric(np.zeros(3), Y)


def test_no_rows(metric: Any) -> None:
    with pytest.raises(DataError, match="at least one row"):
        metric(DIST[:0], [])


@pytest.mark.parametrize(
    "y",
    [
        np.array(Y)[:, None],
        np.array(Y, dtype=np.float64).tolist(),
        pd.Series(Y, index=[7, 8, 9]),
        pd.DataFrame({"y": Y}),
        pl.Series(Y),
        torch.tensor(Y, dtype=torch.float64),
        torch.tensor(Y, dtype=torch.float64, requires_grad=True),
    ],
    ids=["column", "list", "series", "frame", "polars", "tensor", "tensor with gradient"],
)
def test_kinds_of_targets(y: Any) -> None:
    assert metrics.crps(DIST, y) == metrics.crps(DIST, np.array(Y))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 90, np.nan, [], [0.5, 1.5], [[0.5]]])
def test_bad_levels(level: Any) -> None:
    calls = [
        lambda: metrics.coverage(DIST, Y, coverage=level),
        lambda: metrics.mean_width(DIST, level),
        lambda: metrics.interval_score(DIST, Y, coverage=level),
        lambda: metrics.pinball(DIST, Y, alpha=level),
        lambda: metrics.quantile_calibration(DIST, Y, alpha=level),
        lambda: metrics.evaluate(DIST, Y, coverage=level),
        lambda: metrics.calibration_test(DIST, Y, confidence=level),
        lambda: metrics.calibration_by_group(DIST, Y, Y, coverage=level),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match=r"must be one number .*in \(0, 1\), got"):
            call()


def test_one_level_where_one_is_needed() -> None:
    with pytest.raises(ParameterError, match=r"coverage must be one number in \(0, 1\), got 2"):
        metrics.evaluate(DIST, Y, coverage=[0.5, 0.9])  # type: ignore[arg-type]


def test_options_are_named(metric: Any) -> None:
    with pytest.raises(TypeError):
        metric(DIST, Y, None, 0.9)

"""From validated rows to what a network reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant import Windows
from calibrant.estimators.features import Features, scaled_rows
from calibrant.estimators.fit_data import Sample
from calibrant.estimators.neighbours import Neighbours
from calibrant.estimators.scaling import Scaler
from calibrant.training import SeriesWindows

SCALER = Scaler(np.array([1.0, -2.0]), np.array([2.0, 0.5]))
TARGET = Scaler(np.array(10.0), np.array(4.0))
CPU = torch.device("cpu")


def make_sample(n: int = 6, seed: int = 0) -> Sample:
    rng = np.random.default_rng(seed)
    return Sample(rng.normal(size=(n, 2)), rng.normal(size=n), rng.uniform(1.0, 3.0, n))


def test_inputs_are_scaled_column_by_column() -> None:
    features = Features(SCALER)
    assert features.n_inputs == 2
    np.testing.assert_array_equal(features.transform(np.array([[3.0, -1.0]])), [[1.0, 2.0]])
    sequences = np.zeros((4, 5, 2))
    assert features.transform(sequences).shape == (4, 5, 2)


def test_neighbours_are_found_by_scaled_inputs_and_stand_behind_them() -> None:
    sample = make_sample(40)
    neighbours = Neighbours(SCALER.transform(sample.x), TARGET.transform(sample.y))
    features = Features(SCALER, neighbours)
    found = features.transform(sample.x[:3])
    assert found.shape == (3, features.n_inputs)
    assert features.n_inputs == 2 + Neighbours.n_features
    np.testing.assert_array_equal(found[:, :2], SCALER.transform(sample.x[:3]))
    # A training row met again is its own nearest neighbour.
    np.testing.assert_allclose(found[:, 2], TARGET.transform(sample.y[:3]))


def test_rows_are_scaled_tensors_with_weights_of_mean_one() -> None:
    sample = make_sample()
    (rows,) = scaled_rows([sample], SCALER, TARGET, CPU)
    assert {part.dtype for part in (rows.x, rows.y, rows.weight)} == {torch.float32}
    np.testing.assert_allclose(rows.x, SCALER.transform(sample.x), rtol=1e-6)
    np.testing.assert_allclose(rows.y, (sample.y - 10.0) / 4.0, rtol=1e-6)
    assert float(rows.weight.mean()) == pytest.approx(1.0)
    np.testing.assert_allclose(rows.weight * sample.weight.mean(), sample.weight, rtol=1e-6)


def test_a_series_that_samples_share_is_scaled_once() -> None:
    series = np.random.default_rng(0).normal(size=(9, 2))
    windows = Windows(series, np.arange(2, 9), 3)
    samples = [
        Sample(windows[part], np.zeros(len(windows[part])), np.ones(len(windows[part])))
        for part in (slice(0, 4), slice(4, None))
    ]
    first, second = (rows.inputs for rows in scaled_rows(samples, SCALER, TARGET, CPU))
    assert isinstance(first, SeriesWindows)
    assert isinstance(second, SeriesWindows)
    assert first.series is second.series
    np.testing.assert_allclose(
        second[:], SCALER.transform(np.asarray(windows[4:])), rtol=1e-5, atol=1e-6
    )

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.distributions import Normal
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import (
    calibration_by_bins,
    calibration_by_group,
    coverage,
    ecpe,
    noise_floor,
    worst_group_coverage,
)

N = 3000


@pytest.fixture(scope="module")
def uneven() -> tuple[Normal, np.ndarray, np.ndarray]:
    """One spread for all rows, right on average: too wide for "calm", too narrow for "wild"."""
    rng = np.random.default_rng(12)
    wild = rng.random(N) < 0.5
    y = rng.normal(size=N) * np.where(wild, 1.4, 0.6)
    return Normal(np.zeros(N), np.ones(N)), y, np.where(wild, "wild", "calm")


def test_groups_are_those_of_slices(uneven: tuple[Normal, np.ndarray, np.ndarray]) -> None:
    dist, y, groups = uneven
    found = calibration_by_group(dist, y, groups)
    assert found.names == ("calm", "wild")
    for g, name in enumerate(found.names):
        rows = groups == name
        assert found.n[g] == rows.sum()
        assert found.ecpe[g] == ecpe(dist[rows], y[rows])
        assert found.coverage[g] == coverage(dist[rows], y[rows])
        assert found.floor[g] == pytest.approx(noise_floor(int(rows.sum())).ecpe, rel=1e-12)
    assert found.mean_ecpe == pytest.approx(found.ecpe.mean())
    assert found.mean_floor == pytest.approx(found.floor.mean())
    assert found.mean_ecpe > 2 * ecpe(dist, y)
    assert found.mean_floor_range[0] < found.mean_floor < found.mean_floor_range[1]


def test_frame_and_text(uneven: tuple[Normal, np.ndarray, np.ndarray]) -> None:
    found = calibration_by_group(*uneven)
    frame = found.to_frame()
    assert list(frame.columns) == ["n", "coverage", "ecpe", "floor"]
    assert list(frame.index) == ["calm", "wild"]
    assert frame.loc["wild", "ecpe"] == found.ecpe[1]
    lines = str(found).splitlines()
    assert len(lines) == len(found) + 1 == 3
    assert len({len(line) for line in lines}) == 1


def test_worst_group(uneven: tuple[Normal, np.ndarray, np.ndarray]) -> None:
    dist, y, groups = uneven
    worst = worst_group_coverage(dist, y, groups)
    assert worst.name == "wild"
    assert worst.n == np.sum(groups == "wild")
    assert worst.coverage == coverage(dist[groups == "wild"], y[groups == "wild"])
    assert worst.outside
    assert "is not explained by chance" in str(worst)


def test_worst_of_many_small_groups_is_within_chance() -> None:
    rng = np.random.default_rng(0)
    worst = worst_group_coverage(
        Normal(np.zeros(N), np.ones(N)), rng.normal(size=N), rng.integers(0, 100, N)
    )
    assert worst.coverage < 0.85
    assert not worst.outside
    assert "is within chance" in str(worst)


def test_small_groups_can_be_left_out() -> None:
    dist, y, groups = Normal([0.0] * 5, [1.0] * 5), [9.0, 0.1, 9.0, 0.2, 0.3], list("abbbb")
    assert worst_group_coverage(dist, y, groups).name == "a"
    assert worst_group_coverage(dist, y, groups, min_size=2).name == "b"
    with pytest.raises(DataError, match="No group has min_size = 9 rows; the largest has 4"):
        worst_group_coverage(dist, y, groups, min_size=9)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([2, 1, 2, 1], (1, 2)),
        (np.array([[2], [1], [2], [1]]), (1, 2)),
        ([True, False, True, True], (False, True)),
        (pd.Categorical(["b", "a", "b", "a"]), ("a", "b")),
        (pd.Series(["b", None, "b", "a"], dtype="object"), ("a", "b", None)),
        (pd.Series(["b", pd.NA, "b", "a"], dtype="string"), ("a", "b", pd.NA)),
        (np.array([1, "x", 1, "x"], dtype=object), (1, "x")),
    ],
)
def test_kinds_of_labels(groups: object, names: tuple[object, ...]) -> None:
    found = calibration_by_group(Normal([0.0] * 4, [1.0] * 4), [0.0] * 4, groups)
    assert len(found.names) == len(names)
    for label, name in zip(found.names, names, strict=True):
        assert label == name if not pd.isna(name) else pd.isna(label)


def test_missing_number_is_a_group_of_its_own() -> None:
    found = calibration_by_group(Normal([0.0] * 3, [1.0] * 3), [0.0] * 3, [np.nan, 2.0, np.nan])
    assert found.names[0] == 2.0
    assert np.isnan(found.names[1])
    assert list(found.n) == [1, 2]


def test_wrong_number_of_labels() -> None:
    with pytest.raises(DataError, match=r"groups must have one value for each of the 2 rows"):
        calibration_by_group(Normal([0.0] * 2, [1.0] * 2), [0.0, 0.0], ["a"])


def test_bins_find_what_the_average_hides(
    uneven: tuple[Normal, np.ndarray, np.ndarray],
) -> None:
    dist, y, groups = uneven
    feature = (groups == "wild") + 0.5 * np.random.default_rng(1).random(N)
    found = calibration_by_bins(dist, y, by=feature, bins=4)
    assert found.coverage[0] > 0.98
    assert found.coverage[-1] < 0.8
    assert list(found.n) == [750] * 4


@pytest.mark.parametrize("by", ["mean", "stddev"])
def test_bins_of_the_prediction(by: str) -> None:
    rng = np.random.default_rng(2)
    dist = Normal(rng.normal(size=N), rng.uniform(1, 2, size=N))
    y = dist.sample(random_state=3)
    found = calibration_by_bins(dist, y, by=by)
    assert found.to_frame().equals(calibration_by_bins(dist, y, by=getattr(dist, by)).to_frame())
    assert list(found.n) == [N // 10] * 10
    # the truth is calibrated in every bin
    assert found.mean_floor_range[0] * 0.8 < found.mean_ecpe < found.mean_floor_range[1] * 1.2


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 12))
def test_ties_share_a_bin(values: list[int], bins: int) -> None:
    n = len(values)
    dist = Normal(np.zeros(n), np.ones(n))
    found = calibration_by_bins(dist, np.zeros(n), by=values, bins=bins)
    assert found.n.sum() == n
    assert np.all(found.n > 0)
    assert len(found) <= min(bins, len(set(values)))
    largest = max(values.count(v) for v in values)
    assert found.n.max() >= largest


def test_bad_bins() -> None:
    dist, y = Normal([0.0, 1.0], [1.0, 1.0]), [0.0, 0.0]
    with pytest.raises(ParameterError, match=r"by must be 'mean', 'stddev' or an array .*'median'"):
        calibration_by_bins(dist, y, by="median")
    with pytest.raises(ParameterError, match="bins must be at least 1, got 0"):
        calibration_by_bins(dist, y, bins=0)
    with pytest.raises(DataError, match=r"by must have one value .* got shape \(3,\)"):
        calibration_by_bins(dist, y, by=[1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="by must be finite"):
        calibration_by_bins(dist, y, by=[1.0, np.nan])
    with pytest.raises(DataError, match=r"by must hold numbers.*calibration_by_group for labels"):
        calibration_by_bins(dist, y, by=["a", "b"])


def test_bins_are_named_without_exponents_and_once() -> None:
    dist = Normal(np.zeros(6), np.ones(6))
    by = [48_450.4, 52_000.0, 60_000.0, 60_000.0, 60_000.0, 60_000.0]
    found = calibration_by_bins(dist, np.zeros(6), by=by, bins=3)
    assert found.names == ("48,450 to 52,000", "60,000")

"""Our results beside the published figures."""

from __future__ import annotations

import pytest
from tests.experiments.records import scored, trials_of

from calibrant.experiments import check_claims, compare_with_published


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.040, 0.042, 0.041], "tie"),  # published: 0.041 with standard error 0.003
        ([0.030, 0.031, 0.032], "better"),
        ([0.060, 0.061, 0.062], "worse"),
        ([0.030, 0.050, 0.001], "tie"),  # too noisy to tell
        ([0.030], ""),  # one trial says nothing about chance
    ],
)
def test_verdict_by_standard_errors(values: list[float], verdict: str) -> None:
    (row,) = compare_with_published(trials_of("hnn", ecpe=values), ["ecpe"])
    assert row.verdict == verdict
    assert row.published.printed == "0.041"
    assert row.floor == pytest.approx(0.0102)
    assert row.trials == len(values)


def test_standard_error() -> None:
    (row,) = compare_with_published(trials_of("hnn", ecpe=[1.0, 2.0, 3.0]), ["ecpe"])
    assert (row.mean, row.std_error) == (2.0, pytest.approx(3**-0.5))


def test_rounding_of_the_paper_counts() -> None:
    """Naval RMSE is printed as 0.001: 0.0009 is no better than that."""
    rows = [scored("hnn", t, {"rmse": 0.0009}, dataset="naval") for t in range(2)]
    (row,) = compare_with_published(rows, ["rmse"])
    assert row.verdict == "tie"


def test_more_is_better_for_r2_and_widths_are_not_judged() -> None:
    rows = [
        scored("hnn", t, {"r2": 0.99 + 1e-4 * t, "epiw": 10.0 + t}, dataset="bike_sharing")
        for t in range(2)
    ]
    epiw, r2 = compare_with_published(rows, ["epiw", "r2"])
    assert r2.verdict == "better"
    assert epiw.verdict == "narrower"


def test_rse_follows_another_formula_than_the_published_values() -> None:
    rows = [scored("hnn", t, {"rse": 0.1 + t}, dataset="bike_sharing") for t in range(2)]
    (row,) = compare_with_published(rows, ["rse"])
    assert row.published is not None
    assert row.verdict == ""


def test_missing_scores_are_left_out() -> None:
    nothing = trials_of("mmd", rmse=[None, 1.0]) + trials_of("hnn", rmse=[1.0, None])
    assert check_claims(nothing) == []
    assert compare_with_published([scored("hnn", 0, {})], ["rmse", "ecpe"]) == []

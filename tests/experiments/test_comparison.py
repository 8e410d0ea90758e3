from __future__ import annotations

import csv
import io

import pytest

from calibrant.experiments import (
    check_claims,
    claims_summary,
    claims_table,
    compare_with_published,
    comparison_table,
    depth_table,
)

Scores = dict[str, float]


def record(method: str, trial: int, scores: Scores, *, dataset: str = "wine") -> dict[str, object]:
    return {
        "cell": {"protocol": "published", "dataset": dataset, "method": method, "trial": trial},
        "scores": scores,
        "floor": {"ecpe": 0.0102, "mcpe": 0.0259},
        "rows": {"train": 80, "test": 20},
    }


def records(method: str, **values: list[float]) -> list[dict[str, object]]:
    trials = range(len(next(iter(values.values()))))
    return [
        record(method, t, {k: v[t] for k, v in values.items() if v[t] is not None}) for t in trials
    ]


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
    (row,) = compare_with_published(records("hnn", ecpe=values), ["ecpe"])
    assert row.verdict == verdict
    assert row.published.printed == "0.041"
    assert row.floor == pytest.approx(0.0102)
    assert row.trials == len(values)


def test_standard_error() -> None:
    (row,) = compare_with_published(records("hnn", ecpe=[1.0, 2.0, 3.0]), ["ecpe"])
    assert (row.mean, row.std_error) == (2.0, pytest.approx(3**-0.5))


def test_rounding_of_the_paper_counts() -> None:
    """Naval RMSE is printed as 0.001: 0.0009 is no better than that."""
    rows = [record("hnn", t, {"rmse": 0.0009}, dataset="naval") for t in range(2)]
    (row,) = compare_with_published(rows, ["rmse"])
    assert row.verdict == "tie"


def test_more_is_better_for_r2_and_widths_are_not_judged() -> None:
    rows = [
        record("hnn", t, {"r2": 0.99 + 1e-4 * t, "epiw": 10.0 + t}, dataset="bike_sharing")
        for t in range(2)
    ]
    epiw, r2 = compare_with_published(rows, ["epiw", "r2"])
    assert r2.verdict == "better"
    assert epiw.verdict == "narrower"


def test_rse_follows_another_formula_than_the_published_values() -> None:
    rows = [record("hnn", t, {"rse": 0.1 + t}, dataset="bike_sharing") for t in range(2)]
    (row,) = compare_with_published(rows, ["rse"])
    assert row.published is not None
    assert row.verdict == ""


def test_missing_scores_are_left_out() -> None:
    nothing = records("mmd", rmse=[None, 1.0]) + records("hnn", rmse=[1.0, None])
    assert check_claims(nothing) == []
    assert compare_with_published([record("hnn", 0, {})], ["rmse", "ecpe"]) == []


def test_tables_keep_digits_and_cut_nothing() -> None:
    rows = compare_with_published(
        records("mmd-as-published", ecpe=[0.3, 0.31], crps=[0.4, 0.5]), ["ecpe", "crps"]
    )
    text = comparison_table(rows)
    assert "mmd-as-published" in text
    assert " 0.008 " in text
    assert "0.002" in text
    assert "0.0102" in text
    assert "…" not in text
    parsed = list(csv.DictReader(io.StringIO(comparison_table(rows, "csv"))))
    assert parsed[0]["published"] == "0.008"
    assert parsed[0]["verdict"] == "worse"
    assert parsed[1]["published"] == parsed[1]["verdict"] == ""
    markdown = comparison_table(rows, "markdown").splitlines()
    assert len({line.count("|") for line in markdown}) == 1
    assert markdown[1].startswith("| --- |")


def test_claims_are_paired_by_trial() -> None:
    noise = [0.0, 0.1, 0.2]  # of the splits, which all methods share
    found = check_claims(
        records("mmd", ecpe=[0.01 + e for e in noise], mcpe=[0.1] * 3, rmse=[1.0, 1.1, 1.2])
        + records("hnn", ecpe=[0.03 + e for e in noise], mcpe=[0.05] * 3, rmse=[1.1, 1.0, 1.2])
        + records("ell", ecpe=[0.02 + e for e in noise], mcpe=[0.2] * 3, rmse=[2.0] * 3)
        + records("mcd", ecpe=[0.9], mcpe=[0.9], rmse=[0.9])
    )
    assert [(f.claim.metric, f.answer, f.rival) for f in found] == [
        ("ecpe", "holds", "ell"),
        ("mcpe", "fails", "hnn"),
        ("rmse", "holds", "hnn"),
    ]
    assert found[0].difference == pytest.approx(-0.01)
    assert "fails" in claims_table(found)
    assert claims_table(found, "markdown").count("\n") == 5


def test_every_baseline_must_be_beaten() -> None:
    """The best baseline is clearly beaten, but a noisier one can't be told apart."""
    (found,) = check_claims(
        records("mmd", ecpe=[0.01, 0.011, 0.012])
        + records("hnn", ecpe=[0.02, 0.021, 0.022])
        + records("ell", ecpe=[0.0, 0.06, 0.03])
        + records("ngboost", ecpe=[0.0, 0.0, 0.0])  # not in the paper: no part of its claim
    )
    assert (found.answer, found.rival, found.baselines) == ("tie", "ell", 2)
    title, _, line = claims_summary([found]).splitlines()
    assert title == "published, calibration (ECPE) better than all baselines"
    assert line.split() == ["mmd", "0", "1", "0", "2"]


def test_an_unclear_difference_is_a_tie() -> None:
    (found,) = check_claims(
        records("mmd", ecpe=[0.01, 0.03], mcpe=[1.0, 1.0], rmse=[1.0, 1.0])
        + records("hnn", ecpe=[0.02, 0.02], mcpe=[1.0, 1.0], rmse=[1.0, 1.0])
    )[:1]
    assert found.answer == "tie"


def test_a_method_does_not_compete_with_itself() -> None:
    both = records("mmd", ecpe=[0.1, 0.2]) + records("mmd-as-published", ecpe=[0.0, 0.0])
    assert check_claims(both) == []


def test_depth_study_has_its_own_table() -> None:
    deep = records("mmd-depth3", ecpe=[0.01, 0.03], mcpe=[0.1, 0.1], rmse=[1.0, 1.0])
    for found in deep:
        found["seconds"] = {"fit": 2.0}
    assert compare_with_published(deep) == check_claims(deep) == []
    title, _, line = depth_table(deep).splitlines()
    assert title == "published"
    assert line.split() == ["mmd", "3", "2", "0.0200", "0.01", "0.0102", "2.0"]
    assert depth_table(records("mmd", ecpe=[0.01])) == ""

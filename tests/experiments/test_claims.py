"""Which claims of the paper hold in some results."""

from __future__ import annotations

import pytest
from tests.experiments.records import trials_of

from calibrant.experiments import check_claims, claims_summary, claims_table


def test_claims_are_paired_by_trial() -> None:
    noise = [0.0, 0.1, 0.2]  # of the splits, which all methods share
    found = check_claims(
        trials_of("mmd", ecpe=[0.01 + e for e in noise], mcpe=[0.1] * 3, rmse=[1.0, 1.1, 1.2])
        + trials_of("hnn", ecpe=[0.03 + e for e in noise], mcpe=[0.05] * 3, rmse=[1.1, 1.0, 1.2])
        + trials_of("ell", ecpe=[0.02 + e for e in noise], mcpe=[0.2] * 3, rmse=[2.0] * 3)
        + trials_of("mcd", ecpe=[0.9], mcpe=[0.9], rmse=[0.9])
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
        trials_of("mmd", ecpe=[0.01, 0.011, 0.012])
        + trials_of("hnn", ecpe=[0.02, 0.021, 0.022])
        + trials_of("ell", ecpe=[0.0, 0.06, 0.03])
        + trials_of("ngboost", ecpe=[0.0, 0.0, 0.0])  # not in the paper: no part of its claim
    )
    assert (found.answer, found.rival, found.baselines) == ("tie", "ell", 2)
    title, _, line = claims_summary([found]).splitlines()
    assert title == "published, calibration (ECPE) better than all baselines"
    assert line.split() == ["mmd", "0", "1", "0", "2"]


def test_an_unclear_difference_is_a_tie() -> None:
    (found,) = check_claims(
        trials_of("mmd", ecpe=[0.01, 0.03], mcpe=[1.0, 1.0], rmse=[1.0, 1.0])
        + trials_of("hnn", ecpe=[0.02, 0.02], mcpe=[1.0, 1.0], rmse=[1.0, 1.0])
    )[:1]
    assert found.answer == "tie"


def test_a_method_does_not_compete_with_itself() -> None:
    both = trials_of("mmd", ecpe=[0.1, 0.2]) + trials_of("mmd-as-published", ecpe=[0.0, 0.0])
    assert check_claims(both) == []

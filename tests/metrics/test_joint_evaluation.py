from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibrant.distributions import JointDistribution, Normal
from calibrant.errors import DataError
from calibrant.metrics import energy_score, evaluate

TRUE = np.array([[1.0, 0.8], [0.8, 1.0]])
N = 600


def forecast() -> tuple[JointDistribution, pd.DataFrame]:
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(N, 2)) * [3.0, 300.0]
    Y = centre + rng.multivariate_normal([0, 0], TRUE, size=N) * [1.0, 100.0]
    parts = [Normal(centre[:, j], np.full(N, scale)) for j, scale in enumerate([1.0, 100.0])]
    return JointDistribution(parts, TRUE, names=["co", "nox"]), pd.DataFrame(
        Y, columns=["co", "nox"]
    )


def test_every_output_their_mean_and_the_joint_scores() -> None:
    dist, Y = forecast()
    result = evaluate(dist, Y)
    alone = evaluate(dist.marginal("nox"), Y["nox"])
    assert result.outputs["nox"].metrics == alone.metrics
    assert result.mean["ecpe"] == pytest.approx(np.mean([e.ecpe for e in result.outputs.values()]))
    score = result.energy_score
    unit = Y.to_numpy().std(axis=0)
    direct = energy_score(dist.sample(100, random_state=9), Y, scale=unit)
    assert score.value == pytest.approx(direct.mean(), abs=4 * direct.std() / np.sqrt(N))
    assert score.value < score.independent - 2 * score.difference_error


def test_columns_of_a_frame_are_found_by_name() -> None:
    dist, Y = forecast()
    assert evaluate(dist, Y[["nox", "co"]]).to_dict() == evaluate(dist, Y.to_numpy()).to_dict()


def test_printed_in_80_columns_and_as_json() -> None:
    dist, Y = forecast()
    text = str(evaluate(dist, Y))
    assert "Evaluation of 2 outputs on 600 rows" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "better, +" in text
    mean = next(line for line in text.splitlines() if line.startswith("mean"))
    assert len(mean.split()) == 4  # ECPE, coverage and R2: means of the others would mix units
    read = json.loads(evaluate(dist, Y).to_json())
    assert set(read) == {"n", "outputs", "mean", "energy_score", "variogram_score"}


def test_independent_outputs_are_within_noise() -> None:
    dist, _ = forecast()
    apart = dist.independent()
    Y = apart.sample(1, random_state=0)[:, 0]
    assert "within noise" in str(evaluate(apart, Y).energy_score)


def test_a_constant_output_leaves_no_joint_score() -> None:
    dist, Y = forecast()
    assert evaluate(dist, Y.assign(co=1.0)).to_dict()["energy_score"]["value"] is None


def test_wrong_targets() -> None:
    dist, Y = forecast()
    with pytest.raises(DataError, match="Y has no column 'nox'"):
        evaluate(dist, Y[["co"]])
    with pytest.raises(DataError, match=r"Y must have shape \(600, 2\), one column for each of"):
        evaluate(dist, Y["co"])

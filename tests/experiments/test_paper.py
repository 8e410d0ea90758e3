from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from calibrant.errors import ParameterError
from calibrant.experiments import METHODS, TASKS, Cell, PaperExperiment, Store, plan
from calibrant.experiments.methods import missing_packages

PAPER = PaperExperiment()
TOGETHER = [key for key in METHODS if METHODS[key].batched and METHODS[key].role != "rival"]


def test_plan() -> None:
    cells = plan(TASKS, METHODS, 5, "published")
    assert len(cells) == len(set(cells)) == 9 * len(METHODS) * 5
    assert cells[0] == Cell("published", "power_plant", "mcd", 0)
    assert plan(["wine"], ["hnn"], 1, "honest", quick=True)[0].protocol == "honest-quick"
    later = plan(["wine"], ["hnn"], 2, "shuffled", first_trial=100)
    assert [cell.trial for cell in later] == [100, 101]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["wines"], ["hnn"], 1, "honest"), "Unknown task 'wines'"),
        ((["wine"], ["nhn"], 1, "honest"), "Unknown method 'nhn'. The known ones are: mcd, hnn"),
        ((["wine"], ["hnn"], 0, "honest"), "trials must be at least 1"),
        ((["wine"], ["hnn"], 1, "fair"), "protocol must be one of published, shuffled, small"),
    ],
)
def test_bad_plans(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        plan(*arguments)


@pytest.mark.slow
@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("protocol", "dataset"), [("honest", "wine"), ("published", "pm25")])
def test_every_method_runs(protocol: str, dataset: str, method: str, tmp_path: Path) -> None:
    if absent := missing_packages(METHODS[method]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    cell = Cell(f"{protocol}-quick", dataset, method, 0)
    (record,) = PAPER.run([cell], "cpu")
    Store(tmp_path).write(cell, record)  # plain JSON values
    assert record["rows"]["train"] + record["rows"]["test"] == (200 if dataset == "wine" else 195)
    assert record["settings"] == PAPER.settings(cell)
    assert record["scores"]["ecpe"] == pytest.approx(
        np.abs(np.array(record["covered"]) - np.arange(1, 100) / 100).mean(), abs=1e-5
    )
    assert record["floor"]["ecpe"] == pytest.approx(
        0.316 / math.sqrt(record["rows"]["test"]), rel=0.05
    )
    assert record["attainable_floor"]["ecpe"] > record["floor"]["ecpe"]
    for found in record["deciles"].values():  # ten bins of a tenth of the rows
        assert record["floor"]["ecpe"] < found["floor"] < 4 * record["floor"]["ecpe"]
        assert found["ecpe"] > 0
    drawn = record["intervals"]
    assert drawn["position"] == sorted(drawn["position"])
    assert {len(values) for values in drawn.values()} == {min(150, record["rows"]["test"])}
    assert all(low <= high for low, high in zip(drawn["lower"], drawn["upper"], strict=True))
    if dataset == "pm25":  # the target of the stand-in is its position; a window ends before it
        assert drawn["y"] == [position + 1 for position in drawn["position"]]
    assert record["seconds"]["fit"] > 0
    assert record["versions"]["torch"]
    assert record["commit"]
    assert record["machine"]["device"] == "cpu"


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("method", ["hnn", "lightgbm-crepes"])
def test_same_seed_same_scores(method: str) -> None:
    if absent := missing_packages(METHODS[method]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    cell = Cell("honest-quick", "wine", method, 1)
    one, two = (PAPER.run([cell], "cpu")[0] for _ in range(2))
    assert one["scores"] == two["scores"]
    (other,) = PAPER.run([Cell("honest-quick", "wine", method, 2)], "cpu")
    assert one["scores"] != other["scores"]


@pytest.mark.slow
@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("method", TOGETHER)
@pytest.mark.parametrize(("protocol", "dataset"), [("published", "wine"), ("honest", "pm25")])
def test_trials_run_together_as_they_run_alone(protocol: str, dataset: str, method: str) -> None:
    """Same splits, same seeds: where training draws nothing, so are the scores."""
    cells = [Cell(f"{protocol}-quick", dataset, method, trial) for trial in range(2)]
    both = PAPER.run(cells, "cpu")
    for cell, record in zip(cells, both, strict=True):
        (alone,) = PAPER.run([cell], "cpu")
        assert (alone["together"], record["together"]) == (1, 2)
        for same in ("settings", "seed", "rows", "attainable_floor"):
            assert record[same] == alone[same]
        if record["settings"]["dropout"] == 0.0 and method != "mmd-as-published":  # which samples
            assert record["scores"] == pytest.approx(alone["scores"], rel=1e-3, abs=1e-3)
        assert ("intervals" in record) == (cell.trial == 0)
    assert both[0]["seconds"]["fit"] == both[1]["seconds"]["fit"]
    assert both[0]["scores"] != both[1]["scores"]

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from calibrant.errors import ParameterError
from calibrant.experiments import (
    DEPTH_STUDY,
    METHODS,
    TASKS,
    Cell,
    PaperExperiment,
    Store,
    installed,
    missing,
    plan,
    run_cells,
    runner,
)
from calibrant.experiments.methods import PAPER_METHODS, build, missing_packages, settings_of

PAPER = PaperExperiment()
NETWORKS = [key for key in METHODS if METHODS[key].role != "rival"]


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


@pytest.mark.parametrize("key", NETWORKS)
def test_settings_of_the_paper(key: str) -> None:
    table = build(METHODS[key], "published", series=False)
    series = build(METHODS[key], "published", series=True)
    assert table.network == "mlp"
    assert series.network == ("mlp" if key == "dgp" else "lstm")
    if METHODS[key].published or key == "mmd-as-published":
        assert (table.lr, table.weight_decay, table.scaling) == (1e-4, 1e-3, "minmax")
    assert build(METHODS[key], "honest", series=False, quick=True).epochs == 2


def test_library_defaults_are_the_honest_settings() -> None:
    from calibrant import HeteroscedasticRegressor, MMDRegressor

    for protocol in ("published", "honest"):
        assert settings_of(build(PAPER_METHODS["mmd"], protocol, series=False)) == settings_of(
            MMDRegressor()
        )
    honest = settings_of(build(PAPER_METHODS["hnn"], "honest", series=False))
    assert honest == settings_of(HeteroscedasticRegressor())


def test_settings_are_those_that_none_stands_for() -> None:
    default, best = (
        settings_of(build(METHODS[k], "honest", series=False)) for k in ("mmd", "mmd-best")
    )
    assert (default["members"], default["cross_fit"]) == (1, 0)
    fast = settings_of(build(PAPER_METHODS["mmd-fast"], "honest", series=False))
    assert fast["matching_epochs"] < default["matching_epochs"]
    assert (best["members"], best["cross_fit"], best["quality"]) == (2, 4, "best")
    series = settings_of(build(PAPER_METHODS["mmd"], "honest", series=True))
    assert (default["dropout"], series["dropout"]) == (0.0, 0.1)


def test_depth_study() -> None:
    assert len(DEPTH_STUDY) == 20
    assert len(build(PAPER_METHODS["mmd-depth4"], "honest", series=False).hidden) == 4
    assert build(PAPER_METHODS["dgp-depth3"], "published", series=False).hidden_layers == 3
    assert build(PAPER_METHODS["dgp-depth3"], "honest", series=False, quick=True).hidden_layers == 3
    assert PAPER.settings(Cell("published", "wine", "ell-depth1", 0))["hidden"] == [256]


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


TOGETHER = [key for key in NETWORKS if METHODS[key].batched]


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


def test_what_is_batched() -> None:
    assert set(METHODS) - set(TOGETHER) == {"dgp"} | {
        key for key in METHODS if METHODS[key].role == "rival"
    }


class Spy:
    """An experiment that notes which cells it is asked for at once."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def settings(self, cell: Cell) -> dict[str, object]:
        return {}

    def batched(self, cell: Cell) -> bool:
        return METHODS[cell.method].batched

    def run(self, cells: Sequence[Cell], device: str) -> list[dict[str, object]]:
        self.asked.append(tuple(f"{cell.method}/{cell.trial}" for cell in cells))
        return [{"settings": {}, "seconds": {"fit": 1.5}} for _ in cells]


def spied(tmp_path: Path, methods: list[str], **options: object) -> list[tuple[str, ...]]:
    spy, cells = Spy(), plan(["wine"], methods, 3, "honest")
    run_cells(cells, Store(tmp_path), spy, engine="serial", **options)
    return spy.asked


def test_trials_of_a_method_are_one_batch_if_asked(tmp_path: Path) -> None:
    methods = ["hnn", "dgp", "mmd"]
    with Store(tmp_path).claim(Cell("honest", "wine", "mmd", 1)):  # somebody else has this one
        asked = spied(tmp_path, methods, device="cpu", together=3)
    assert asked == [
        ("hnn/0", "hnn/1", "hnn/2"),
        ("dgp/0",),
        ("mmd/0", "mmd/2"),
        ("dgp/1",),
        ("dgp/2",),
    ]
    assert spied(tmp_path, methods, device="cpu", together=3) == [("mmd/1",)]


def test_a_gpu_decides_for_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(spied(tmp_path / "cpu", ["hnn"], device="cpu")) == 3
    monkeypatch.setattr("calibrant.training.resolve_device", lambda name: torch.device("cuda"))
    assert spied(tmp_path / "gpu", ["hnn"], device="auto") == [("hnn/0", "hnn/1", "hnn/2")]
    assert len(spied(tmp_path / "apart", ["hnn"], device="auto", together=1)) == 3


def test_a_batch_has_no_more_trials_than_asked_for(tmp_path: Path) -> None:
    asked = spied(tmp_path, ["hnn"], device="cpu", together=2)
    assert asked == [("hnn/0", "hnn/1"), ("hnn/2",)]


def test_nothing_is_started_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 30.0, 59.0, 61.0])  # the call, then before each of three batches
    monkeypatch.setattr(runner.time, "monotonic", lambda: next(clock))
    options = {"device": "cpu", "together": 3, "minutes": 1.0}
    assert spied(tmp_path, ["mcd", "hnn", "ell"], **options) == [
        ("mcd/0", "mcd/1", "mcd/2"),
        ("hnn/0", "hnn/1", "hnn/2"),
    ]
    assert len(Store(tmp_path).cells()) == 6


def run_serially(cells: list[Cell], folder: Path) -> list[tuple[str, str]]:
    outcomes = run_cells(cells, Store(folder), PAPER, device="cpu", engine="serial")
    return [(outcome.status, outcome.message) for outcome in outcomes]


@pytest.mark.usefixtures("stand_ins")
def test_cells_are_claimed_written_and_not_repeated(tmp_path: Path) -> None:
    store, cell = Store(tmp_path), Cell("honest-quick", "wine", "hnn", 0)
    with store.claim(cell):
        assert run_serially([cell], tmp_path) == [("busy", "")]
    assert missing([cell], store, PAPER) == [cell]
    assert run_serially([cell], tmp_path) == [("done", "")]
    assert missing([cell], store, PAPER) == []
    written = store.path(cell).stat().st_mtime_ns
    assert run_serially([cell], tmp_path) == [("done", "")]
    assert store.path(cell).stat().st_mtime_ns == written
    with store.claim(cell) as mine:  # nothing stays claimed
        assert mine


@pytest.mark.usefixtures("stand_ins")
def test_other_settings_are_run_again(tmp_path: Path) -> None:
    store, cell = Store(tmp_path), Cell("honest-quick", "wine", "hnn", 0)
    run_serially([cell], tmp_path)
    record = store.read(cell)
    record["settings"]["lr"] = 1.0
    store.write(cell, {key: record[key] for key in record if key not in ("cell",)})
    assert missing([cell], store, PAPER) == [cell]


def test_a_failure_is_told_and_stored_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(PaperExperiment, "run", fail)
    cells = [Cell("honest", "wine", "hnn", 0), Cell("honest", "wine", "mmd", 0)]
    assert run_serially(cells, tmp_path) == [("failed", "ZeroDivisionError: no")] * 2
    assert Store(tmp_path).cells() == []


def test_a_cell_whose_process_dies_twice_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        runner, "run_in_processes", lambda work, cells, workers: ((cell, None) for cell in cells)
    )
    cell = Cell("honest", "wine", "hnn", 0)
    (outcome,) = run_cells([cell], Store(tmp_path), PAPER, workers=1)
    assert (outcome.status, outcome.message) == ("failed", "its process was killed twice")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "dask"}, "engine must be one of serial, processes, ray; got 'dask'"),
        ({"address": "auto"}, "address names a Ray cluster, but the engine is 'processes'"),
    ],
)
def test_bad_engines(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        run_cells([], Store(tmp_path), PAPER, **options)


def test_methods_without_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.experiments.methods.find_spec", lambda name: None)
    assert "hnn" in installed(METHODS)
    assert not {"dgp", "ngboost", "lightgbm-crepes"} & set(installed(METHODS))
    assert missing_packages(METHODS["quantile-forest"]) == ["quantile-forest"]


def test_workers_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.os, "sched_getaffinity", lambda _: range(16), raising=False)
    monkeypatch.setattr(runner, "_free_bytes", lambda: 4.6e9)
    assert runner.default_workers("cpu") == 3
    monkeypatch.setattr(runner, "_free_bytes", lambda: 1e8)
    assert runner.default_workers("cpu") == 1
    monkeypatch.setattr(runner, "_free_bytes", lambda: 1e12)
    assert runner.default_workers("cpu") == 16

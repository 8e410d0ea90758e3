from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from calibrant.errors import ParameterError
from calibrant.experiments import (
    METHODS,
    Cell,
    PaperExperiment,
    Store,
    missing,
    plan,
    run_cells,
    runner,
)

PAPER = PaperExperiment()


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
    def dying(work: Any, cells: Any) -> Any:
        yield from ((cell, None) for cell in cells)

    monkeypatch.setattr(runner, "make_engine", lambda *args, **options: dying)
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

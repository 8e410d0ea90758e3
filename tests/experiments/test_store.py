from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calibrant.errors import DataError, MissingFileError, ParameterError
from calibrant.experiments.store import Cell, Store

CELL = Cell("honest", "wine", "hnn", 0)
RECORD = {"seed": 3, "scores": {"ecpe": 0.02, "rmse": 0.7}, "coverage": [0.1, 0.9]}


def test_round_trip(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    assert store.read(CELL) is None
    store.write(CELL, RECORD)
    assert store.read(CELL) == {
        "format_version": 1,
        "cell": {"protocol": "honest", "dataset": "wine", "method": "hnn", "trial": 0},
        **RECORD,
    }
    assert store.cells() == [CELL]
    assert [path.name for path in store.path(CELL).parent.iterdir()] == ["0.json"]


def test_cells_are_sorted_by_number(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for trial in (10, 2):
        store.write(Cell("honest", "wine", "hnn", trial), RECORD)
    assert [cell.trial for cell in store.cells()] == [2, 10]


def test_a_failed_write_leaves_the_old_result(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(CELL, RECORD)
    with pytest.raises(ValueError, match="JSON"):
        store.write(CELL, {"scores": {"ecpe": float("nan")}})
    assert store.read(CELL)["scores"] == RECORD["scores"]
    assert len(list(tmp_path.rglob("*.*"))) == 1


def test_damage_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(CELL, RECORD)
    store.path(CELL).write_text("{")
    with pytest.raises(DataError, match=r"0.json is not a result.*Remove it"):
        store.records()
    store.path(CELL).write_text(json.dumps({"format_version": 99}))
    with pytest.raises(DataError, match="has format 99"):
        store.read(CELL)


@pytest.mark.parametrize("name", ["..", "a/b", "", ".hidden", "a\\b"])
def test_names_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="must not be empty, start with a dot"):
        Store(tmp_path).write(Cell("honest", name, "hnn", 0), RECORD)
    assert not list(tmp_path.iterdir())


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no folder"):
        Store(tmp_path / "none").records()


def test_a_claim_excludes_others_until_it_ends(tmp_path: Path) -> None:
    store, other = Store(tmp_path), Store(tmp_path)
    with store.claim(CELL) as mine:
        assert mine
        with other.claim(CELL) as theirs:
            assert not theirs
        with other.claim(Cell("honest", "wine", "hnn", 1)) as another:
            assert another
    with other.claim(CELL) as theirs:
        assert theirs


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
def test_a_killed_process_claims_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, time; from calibrant.experiments.store import Cell, Store\n"
        "with Store(sys.argv[1]).claim(Cell('honest', 'wine', 'hnn', 0)) as mine:\n"
        "    print(mine, flush=True); time.sleep(60)"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "True\n"
    with Store(tmp_path).claim(CELL) as mine:
        assert not mine
    started.send_signal(signal.SIGKILL)
    started.communicate()
    with Store(tmp_path).claim(CELL) as mine:
        assert mine


def _write_often(folder: str, value: int) -> None:
    store = Store(folder)
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        store.write(CELL, {"value": value, "filler": [value] * 2000})


def test_two_writers_never_spoil_a_result(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork" if os.name != "nt" else "spawn")
    writers = [spawn.Process(target=_write_often, args=(str(tmp_path), i)) for i in (1, 2)]
    for writer in writers:
        writer.start()
    store, seen = Store(tmp_path), set()
    while any(writer.is_alive() for writer in writers):
        record = store.read(CELL)
        if record is not None:
            assert set(record["filler"]) == {record["value"]}
            seen.add(record["value"])
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen == {1, 2}

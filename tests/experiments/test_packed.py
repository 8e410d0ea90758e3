from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calibrant.errors import DataError, MissingFileError, ParameterError
from calibrant.experiments import Cell, Store, add_to_store, joined, pack, read_results, unpack

CELL = Cell("honest", "wine", "hnn", 0)


def stored(folder: Path, cell: Cell = CELL, finished: str = "2026-01-01", **more: Any) -> Store:
    record = {
        "scores": {"ecpe": 0.02},
        "settings": {"lr": 1e-4, "hidden": [256, 256], "beta": 0.123456789},
        "covered": [0.1, 0.9],
        "finished": finished,
    }
    store = Store(folder)
    store.write(cell, record | more)
    return store


def test_packed_results_come_back(tmp_path: Path) -> None:
    store = stored(tmp_path / "a")
    stored(tmp_path / "a", Cell("honest", "wine", "mmd", 10), intervals={"y": [1, 2.5]})
    stored(tmp_path / "a", Cell("honest", "wine", "mmd", 2))
    pack(store.records(), tmp_path / "all.parquet")
    assert unpack(tmp_path / "all.parquet") == store.records()
    assert read_results(tmp_path / "all.parquet") == read_results(tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "all.parquet"]


def test_other_programs_read_a_flat_table(tmp_path: Path) -> None:
    pack(stored(tmp_path / "a").records(), tmp_path / "all.parquet")
    frame = pd.read_parquet(tmp_path / "all.parquet")
    assert list(frame["method"]) == ["hnn"]
    assert list(frame["scores.ecpe"]) == [0.02]
    assert json.loads(frame["covered"].iloc[0]) == [0.1, 0.9]


def test_measured_values_keep_six_digits_and_settings_all(tmp_path: Path) -> None:
    store = stored(tmp_path / "a", scores={"ecpe": 0.0123456789, "rmse": 1234567.8})
    pack(store.records(), tmp_path / "all.parquet")
    (record,) = unpack(tmp_path / "all.parquet")
    assert record["scores"] == {"ecpe": 0.0123457, "rmse": 1234570.0}
    assert record["settings"]["beta"] == 0.123456789


def test_of_two_results_the_newer_counts(tmp_path: Path) -> None:
    other = Cell("honest", "wine", "hnn", 1)
    old, new = (
        stored(tmp_path / "old", seed=1),
        stored(tmp_path / "new", CELL, "2026-01-02", seed=2),
    )
    stored(tmp_path / "old", other, seed=3)
    for parts in ([old, new], [new, old]):
        records = joined(store.records() for store in parts)
        assert [record["seed"] for record in records] == [2, 3]
    assert add_to_store(new.records(), old) == 1
    assert add_to_store(records, old) == 0
    assert [record["seed"] for record in old.records()] == [2, 3]


def test_an_older_result_replaces_none(tmp_path: Path) -> None:
    old, new = (
        stored(tmp_path / "old", seed=1),
        stored(tmp_path / "new", CELL, "2026-01-02", seed=2),
    )
    assert add_to_store(old.records(), new) == 0
    assert new.read(CELL)["seed"] == 2


def test_files_that_are_no_packed_results(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no file .*none.parquet"):
        read_results(tmp_path / "none.parquet")
    with pytest.raises(ParameterError, match=r"must end in .parquet"):
        pack([], tmp_path / "all.csv")
    (tmp_path / "text.parquet").write_text("a,b")
    pd.DataFrame({"y": [1.0]}).to_parquet(tmp_path / "table.parquet")
    for name in ("text", "table"):
        with pytest.raises(DataError, match=f"{name}.parquet has no packed results"):
            unpack(tmp_path / f"{name}.parquet")

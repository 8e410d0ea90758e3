from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import DataError, MissingFileError
from calibrant.experiments import Cell, Store
from calibrant.experiments.archive import read_archive, take_in, write_archive


def record(trial: int, method: str = "hnn") -> dict[str, Any]:
    return {
        "format_version": 1,
        "cell": {"protocol": "shuffled", "dataset": "wine", "method": method, "trial": trial},
        "scores": {"ecpe": 0.0123456789 + trial, "nll": None},
        "settings": {"hidden": [256, 256], "quality": "best"},
        "machine": {"device": "cpu"},
        "covered": [0.1] * 99,
        "finished": f"2026-01-02T03:04:0{trial}+00:00",
    }


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.jsonl"
    write_archive([record(2), record(0, "mmd"), record(1)], path)
    lines = path.read_text().splitlines()
    assert len(lines) == 2  # a line a method
    assert lines[0].count("best") == 1  # what trials share stands once
    found = read_archive(path)
    assert [(r["cell"]["method"], r["cell"]["trial"]) for r in found] == [
        ("hnn", 1),
        ("hnn", 2),
        ("mmd", 0),
    ]
    assert found[1]["scores"] == {"ecpe": 2.01235, "nll": None}
    assert found[1]["settings"] == record(2)["settings"]
    assert found[1]["finished"] == "2026-01-02"
    assert "covered" not in found[1]
    again = tmp_path / "again.jsonl"
    write_archive(found, again)
    assert again.read_text() == path.read_text()


def test_into_a_store_and_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert take_in([record(0), record(1)], store) == 2
    assert store.read(Cell("shuffled", "wine", "hnn", 1))["settings"] == record(1)["settings"]
    write_archive(store.records(), tmp_path / "runs.jsonl")
    assert len(read_archive(tmp_path / "runs.jsonl")) == 2


def test_complaints(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no archive of results at"):
        read_archive(tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"trial": [0]}\n')
    with pytest.raises(DataError, match="not an archive of results"):
        read_archive(tmp_path / "bad.jsonl")

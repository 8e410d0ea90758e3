"""``calibrant datasets``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from calibrant.datasets import names


@pytest.fixture(autouse=True)
def empty_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    monkeypatch.setenv("CALIBRANT_CACHE", str(tmp_path / "cache"))


def test_list_fits_into_80_columns(run) -> None:
    done = run("datasets")
    assert done.exit_code == 0
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["name", "variant", "rows", "columns", "task", "licence", "at", "hand"]
    assert {line.split()[0] for line in lines} == set(names())
    assert len(lines) == len(names()) + 5
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    (wine,) = (line for line in lines if line.startswith("wine"))
    assert wine.split() == [
        *("wine", "raw", "4898", "12", "regression"),
        *("CC", "BY", "4.0", "no"),
    ]


def test_json(run) -> None:
    entries = json.loads(run("datasets", "--json").stdout)
    assert [entry["name"] for entry in entries if entry["variant"] == "raw"] == names()
    by_name = {entry["name"]: entry for entry in entries if entry["variant"] == "raw"}
    assert by_name["diabetes"]["at_hand"]
    assert not by_name["wine"]["at_hand"]
    assert len(by_name["wine"]["checksum"]) == 64


def test_one_entry(run) -> None:
    done = run("datasets", "bike_sharing")
    assert done.stdout.count("bike_sharing\nvariant") == 2
    for part in ("Fanaee-T, Gama (2014)", "CC BY 4.0", "AGPL-3.0", "casual and registered"):
        assert part in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_unknown_entry(run) -> None:
    done = run("datasets", "wines")
    assert done.exit_code == 2
    assert "Did you mean 'wine'?" in done.stderr


def test_folder_that_is_not_there(run, tmp_path: Path) -> None:
    done = run("datasets", "--data", tmp_path / "none")
    assert done.exit_code == 2
    assert "which data_dir names" in done.stderr


DATA = os.environ.get("CALIBRANT_DATA", "")


@pytest.mark.skipif(not DATA, reason="CALIBRANT_DATA is not set: it names the data folder")
def test_all_at_hand(run) -> None:
    entries = json.loads(run("datasets", "--json", "--data", DATA).stdout)
    assert all(entry["at_hand"] for entry in entries)

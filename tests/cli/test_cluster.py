"""The options of a Ray cluster that need none to be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.cli._cluster import is_parquet, storage_path
from calibrant.errors import ParameterError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--address", "auto"], "--address names a Ray cluster, but --engine is local"),
        (["--engine", "spark"], "'spark' is not one of 'local', 'ray'"),
    ],
)
def test_options_of_fit(run, data, tmp_path, options, said) -> None:
    found = run("fit", data / "table.csv", "--target", "price", "--out", tmp_path / "m", *options)
    assert found.exit_code == 2
    assert said in found.stderr


def test_options_that_only_tables_in_memory_have(run, data, tmp_path) -> None:
    options = ["--groups", "shop", "--engine", "ray", "--out", tmp_path / "m"]
    found = run("fit", data / "table.parquet", "--target", "price", *options)
    assert found.exit_code == 2
    assert "--groups can't be used with --engine ray and Parquet files" in found.stderr


def test_an_unreachable_address_fails_at_once(run, data, tmp_path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: extra ray")
    where = ["--engine", "ray", "--address", "127.0.0.1:9", "--storage", tmp_path]
    found = run("fit", data / "table.csv", "--target", "price", "--out", tmp_path / "m", *where)
    assert found.exit_code == 2
    assert "Cannot connect to a Ray cluster at '127.0.0.1:9'" in found.stderr


def test_options_of_predict(run, model, data, tmp_path) -> None:
    found = run("predict", model, tmp_path, "--engine", "ray")
    assert "pass --out with the name of a new folder" in found.stderr
    found = run("predict", model, data / "table.csv", "--engine", "ray", "--out", tmp_path / "out")
    assert "--engine ray reads Parquet files" in found.stderr


def test_parquet_files(tmp_path) -> None:
    assert is_parquet(tmp_path)
    assert is_parquet(tmp_path / "*.parquet")
    assert not is_parquet(tmp_path / "a.csv")
    assert is_parquet(Path("s3://bucket/table"))


def test_where_checkpoints_are_stored(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert storage_path("runs") == str(tmp_path / "runs")
    assert storage_path("gs://bucket/runs") == "gs://bucket/runs"
    assert storage_path("memory://bucket/runs") == "fsspec+memory://bucket/runs"
    with pytest.raises(ParameterError, match=r"--storage nowhere://a can't be used: .*nowhere"):
        storage_path("nowhere://a")

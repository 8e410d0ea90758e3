"""Parquet files by folder and pattern, read as a whole or part by part."""

from __future__ import annotations

import json
from functools import partial

import fsspec
import numpy as np
import pandas as pd
import pytest

from calibrant import evaluate, load_model
from calibrant.tables import ParquetSource


@pytest.fixture
def folder(tmp_path, frame):
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        frame.iloc[40 * i : 40 * (i + 1)].to_parquet(folder / f"{i}.parquet", row_group_size=15)
    return folder


@pytest.fixture
def streams(monkeypatch):
    """Stream tables of more than 50 rows."""
    small = partial(ParquetSource, in_memory_rows=50)
    monkeypatch.setattr("calibrant.cli._streams.ParquetSource", small)


def test_small_folders_and_patterns_are_read_as_a_whole(run, folder, tmp_path, frame) -> None:
    whole = tmp_path / "whole.parquet"
    frame.to_parquet(whole)
    for name, path in (("a", whole), ("b", folder), ("c", folder / "*.parquet")):
        done = run("fit", path, "--target", "price", "--out", tmp_path / name, "--epochs", 1)
        assert done.exit_code == 0, done.stderr
        assert "streamed" not in done.stderr
    X = frame.drop(columns="price")
    one, *others = (load_model(tmp_path / name).predict(X) for name in "abc")
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_large_tables_are_streamed(run, folder, tmp_path, frame, streams) -> None:
    pattern, model, out = folder / "*.parquet", tmp_path / "model", tmp_path / "predicted"
    options = ("--target", "price", "--drop", "importance", "--method", "heteroscedastic")
    done = run("fit", pattern, *options, "--out", model, "--epochs", 2, "--json")
    assert done.exit_code == 0, done.stderr
    assert "120 rows, too many to be held in memory, are streamed." in done.stderr
    assert "name: left out" in done.stderr  # warnings of fit are notes
    assert json.loads(done.stdout)["held_out_rows"] == 24
    done = run("predict", model, pattern, "--out", out, "--coverage", 0.5)
    assert done.exit_code == 0, done.stderr
    assert "120 rows in" in done.stderr
    made = pd.read_parquet(out)
    assert list(made) == ["name", "mean", "stddev", "lower_50", "upper_50"]
    assert list(made["name"]) == list(frame["name"])
    fitted = load_model(model)
    inputs = frame[list(fitted.feature_names_in_)]
    np.testing.assert_allclose(made["mean"], fitted.predict(inputs), rtol=1e-12)
    assert "exists already" in run("predict", model, pattern, "--out", out).stderr
    file = tmp_path / "predicted.parquet"
    assert run("predict", model, folder, "--out", file, "--keep", "shop").exit_code == 0
    assert next(iter(pd.read_parquet(file))) == "shop"
    done = run("evaluate", model, folder, "--group", "shop", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    expected = evaluate(fitted.predict_dist(inputs), frame["price"], frame["shop"])
    assert found["crps"] == pytest.approx(expected.crps, rel=1e-10)
    assert found["ecpe"] == pytest.approx(expected.ecpe, rel=1e-10)
    assert found["groups"]["names"] == list(expected.groups.names)


def test_what_needs_all_rows_is_read_as_a_whole(run, folder, tmp_path, streams) -> None:
    options = ("--target", "price", "--method", "heteroscedastic", "--epochs", 1)
    done = run("fit", folder, *options, "--groups", "shop", "--out", tmp_path / "model")
    assert done.exit_code == 0, done.stderr
    assert "streamed" not in done.stderr


def test_bad_files_are_one_sentence(run, folder, tmp_path) -> None:
    def fails(*arguments) -> str:
        done = run(*arguments)
        assert done.exit_code == 2, done.stdout
        assert done.stderr.startswith("Error: ")
        return done.stderr

    fit = ("--target", "price", "--out", tmp_path / "model")
    assert "No file matches" in fails("fit", folder / "x*.parquet", *fit)
    pd.DataFrame({"size": ["a"], "price": [1.0]}).to_parquet(folder / "3.parquet")
    assert "All files must have the same columns" in fails("fit", folder, *fit)
    (folder / "3.parquet").write_bytes(b"PAR1")
    assert "3.parquet can't be read" in fails("fit", folder, *fit)
    (folder / "3.parquet").unlink()
    assert "has no column 'cost'" in fails(
        "fit", folder, "--target", "cost", "--out", tmp_path / "m"
    )
    assert "Protocol not known: zz" in fails("fit", "zz://bucket/*.parquet", *fit)


def test_urls_of_small_and_large_tables(run, folder, tmp_path, frame, monkeypatch) -> None:
    memory = fsspec.filesystem("memory")
    for path in folder.iterdir():
        memory.pipe(f"/streams/{path.name}", path.read_bytes())
    options = ("--target", "price", "--method", "heteroscedastic", "--epochs", 1)
    for name, in_memory_rows in (("small", 200), ("large", 50)):
        own = partial(ParquetSource, in_memory_rows=in_memory_rows)
        monkeypatch.setattr("calibrant.cli._streams.ParquetSource", own)
        done = run("fit", "memory://streams/*.parquet", *options, "--out", tmp_path / name)
        assert done.exit_code == 0, done.stderr
        assert ("are streamed" in done.stderr) == (name == "large")
        out = tmp_path / f"{name}.parquet"
        done = run("predict", tmp_path / name, "memory://streams", "--out", out)
        assert done.exit_code == 0, done.stderr
        assert len(pd.read_parquet(out)) == len(frame)
        done = run("evaluate", tmp_path / name, "memory://streams", "--json")
        assert json.loads(done.stdout)["n"] == len(frame)

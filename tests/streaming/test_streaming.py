"""Predict and evaluate sources part by part."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import (
    HeteroscedasticRegressor,
    evaluate,
    evaluate_source,
    predict_parquet,
    recalibrate,
)
from calibrant.errors import (
    CalibrantError,
    DataError,
    DataWarning,
    MissingFileError,
    OutputError,
    OutputExistsError,
    ParameterError,
)
from calibrant.streaming import evaluate as evaluate_module
from calibrant.streaming import predict as predict_module
from calibrant.tables import ArrowSource, ParquetSource


def table(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "a": x[:, 0],
            "b": x[:, 1],
            "side": np.where(x[:, 1] > 0, "left", "right"),
            "y": x[:, 0] + 0.3 * rng.normal(size=n),
        }
    )


@pytest.fixture(scope="module")
def model() -> HeteroscedasticRegressor:
    frame = table()
    made = HeteroscedasticRegressor(epochs=3, hidden=(8,), random_state=0)
    return made.fit(frame[["a", "b", "side"]], frame["y"])


@pytest.fixture
def source(tmp_path: Path) -> ParquetSource:
    folder = tmp_path / "data"
    folder.mkdir()
    for i in range(2):
        table().iloc[250 * i : 250 * (i + 1)].to_parquet(folder / f"{i}.parquet", row_group_size=90)
    return ParquetSource(folder, target="y")


def test_one_file_has_the_predictions_of_all_rows_in_order(model, source, tmp_path) -> None:
    out = tmp_path / "out.parquet"
    columns = predict_parquet(model, source, out, coverage=[0.5, 0.9], alpha=[0.1], keep=["key"])
    made, inputs = pd.read_parquet(out), table()[["a", "b", "side"]]
    assert list(made) == columns
    assert columns == [
        *("key", "mean", "stddev"),
        *("lower_50", "upper_50", "lower_90", "upper_90", "quantile_10"),
    ]
    assert list(made["key"]) == list(table()["key"])
    # Vectors of another length may be rounded in another way.
    np.testing.assert_allclose(made["mean"], model.predict(inputs), rtol=1e-12)
    np.testing.assert_allclose(
        made[["lower_90", "upper_90"]], model.predict_interval(inputs, coverage=0.9), rtol=1e-12
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "out.parquet"]


def test_a_folder_has_parts_in_the_order_of_the_rows(model, source, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(predict_module, "_GROUP_ROWS", 80)
    monkeypatch.setattr(predict_module, "_FILE_ROWS", 150)
    out = tmp_path / "out"
    predict_parquet(model, source, out, keep=["key"])
    names = sorted(each.name for each in out.iterdir())
    assert names == [f"part-0000{i}.parquet" for i in range(len(names))]
    assert len(names) == 3
    made = ParquetSource(out)
    keys = [key for part in made.parts() for key in part.batch.column("key").to_pylist()]
    assert keys == list(table()["key"])
    with pytest.raises(OutputExistsError, match="exists already"):
        predict_parquet(model, source, out)
    predict_parquet(model, source, out, overwrite=True)
    assert ParquetSource(out).schema.names == ["mean", "stddev", "lower_90", "upper_90"]
    (out / "notes.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match="is not such a result"):
        predict_parquet(model, source, out, overwrite=True)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """Limit the size of files: writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_a_full_disk_leaves_nothing_behind(model, source, tmp_path, monkeypatch, name) -> None:
    monkeypatch.setattr(predict_module, "_GROUP_ROWS", 50)
    with (
        small_files(8000),
        pytest.raises(OutputError, match=rf"{name} can't be written: .*Nothing of it was kept"),
    ):
        predict_parquet(model, source, tmp_path / name)
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


def test_a_file_that_vanishes_leaves_no_predictions(model, source, tmp_path) -> None:
    (tmp_path / "data" / "1.parquet").unlink()
    with pytest.raises(MissingFileError, match=r"1\.parquet, row group 0"):
        predict_parquet(model, source, tmp_path / "out.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


def test_targets_are_not_read_for_predictions(source, tmp_path) -> None:
    frame = table()
    frame.loc[300, "y"] = np.inf
    frame.iloc[250:].to_parquet(tmp_path / "data" / "1.parquet", row_group_size=90)
    numbers = HeteroscedasticRegressor(epochs=1, hidden=(4,), random_state=0)
    numbers.fit(frame[["a", "b"]].to_numpy(), table()["y"].to_numpy())
    changed = ParquetSource(tmp_path / "data", target="y", drop=["key", "side"])
    predict_parquet(numbers, changed, tmp_path / "out.parquet")
    found = pd.read_parquet(tmp_path / "out.parquet")
    expected = numbers.predict(frame[["a", "b"]].to_numpy())
    np.testing.assert_allclose(found["mean"], expected, rtol=1e-9)


def test_bad_arguments_of_predict(model, source, tmp_path) -> None:
    out = tmp_path / "out.parquet"
    with pytest.raises(DataError, match="no column 'id', which keep names"):
        predict_parquet(model, source, out, keep=["id"])
    with pytest.raises(MissingFileError, match="There is no folder"):
        predict_parquet(model, source, tmp_path / "no" / "out.parquet")
    with pytest.raises(ParameterError, match=r"s3://bucket/out is a URL, but only local files"):
        predict_parquet(model, source, "s3://bucket/out")
    lacking = ParquetSource(tmp_path / "data", drop=["b"])
    with pytest.raises(DataError, match="no column 'b', which the model reads"):
        predict_parquet(model, lacking, out)
    named = ArrowSource(lambda: [_named_mean(each.batch) for each in source.parts()])
    with pytest.raises(ParameterError, match="keep names 'mean'"):
        predict_parquet(model, named, out, keep=["mean"])
    assert not out.exists()


def _named_mean(batch):
    return batch.rename_columns(["mean", *batch.schema.names[1:]])


@pytest.mark.parametrize("recalibrated", [False, True])
def test_evaluation_equals_that_of_all_rows_in_memory(model, source, recalibrated) -> None:
    frame = table()
    inputs = frame[["a", "b", "side"]]
    used = recalibrate(model, inputs, frame["y"]) if recalibrated else model
    whole = evaluate(used.predict_dist(inputs), frame["y"], {"side": frame["side"]}, coverage=0.8)
    found = evaluate_source(used, source, groups=["side"], coverage=0.8)
    assert found.n == whole.n == 500
    for name, value in whole.metrics.items():
        assert found.metrics[name] == pytest.approx(value, rel=1e-10), name
    np.testing.assert_array_equal(found.test.coverage, whole.test.coverage)
    assert found.groups.names == ("left", "right")
    assert str(found) == str(whole)


def test_rows_without_target_are_not_evaluated(model, source, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(evaluate_module, "_SAMPLE_ROWS", 100)
    frame = table()
    frame.loc[250:, "y"] = np.nan
    frame.iloc[250:].to_parquet(tmp_path / "data" / "1.parquet", row_group_size=90)
    with pytest.warns(DataWarning, match="250 of 500 rows left out, they have no 'y'"):
        found = evaluate_source(model, ParquetSource(tmp_path / "data", target="y"))
    assert found.n == 250
    assert len(found.rows.y) < 100
    with pytest.raises(DataError, match="no column 'zone', which groups names"):
        evaluate_source(model, source, groups=["zone"])
    frame.assign(y=np.nan).to_parquet(tmp_path / "data" / "0.parquet")
    with pytest.raises(CalibrantError, match="None of the drawn rows has a target 'y'"):
        evaluate_source(model, ParquetSource(tmp_path / "data", target="y"))

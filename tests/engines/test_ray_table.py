"""Fit and predict one table on a local Ray cluster of two cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from calibrant import Forecaster, backtest
from calibrant.engines import (
    PredictFrame,
    RayFit,
    default_scaling,
    fit_on_ray,
    make_engine,
    map_on_ray,
    ray_cluster,
)
from calibrant.engines.ray import _check_reachable
from calibrant.errors import DataError, DataWarning, MissingFileError
from calibrant.estimators import HeteroscedasticRegressor, MMDRegressor
from calibrant.tables import ParquetSource

N = 1200
SMALL = {"quality": "fast", "hidden": (8,), "epochs": 4, "matching__epochs": 2, "random_state": 0}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, N))
    kind = rng.choice(["red", "blue"], N)
    y = a + (kind == "red") + (0.1 + 0.2 * (b > 0)) * rng.standard_normal(N)
    y[::100] = np.nan
    return pd.DataFrame({"a": a, "b": b, "kind": kind, "y": y})


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    pytest.importorskip("ray", reason="ray is not installed: extra ray")
    # Ray Train looks after its workers every two seconds, and so long a report takes.
    os.environ["RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"] = "0.1"
    with ray_cluster(workers=2) as connected:
        yield connected


@pytest.fixture(scope="module")
def dataset(ray) -> Any:
    frame = table()
    return ray.data.from_pandas([frame[i : i + 300] for i in range(0, N, 300)])


@pytest.fixture(scope="module")
def model(dataset, tmp_path_factory: pytest.TempPathFactory) -> MMDRegressor:
    from ray.train import RunConfig

    with pytest.warns(DataWarning, match="12 of 1,200 rows left out, they have no 'y'"):
        return (
            MMDRegressor()
            .set_params(**SMALL)
            .fit(
                dataset,
                label_column="y",
                scaling_config=default_scaling(2),
                run_config=RunConfig(storage_path=str(tmp_path_factory.mktemp("store"))),
                checkpoint_every=1,
            )
        )


@pytest.mark.slow
def test_a_fit_on_ray_is_an_ordinary_model(model: MMDRegressor, tmp_path: Path) -> None:
    rows = table().dropna()
    local = MMDRegressor().set_params(**SMALL).fit(rows[["a", "b", "kind"]], rows["y"])
    inputs, y = rows[["a", "b", "kind"]], rows["y"].to_numpy()
    scores = [each.predict_dist(inputs).crps(y).mean() for each in (model, local)]
    assert scores[0] < 1.15 * scores[1]
    assert model.target_name_ == "y"
    assert {record["stage"] for record in model.history_} == {1, 2}
    model.save(tmp_path / "model")
    loaded = MMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(inputs), model.predict(inputs))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_killed_worker_is_replaced_and_the_fit_ends_where_an_undisturbed_one_ends(
    model: MMDRegressor, dataset, tmp_path: Path
) -> None:
    from ray.train import FailureConfig, RunConfig
    from ray.train.torch import TorchTrainer
    from tests.engines.ray_jobs import dying_loop

    job = RayFit.prepare(MMDRegressor().set_params(**SMALL), dataset, label_column="y")
    arguments = job.arguments(checkpoint_every=1)
    arguments["train_loop_config"]["died"] = str(tmp_path / "died")
    trainer = TorchTrainer(
        dying_loop,
        **arguments,
        scaling_config=default_scaling(),  # the cluster has two cores
        run_config=RunConfig(  # checkpoints by way of fsspec, as those in a cloud
            storage_path=f"fsspec+file://{tmp_path}/store",
            failure_config=FailureConfig(max_failures=1),
        ),
    )
    again = job.finish(trainer.fit())
    assert (tmp_path / "died").exists()
    assert len(list((tmp_path / "store").rglob("training.safetensors"))) > 3
    for name, value in model.module_.by_name().items():
        assert torch.equal(again.module_.by_name()[name], value)
    assert again.history_ == model.history_


@pytest.fixture
def source(tmp_path: Path) -> ParquetSource:
    frame = table()
    for i, part in enumerate(np.array_split(np.arange(N), 3)):
        frame.iloc[part].to_parquet(tmp_path / f"{i}.parquet", row_group_size=150)
    return ParquetSource(str(tmp_path / "*.parquet"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_every_row_is_predicted_once_though_a_worker_is_killed(
    model: MMDRegressor, source: ParquetSource, tmp_path: Path
) -> None:
    from tests.engines.ray_jobs import DyingFunction

    function = PredictFrame(model, (0.9,), (0.5,), ("row", "kind"))
    died = tmp_path / "died"
    map_on_ray(DyingFunction(function, str(died)), source).write_parquet(str(tmp_path / "out"))
    assert died.exists()
    found = pd.read_parquet(tmp_path / "out")
    assert sorted(found["row"]) == list(range(N))
    found = found.sort_values("row", ignore_index=True)
    inputs = table()[["a", "b", "kind"]]
    np.testing.assert_allclose(found["mean"], model.predict(inputs), rtol=1e-9)
    assert list(found["kind"]) == list(inputs["kind"])
    assert list(found) == ["row", "kind", "mean", "stddev", "lower_90", "upper_90", "quantile_50"]


@pytest.mark.slow
def test_on_the_command_line(ray, source: ParquetSource, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from calibrant.cli import app

    model, out, data = (str(tmp_path / name) for name in ("model", "predictions", "*.parquet"))
    cluster = ["--engine", "ray", "--workers", "2"]
    fit = ["fit", data, "--target", "y", "--out", model, "--quality", "fast", "--epochs", "1"]
    found = CliRunner().invoke(app, [*fit, *cluster])
    assert found.exit_code == 0, found.output
    assert "1,200 rows" in found.stderr
    found = CliRunner().invoke(app, ["predict", model, data, "--out", out, *cluster])
    assert found.exit_code == 0, found.output
    assert sorted(pd.read_parquet(out)["row"]) == list(range(N))


@pytest.mark.slow
def test_models_of_a_back_test_are_trained_side_by_side(ray) -> None:
    y = np.sin(np.arange(160) / 5) + 0.1 * np.random.default_rng(0).normal(size=160)
    small = HeteroscedasticRegressor(hidden=(8,), epochs=2, device="cpu")
    one, other = (
        backtest(Forecaster(small, random_state=0), y, start=130, policy="refit", every=15, run=run)
        for run in (None, make_engine("ray", workers=2, device="cpu"))
    )
    np.testing.assert_allclose(one.dist.ppf(0.9), other.dist.ppf(0.9), rtol=1e-5)


@pytest.mark.slow
def test_a_running_cluster_is_reachable(ray) -> None:
    _check_reachable(ray.get_runtime_context().gcs_address)


@pytest.mark.slow
def test_a_column_that_is_missing_is_named(model: MMDRegressor, dataset) -> None:
    with pytest.raises(DataError, match=r"no column 'price', which label_column names.*a, b, kind"):
        fit_on_ray(MMDRegressor(), dataset, label_column="price")
    empty = dataset.limit(1)  # its only row has no target
    with pytest.raises(DataError, match="No row of the dataset has a value of 'y'"):
        fit_on_ray(MMDRegressor(), empty, label_column="y")


@pytest.mark.slow
def test_errors_of_tasks_name_the_file(ray, source: ParquetSource, tmp_path: Path) -> None:
    frame = table()[800:]
    frame.loc[1000, "b"] = np.inf
    frame.to_parquet(tmp_path / "2.parquet", row_group_size=150)
    changed = ParquetSource(str(tmp_path / "*.parquet"))
    with pytest.raises(DataError, match=r"2\.parquet, row group 1: column 'b' contains infinity"):
        RayFit.prepare(MMDRegressor(), changed, label_column="y")
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(MissingFileError, match=r"1\.parquet, row group 0: the file is not there"):
        RayFit.prepare(MMDRegressor(), source, label_column="y")


@pytest.mark.slow
def test_a_dataset_of_parquet_files(ray, source: ParquetSource, tmp_path: Path) -> None:
    with pytest.warns(DataWarning, match="12 of 1,200 rows left out"):
        job = RayFit.prepare(
            MMDRegressor().set_params(**SMALL),
            ray.data.read_parquet(str(tmp_path)),
            label_column="y",
        )
    rows = job.rows.to_pandas()
    assert len(rows) + len(job.plan.held_out.y) == N - 12
    assert np.isfinite(np.stack(rows["x"])).all()

"""Fits to sources that are read part by part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from calibrant import (
    DeepEnsembleRegressor,
    HeteroscedasticRegressor,
    LaplaceRegressor,
    MMDRegressor,
)
from calibrant.errors import DataError, DataWarning, MissingFileError, ParameterError
from calibrant.estimators import streamed_data
from calibrant.estimators.train import train
from calibrant.tables import ArrowSource, ParquetSource
from calibrant.training import StreamedRows

SMALL = {"epochs": 2, "hidden": (8,), "random_state": 0}


def table(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = x[:, 0] + (0.1 + 0.3 * (x[:, 1] > 0)) * rng.normal(size=n)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})


def write(folder: Path, frame: pd.DataFrame, files: int = 3, **options) -> ParquetSource:
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[rows].to_parquet(folder / f"{i}.parquet", row_group_size=100)
    return ParquetSource(folder, target="y", in_memory_rows=0, **options)


def weights(networks) -> list[torch.Tensor]:
    return [each.detach() for each in networks.parameters()]


@pytest.mark.parametrize(
    "model",
    [
        HeteroscedasticRegressor(**SMALL),
        DeepEnsembleRegressor(members=2, **SMALL),
        MMDRegressor(**SMALL).set_params(matching__epochs=2, ensemble__members=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_weights_equal_those_of_rows_in_memory_in_the_same_order(model, tmp_path) -> None:
    frame = table()
    frame.to_parquet(tmp_path / "one.parquet")  # one part: the order of the rows is that in memory
    source = ParquetSource(tmp_path, target="y", in_memory_rows=0)
    plan = model.plan(source)
    assert all(isinstance(group.train, StreamedRows) for group in plan.groups)
    streamed = model.fit(source)
    memory = type(model)(**model.get_params(deep=False))
    memory.fit(plan.sample.x, plan.sample.y, validation_data=(plan.held_out.x, plan.held_out.y))
    pairs = list(zip(weights(streamed.module_), weights(memory.module_), strict=True))
    assert pairs
    assert all(torch.equal(one, other) for one, other in pairs)
    inputs = frame.drop(columns="y")
    np.testing.assert_array_equal(
        streamed.predict_quantiles(inputs, alpha=[0.1, 0.9]),
        memory.predict_quantiles(inputs.to_numpy(), alpha=[0.1, 0.9]),
    )


def test_weights_equal_with_several_blocks_whose_order_is_recorded(tmp_path) -> None:
    """The batches of a shuffled stream, replayed from memory, train the same weights."""
    plan = HeteroscedasticRegressor(**SMALL).plan(write(tmp_path, table()))
    (group,) = plan.groups
    stream = replace(group.train, block_rows=150)
    recorded: list[list[tuple[torch.Tensor, ...]]] = []

    class Recording:
        n_rows, steps, device, take = stream.n_rows, 1, stream.device, StreamedRows.take

        def batches(self, size, orders):
            recorded.append([])
            for batch in stream.batches(size, orders):
                recorded[-1].append(batch)
                yield batch

    class InMemory(Recording):
        def __init__(self) -> None:
            # All rows in one tensor, as `Rows` hold them; every batch is an index into it.
            self.rows = group.rows
            place = {tuple(x): i for i, x in enumerate(group.rows.x.tolist())}
            self.order = [
                [torch.tensor([[place[tuple(x)] for x in batch[0][0].tolist()]]) for batch in epoch]
                for epoch in recorded
            ]
            self.epoch = 0
            self.take = self.rows.take

        def batches(self, size, orders):
            self.epoch += 1
            return ((index,) for index in self.order[self.epoch - 1])

    (streamed,) = train([replace(plan, groups=(replace(group, train=Recording()),))])
    assert [len(each) for each in recorded] == [8, 8]  # 480 rows in 4 blocks, of 2 batches each
    (memory,) = train([replace(plan, groups=(replace(group, train=InMemory()),))])
    pairs = zip(weights(streamed.networks), weights(memory.networks), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_categories_gaps_and_dates_are_those_of_all_rows(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(streamed_data, "SAMPLE_ROWS", 60)
    rng = np.random.default_rng(1)
    frame = table(900).assign(
        city=rng.choice(["Bonn", "Ulm"], 900), day=pd.date_range("2024-01-01", periods=900)
    )
    frame.loc[7, "city"] = "Kiel"  # once in 900 rows, and not in the sample
    frame.loc[::5, "b"] = np.nan
    plan = HeteroscedasticRegressor(**SMALL).plan(write(tmp_path, frame))
    model = HeteroscedasticRegressor(**SMALL).fit(write(tmp_path, frame))
    assert len(plan.sample.y) == 60
    assert len(plan.held_out.y) == 180
    assert plan.groups[0].train.n_rows == 720
    assert "900" not in str(plan)
    assert "720 rows to train on" in str(plan)
    assert model.encoder_.categories_["city"] == ["Bonn", "Kiel", "Ulm"]
    assert "gaps filled with the median, flagged" in model.encoder_.describe()
    assert model.target_name_ == "y"
    assert np.isfinite(model.predict(frame.drop(columns="y"))).all()


def test_the_same_seed_gives_the_same_model(tmp_path) -> None:
    source = write(tmp_path, table())
    X = table().drop(columns="y")
    first, again, other = (
        HeteroscedasticRegressor(**SMALL | {"random_state": seed}).fit(source).predict(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_held_out_rows_are_never_trained_on(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(streamed_data, "HELD_OUT_ROWS", 40)
    plan = HeteroscedasticRegressor(**SMALL).plan(write(tmp_path, table()))
    assert len(plan.held_out.y) == 40
    (group,) = plan.groups
    orders = [torch.Generator().manual_seed(0)]
    seen = torch.cat([y[0] for _, y, _ in group.train.batches(64, orders)])
    assert len(seen) == 560
    assert not np.isin(group.validation.y.numpy(), seen.numpy()).any()


def test_small_sources_are_read_as_a_whole(tmp_path) -> None:
    write(tmp_path, table())
    source = ParquetSource(tmp_path, target="y")
    model, memory = (MMDRegressor(quality="fast", **SMALL) for _ in range(2))
    frame = table()
    np.testing.assert_array_equal(
        model.fit(source).predict(frame.drop(columns="y")),
        memory.fit(frame.drop(columns="y"), frame["y"]).predict(frame.drop(columns="y")),
    )
    assert model.target_name_ == "y"
    assert "5 folds" in str(MMDRegressor(random_state=0).plan(source))
    LaplaceRegressor(**SMALL).fit(source)  # which can't read a stream


@pytest.mark.parametrize("in_memory_rows", [0, 10_000])
def test_rows_without_a_target_are_left_out_with_a_count(tmp_path, in_memory_rows) -> None:
    frame = table()
    frame.loc[:29, "y"] = np.nan
    source = replace(write(tmp_path, frame), in_memory_rows=in_memory_rows)
    with pytest.warns(DataWarning, match="30 of 600 rows left out, they have no 'y'"):
        plan = HeteroscedasticRegressor(**SMALL).plan(source)
    assert plan.groups[0].train.n_rows + len(plan.held_out.y) == 570


def test_bad_input_names_the_file(tmp_path) -> None:
    frame = table()
    source = write(tmp_path, frame)
    model = HeteroscedasticRegressor(**SMALL)
    (tmp_path / "2.parquet").rename(tmp_path / "gone")
    with pytest.raises(MissingFileError, match=r"2\.parquet, row group 0: the file is not there"):
        model.fit(source)
    frame.loc[450, "b"] = np.inf
    source = write(tmp_path, frame)
    with pytest.raises(DataError, match=r"2\.parquet, row group 0: column 'b' contains infinity"):
        model.fit(source)
    source = write(tmp_path, table().assign(y=np.nan))
    with pytest.raises(DataError, match="at least 10 rows are needed"), pytest.warns(DataWarning):
        model.fit(source)


def test_a_file_that_vanishes_while_training_is_an_error_and_leaves_no_thread(tmp_path) -> None:
    plan = HeteroscedasticRegressor(**SMALL).plan(write(tmp_path, table()))
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(MissingFileError, match=r"1\.parquet"):
        train([plan])


def test_what_a_source_can_not_do_is_said(tmp_path) -> None:
    source = write(tmp_path, table())
    with pytest.raises(ParameterError, match="cv can't be passed with a ParquetSource"):
        HeteroscedasticRegressor().fit(source, cv=3)
    with pytest.raises(
        ParameterError, match=r"LaplaceRegressor needs all rows in memory.*600 rows"
    ):
        LaplaceRegressor().fit(source)
    with pytest.raises(ParameterError, match="has no target"):
        HeteroscedasticRegressor().fit(ParquetSource(tmp_path))


def test_predictions_of_a_source_are_written(tmp_path) -> None:
    model = HeteroscedasticRegressor(**SMALL).fit(table().drop(columns="y"), table()["y"])
    with pytest.raises(DataError, match=r"got ParquetSource: use predict_parquet.*evaluate_source"):
        model.predict(write(tmp_path, table()))


def test_a_pyarrow_dataset_needs_a_source(tmp_path) -> None:
    import pyarrow.dataset

    write(tmp_path, table())
    dataset = pyarrow.dataset.dataset(tmp_path)
    with pytest.raises(DataError, match=r"ArrowSource\(dataset, target=\.\.\.\) reads it"):
        HeteroscedasticRegressor(**SMALL).fit(dataset, "y")
    with pytest.raises(ParameterError, match=r"anew for every pass, got RecordBatchReader"):
        ArrowSource(dataset.scanner().to_reader(), target="y")


def test_record_batches_of_a_function(tmp_path) -> None:
    import pyarrow as pa

    batches = pa.Table.from_pandas(table()).to_batches(max_chunksize=64)
    source = ArrowSource(lambda: iter(batches), target="y", in_memory_rows=0)
    model = HeteroscedasticRegressor(**SMALL).fit(source)
    # The same rows in the same order from a file.
    table().to_parquet(tmp_path / "a.parquet")
    other = HeteroscedasticRegressor(**SMALL).fit(
        ParquetSource(tmp_path, target="y", in_memory_rows=0)
    )
    X = table().drop(columns="y")
    np.testing.assert_array_equal(model.predict(X), other.predict(X))

"""Sources of tables that are read part by part."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import parquet

from calibrant.errors import DataError, MissingFileError, ParameterError
from calibrant.tables import (
    ArrowSource,
    CategoryCounts,
    ParquetSource,
    TableEncoder,
    as_url,
    check_target,
    part_inputs,
    part_target,
)
from calibrant.tables.parts import PART_ROWS


def frame(n: int = 50, start: int = 0) -> pd.DataFrame:
    return pd.DataFrame({"x": np.arange(start, start + n, dtype=float), "y": np.ones(n)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(3):
        frame(50, 50 * i).to_parquet(tmp_path / f"{i}.parquet", row_group_size=20)
    return tmp_path


def values(source, rng=None) -> list[float]:
    return [x for part in source.parts(rng) for x in part.batch.column("x").to_pylist()]


def test_folder_pattern_list_and_url_are_the_same_rows(folder, monkeypatch) -> None:
    (folder / "_tmp").mkdir()
    frame().to_parquet(folder / "_tmp" / "3.parquet")  # left out, as by Spark and Hive
    (folder / "notes.txt").write_text("no table")
    expected = list(range(150))
    files = [folder / f"{i}.parquet" for i in range(3)]
    monkeypatch.chdir(folder)
    for paths in (folder, str(folder / "*.parquet"), files, folder.as_uri(), "[0-2].parquet"):
        source = ParquetSource(paths)
        assert source.n_rows == 150
        assert values(source) == expected
    assert ParquetSource("*.parquet").files[0].path == "0.parquet"


def test_reads_any_filesystem() -> None:
    memory = fsspec.filesystem("memory")
    with memory.open("/bucket/part.parquet", "wb") as file:
        frame().to_parquet(file)
    source = ParquetSource("memory://bucket/*.parquet", target="y")
    assert values(source) == list(range(50))
    assert source.files[0].path == "memory:///bucket/part.parquet"


def test_chains_of_filesystems(folder, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where the cache is
    memory = fsspec.filesystem("memory")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(folder.glob("*.parquet")):
            archive.write(path, path.name)
            memory.pipe(f"/chained/{path.name}", path.read_bytes())
    memory.pipe("/chained/all.zip", packed.getvalue())
    for url in ("zip://*.parquet::memory://chained/all.zip", "simplecache::memory://chained"):
        assert values(ParquetSource(url)) == list(range(150))
    cached = ParquetSource("simplecache::memory://chained/*.parquet")
    assert cached.files[0].path == "simplecache::memory:///chained/0.parquet"


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/data",
        "file:///data/*.parquet",
        "simplecache::s3://bucket/data",
        "zip://*.parquet::file:///data/a.zip",
        "/data/a.parquet",
        "data/*.parquet",
    ],
)
def test_urls_survive_being_read_as_paths(url: str) -> None:
    assert as_url(Path(url)) == url


def test_parts_know_their_rows_in_any_order(folder) -> None:
    source = ParquetSource(folder)
    first, again, other = (values(source, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first == again
    assert sorted(first) == sorted(other) == list(range(150))
    assert first != other
    for part in source.parts(np.random.default_rng(0)):
        assert part.batch.column("x")[0].as_py() == part.start
    assert "2.parquet, row group 2" in [part.where for part in source.parts()][-1]


def test_datasets_and_record_batches(folder) -> None:
    dataset = ArrowSource(pyarrow.dataset.dataset(folder), target="y")
    assert dataset.n_rows == 150
    assert values(dataset) == list(range(150))
    shuffled = values(dataset, np.random.default_rng(0))
    assert shuffled != values(dataset)
    assert sorted(shuffled) == list(range(150))
    table = pa.table({"x": np.arange(2.5 * PART_ROWS), "y": np.zeros(int(2.5 * PART_ROWS))})
    batches = ArrowSource(lambda: table.to_batches(), target="y")
    parts = list(batches.parts())
    assert [part.start for part in parts] == [0, PART_ROWS, 2 * PART_ROWS]
    assert batches.n_rows == len(table)


def test_integers_in_one_file_are_decimals_in_another_but_text_is_an_error(tmp_path) -> None:
    pd.DataFrame({"x": [1, 2], "y": [1.0, 2.0]}).to_parquet(tmp_path / "a.parquet")
    # Another order of columns is fine, too.
    pd.DataFrame({"y": [3.0, 4.0], "x": [1.5, None]}).to_parquet(tmp_path / "b.parquet")
    source = ParquetSource(tmp_path)
    assert source.schema.field("x").type == pa.float64()
    assert values(source) == [1.0, 2.0, 1.5, None]
    pd.DataFrame({"x": ["one"], "y": [1.0]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"'x' is double in .*a\.parquet and .*string in .*c\.parq"):
        ParquetSource(tmp_path)
    pd.DataFrame({"z": [1.0], "y": [1.0]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"'x' is in only one of .*a\.parquet and .*c\.parquet"):
        ParquetSource(tmp_path)


def test_decimals_are_numbers(tmp_path) -> None:
    column = pa.array([1, 2], pa.decimal128(10, 2))
    parquet.write_table(pa.table({"x": column}), tmp_path / "a.parquet")
    assert values(ParquetSource(tmp_path)) == [1.0, 2.0]


def test_nothing_to_read(tmp_path) -> None:
    with pytest.raises(MissingFileError, match=r"No file matches '.*\*\.parquet'"):
        ParquetSource(str(tmp_path / "*.parquet"))
    with pytest.raises(MissingFileError, match=r"holds no file that ends in \.parquet"):
        ParquetSource(tmp_path)
    with pytest.raises(MissingFileError, match="There is no file"):
        ParquetSource(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="Protocol not known: nowhere"):
        ParquetSource("nowhere://a.parquet")
    frame(0).to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(DataError, match=r"empty\.parquet has no rows"):
        ParquetSource(tmp_path)
    frame(5).to_parquet(tmp_path / "some.parquet")  # an empty part beside others is usual
    assert ParquetSource(tmp_path).n_rows == 5
    with pytest.raises(DataError, match=r"no column 'z'\. Its columns are: x, y"):
        ParquetSource(tmp_path, target="z")
    with pytest.raises(DataError, match="returned an empty iterable"):
        _ = ArrowSource(lambda: [], target="y").schema


@pytest.mark.parametrize("kept", [0, 0.5])
def test_empty_and_truncated_files_are_named(folder, kept) -> None:
    path = folder / "1.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DataError, match=r"1\.parquet can't be read as Parquet: .*empty or cut off"):
        ParquetSource(folder)


def test_files_that_vanish_change_or_are_damaged_later(folder) -> None:
    source = ParquetSource(folder)
    (folder / "1.parquet").unlink()
    with pytest.raises(MissingFileError, match=r"1\.parquet, row group 0: the file is not there"):
        values(source)
    frame(60).to_parquet(folder / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet was changed while it was read"):
        values(source)
    content = (folder / "0.parquet").read_bytes()
    damaged = content[:4] + bytes(200) + content[204:]
    (folder / "1.parquet").write_bytes(damaged)
    with pytest.raises(DataError, match=r"1\.parquet, row group 0 can't be read"):
        values(source)


def test_a_changed_value_is_told_where_pages_have_checksums(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    frame().to_parquet(path, **options)
    source, content = ParquetSource(path), path.read_bytes()
    place = content.index(np.float64(7.0).tobytes())
    path.write_bytes(content[:place] + b"\x01" + content[place + 1 :])
    with pytest.raises(DataError, match=r"a\.parquet, row group 0 can't be read.*checksum"):
        values(source)


def test_targets_and_inputs_name_the_row_group(tmp_path) -> None:
    table = frame(4).assign(y=[1.0, None, 2.0, np.inf], text="a")
    table.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    source = ParquetSource(tmp_path, target="y")
    first, second = source.parts()
    assert check_target(source) == "y"
    np.testing.assert_array_equal(part_target(first, "y"), [1.0, np.nan])
    with pytest.raises(DataError, match="row group 1: the target 'y' is infinite"):
        part_target(second, "y")
    assert part_inputs(first, "y").schema.names == ["x", "text"]
    with pytest.raises(DataError, match="row group 1: column 'y' contains infinity"):
        part_inputs(second, None)
    with pytest.raises(ParameterError, match="has no target: pass target="):
        check_target(ParquetSource(tmp_path))
    with pytest.raises(DataError, match="The target 'text' must hold numbers, but its type is"):
        check_target(ParquetSource(tmp_path, target="text"))
    assert ParquetSource(tmp_path, drop=["text"]).schema.names == ["x", "y"]


def test_categories_of_all_parts_are_those_of_the_whole_column() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "city": rng.choice(["Bonn", "Ulm", None], 300),
            "flag": rng.choice([True, False], 300),
            "zone_id": rng.integers(5, size=300),
            "name": [f"k{i % 290}" for i in range(300)],
            "code": pd.Categorical(rng.choice(["a", "b"], 300)),
        }
    )
    counts = CategoryCounts()
    for batch in pa.Table.from_pandas(table).to_batches(max_chunksize=70):
        counts.add(batch)
    whole = TableEncoder().fit(table)
    few = table.iloc[:10].assign(city="Bonn", flag=True, code=pd.Categorical(["a"] * 10))
    sampled = TableEncoder().fit(few).with_categories(counts.by_column())
    for name in ("city", "flag", "zone_id", "code"):
        assert sampled.categories_[name] == whole.categories_[name]


def test_columns_of_too_many_values_are_not_counted(monkeypatch) -> None:
    monkeypatch.setattr("calibrant.tables.category_counts._MOST_DIFFERENT", 20)
    counts = CategoryCounts()
    counts.add(pa.RecordBatch.from_pydict({"key": list(range(30)), "few": [1] * 30}))
    counts.add(pa.RecordBatch.from_pydict({"key": [1], "few": [2]}))
    assert {name: own.to_dict() for name, own in counts.by_column().items()} == {
        "few": {"1": 30, "2": 1}
    }


def test_a_row_group_of_a_local_file_is_never_held_as_a_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=1 << 19) for name in "abcd"})
    options = {"use_dictionary": False, "data_page_size": 1 << 16}
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1 << 19, **options)
    before, most = pa.total_allocated_bytes(), 0
    for _ in ParquetSource(tmp_path / "a.parquet").parts():
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < table.nbytes / 3


class FailingFileSystem(MemoryFileSystem):
    """A filesystem with errors of its own, as those of clouds have."""

    protocol = "failing"

    def _open(self, path, mode="rb", **options):
        raise RuntimeError("no token\n was found.")

    def isdir(self, path):
        if "denied" in path:
            raise RuntimeError("Access Denied")
        return False

    def exists(self, path, **options):
        return True


def test_errors_of_the_packages_behind_other_filesystems_are_ours() -> None:
    fsspec.register_implementation("failing", FailingFileSystem, clobber=True)
    with pytest.raises(DataError, match=r"failing://denied can't be opened: Access Denied\.$"):
        ParquetSource("failing://denied")
    with pytest.raises(DataError, match=r"a\.parquet can't be read: no token was found\.$"):
        ParquetSource("failing://bucket/a.parquet")

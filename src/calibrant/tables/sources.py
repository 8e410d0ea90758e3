"""Tables that are read part by part: Parquet files on any filesystem, Arrow record batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import DataError, ParameterError
from calibrant.tables.parquet_files import (
    ParquetFile,
    as_data_errors,
    common_schema,
    find_files,
    opened,
    plain_schema,
    read_metadata,
)
from calibrant.tables.parts import PART_ROWS, Part, Piece, cut, in_order

if TYPE_CHECKING:
    import pyarrow as pa

IN_MEMORY_ROWS = 200_000  # a table of at most so many rows is read as a whole


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files with the same columns, read part by part.

    Only the metadata are read at first. Columns may be integers in one file and decimals in
    another; other differences are an error.

    Parameters
    ----------
    paths : str, path or sequence of them
        Files, folders or patterns such as ``"data/*.parquet"``; also URLs of any filesystem that
        fsspec knows, such as ``"s3://bucket/data"``. In folders, names that begin with ``_`` or
        ``.`` are left out.
    target : str or None
        Column to predict.
    drop : sequence of str
        Columns that are not read.
    in_memory_rows : int
        A table of at most so many rows is read as a whole by `fit`, which may then cross-fit
        folds and look up nearest rows.

    Attributes
    ----------
    files : tuple of ParquetFile
        In the order of the rows.
    schema : pyarrow Schema
    n_rows : int

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(3):
    ...     pd.DataFrame({"x": [1.0, 2.0], "y": [i, i]}).to_parquet(f"{folder}/{i}.parquet")
    >>> source = ParquetSource(folder, target="y")
    >>> source.n_rows, source.schema.names
    (6, ['x', 'y'])
    """

    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    target: str | None = None
    drop: Sequence[str] = ()
    in_memory_rows: int = IN_MEMORY_ROWS
    files: tuple[ParquetFile, ...] = field(init=False, repr=False)
    schema: pa.Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find the files and read their metadata."""
        paths = [self.paths] if isinstance(self.paths, str | os.PathLike) else self.paths
        found = tuple(read_metadata(path) for each in paths for path in find_files(os.fspath(each)))
        schema = common_schema(found)
        _check_names([*self.drop, *([] if self.target is None else [self.target])], schema, found)
        kept = [each for each in schema if each.name not in self.drop]
        object.__setattr__(self, "files", found)
        object.__setattr__(
            self, "schema", schema.empty_table().select([e.name for e in kept]).schema
        )
        if not self.n_rows:
            raise DataError(f"{found[0].path} has no rows, and neither has any other file.")

    @property
    def n_rows(self) -> int:
        """Number of rows, from the metadata."""
        return sum(sum(each.group_rows) for each in self.files)

    def parts(self, rng: np.random.Generator | None = None) -> Iterator[Part]:
        """All rows once: in order, or row groups in an order drawn by `rng`."""
        return in_order(self.pieces(), rng)

    def pieces(self) -> list[Piece]:
        """Row groups in the order of their rows, to be read one by one."""
        groups = [(each, i) for each in self.files for i in range(len(each.group_rows))]
        starts = accumulate((each.group_rows[i] for each, i in groups), initial=0)
        return [
            partial(self._read, file, group, start)
            for (file, group), start in zip(groups, starts, strict=False)
        ]

    def _read(self, file: ParquetFile, group: int, start: int) -> Iterator[Part]:
        where = f"{file.path}, row group {group}"
        with as_data_errors(where), opened(file.path) as reader:
            rows = tuple(
                reader.metadata.row_group(i).num_rows for i in range(reader.num_row_groups)
            )
            if rows != file.group_rows:
                raise DataError(f"{file.path} was changed while it was read.")
            batches = reader.iter_batches(
                PART_ROWS, row_groups=[group], columns=self.schema.names, use_threads=False
            )
            yield from cut(batches, self.schema, start, where)


@dataclass(frozen=True)
class ArrowSource:
    """A pyarrow dataset, or record batches of a function, read part by part.

    Parameters
    ----------
    batches : pyarrow.dataset.Dataset, or callable that returns an iterable of RecordBatch
        A callable is called once for every pass, and must give the same rows in the same order.
    target, in_memory_rows
        As in `ParquetSource`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batch = pa.RecordBatch.from_pydict({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    >>> ArrowSource(lambda: [batch, batch], target="y").n_rows
    4
    """

    batches: Any
    target: str | None = None
    in_memory_rows: int = IN_MEMORY_ROWS

    def __post_init__(self) -> None:
        """Check that the batches can be read more than once."""
        if not (self._is_dataset or callable(self.batches)):
            raise ParameterError(
                "batches must be a pyarrow dataset, or a function that returns record batches anew "
                f"for every pass, got {type(self.batches).__name__}."
            )

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the first record batch."""
        first = self.batches if self._is_dataset else next(iter(self.batches()), None)
        if first is None:
            raise DataError("There is no record batch: `batches` returned an empty iterable.")
        schema = plain_schema(first.schema)
        _check_names([] if self.target is None else [self.target], schema, ())
        return schema

    @cached_property
    def n_rows(self) -> int:
        """Number of rows; those of a callable are counted in a pass of their own."""
        if self._is_dataset:
            return sum(self._fragment_rows)
        return sum(batch.num_rows for batch in self.batches())

    @property
    def _is_dataset(self) -> bool:
        return hasattr(self.batches, "get_fragments")

    @cached_property
    def _fragment_rows(self) -> list[int]:
        return [each.count_rows() for each in self.batches.get_fragments()]

    def parts(self, rng: np.random.Generator | None = None) -> Iterator[Part]:
        """All rows once: in order, or the fragments of a dataset in an order drawn by `rng`."""
        if not self._is_dataset:
            return self._read(self.batches, 0, "the record batches")
        starts = accumulate(self._fragment_rows, initial=0)
        options = {"schema": self.batches.schema, "batch_size": PART_ROWS, "batch_readahead": 2}
        pieces = [
            lambda each=each, start=start: self._read(
                lambda: each.to_batches(use_threads=False, **options), start, _name(each)
            )
            for each, start in zip(self.batches.get_fragments(), starts, strict=False)
        ]
        return in_order(pieces, rng)

    def _read(
        self, batches: Callable[[], Iterable[pa.RecordBatch]], start: int, where: str
    ) -> Iterator[Part]:
        with as_data_errors(where):
            yield from cut(batches(), self.schema, start, where)


def _name(fragment: Any) -> str:
    return str(getattr(fragment, "path", "") or fragment)


def _check_names(names: Sequence[str], schema: pa.Schema, files: Sequence[ParquetFile]) -> None:
    missing = [name for name in names if name not in schema.names]
    if missing:
        which = files[0].path if files else "The first record batch"
        listed = ", ".join(schema.names[:10]) + (" ..." if len(schema.names) > 10 else "")
        raise DataError(f"{which} has no column {missing[0]!r}. Its columns are: {listed}.")

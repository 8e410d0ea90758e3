"""Parts of a table that is read piece by piece: their order, targets, inputs and checks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from calibrant.checks import Array
from calibrant.errors import DataError, DataWarning, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 1 << 14  # rows that are decoded at a time


class Part(NamedTuple):
    """Consecutive rows of a source.

    Attributes
    ----------
    batch : pyarrow RecordBatch
    start : int
        Number of its first row in the source.
    where : str
        File and row group, for errors.
    """

    batch: pa.RecordBatch
    start: int
    where: str


class TableSource(Protocol):
    """A table of known size that can be read as often as needed."""

    @property
    def target(self) -> str | None:
        """Column to predict; None if there is none."""

    @property
    def in_memory_rows(self) -> int:
        """Number of rows up to which `fit` reads the table as a whole."""

    @property
    def schema(self) -> pa.Schema:
        """Columns, the target among them."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def parts(self, rng: np.random.Generator | None = None) -> Iterator[Part]:
        """All rows once: in order, or files and row groups in an order drawn by `rng`."""


Piece = Callable[[], Iterator[Part]]  # a file, row group or fragment, opened when called


def cut(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, start: int, where: str
) -> Iterator[Part]:
    """Parts of bounded size with the columns of a schema."""
    import pyarrow as pa

    for batch in batches:
        columns = [batch.column(name) for name in schema.names]
        cast = [
            column if column.type == each.type else column.cast(each.type, safe=False)
            for column, each in zip(columns, schema, strict=True)
        ]
        whole = pa.RecordBatch.from_arrays(cast, schema=schema)
        for first in range(0, batch.num_rows, PART_ROWS):
            yield Part(whole.slice(first, PART_ROWS), start + first, where)
        start += batch.num_rows


def in_order(pieces: Sequence[Piece], rng: np.random.Generator | None) -> Iterator[Part]:
    """Parts of all pieces, which follow each other in order or in an order drawn by `rng`.

    One piece is open at a time: each holds a page and a dictionary of every column, about 2.5 MB
    per column of distinct numbers. The same memory shuffles more rows in a block.
    """
    order = range(len(pieces)) if rng is None else rng.permutation(len(pieces))
    return chain.from_iterable(pieces[i]() for i in order)


def check_target(source: TableSource) -> str:
    """Return the name of the target of a source, a column of numbers."""
    import pyarrow as pa

    if source.target is None:
        raise ParameterError("The source has no target: pass target= to say what to predict.")
    kind = source.schema.field(source.target).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise DataError(f"The target {source.target!r} must hold numbers, but its type is {kind}.")
    return source.target


def part_target(part: Part, target: str) -> Array:
    """Targets of a part, (n,); NaN where there is none."""
    import pyarrow as pa

    y: Array = part.batch.column(target).cast(pa.float64()).to_numpy(zero_copy_only=False)
    if np.isinf(y).any():
        raise DataError(f"{part.where}: the target {target!r} is infinite in some row.")
    return y


def part_inputs(part: Part, target: str | None) -> pa.RecordBatch:
    """All columns of a part but the target, without infinite values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    batch = part.batch
    inputs = batch.select([name for name in batch.schema.names if name != target])
    for column, field in zip(inputs.columns, inputs.schema, strict=True):
        if pa.types.is_floating(field.type) and pc.any(pc.is_inf(column)).as_py():
            raise DataError(
                f"{part.where}: column {field.name!r} contains infinity. Leave these rows out, or "
                "make them gaps, which can be imputed."
            )
    return inputs


def warn_of_gaps(source: TableSource, n_unknown: int, stacklevel: int) -> None:
    """Warn that rows were left out because they have no target."""
    if n_unknown:
        warnings.warn(
            f"{n_unknown:,} of {source.n_rows:,} rows left out, they have no {source.target!r}.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )

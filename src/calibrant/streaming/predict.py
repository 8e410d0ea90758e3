"""Predictions of a source as Parquet, part by part."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.errors import (
    CalibrantError,
    DataError,
    OutputError,
    OutputExistsError,
    ParameterError,
)
from calibrant.persistence import check_folder_of
from calibrant.streaming.inputs import Inputs, fitted_columns
from calibrant.tables import TableSource, part_inputs
from calibrant.training import open_row_progress

if TYPE_CHECKING:
    import pyarrow as pa

_GROUP_ROWS = 1 << 17  # rows of a row group
_FILE_ROWS = 1 << 20  # rows of a file in a folder


def predict_parquet(
    model: Any,
    source: TableSource,
    out: str | os.PathLike[str],
    *,
    coverage: Sequence[float] = (0.9,),
    alpha: Sequence[float] = (),
    keep: Sequence[str] = (),
    inputs: Inputs | None = None,
    overwrite: bool = False,
    verbose: bool = False,
) -> list[str]:
    """Predict the rows of a source in their order, and write them as Parquet.

    Only a part of the rows is in memory at a time. The result is written completely or not at all.

    Parameters
    ----------
    model : fitted model
    source : ParquetSource or ArrowSource
    out : path
        A file that ends in ``.parquet``, or a folder of parts of about a million rows, whose names
        sort in the order of the rows.
    coverage : sequence of float
        Of the intervals, columns such as lower_90 and upper_90.
    alpha : sequence of float
        Levels of the quantiles, columns such as quantile_5.
    keep : sequence of str
        Columns of the source to put beside the predictions.
    inputs : callable, optional
        From a frame of the columns of the source to what the model predicts; by default it selects
        the columns that the model was fitted on.
    overwrite : bool
        Replace a file or folder.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    list of str
        Names of the columns.
    """
    if missing := [name for name in keep if name not in source.schema.names]:
        raise DataError(f"The source has no column {missing[0]!r}, which keep names.")
    if "://" in os.fspath(out):
        raise ParameterError(
            f"{out} is a URL, but only local files are written: name a local file or folder, or "
            "use calibrant.engines.predict_on_ray, whose result is written anywhere."
        )
    path, select = Path(out), inputs or fitted_columns(model)
    import pyarrow as pa

    progress = open_row_progress("Predicting", source.n_rows, verbose=verbose)
    with _staged(path, overwrite=overwrite) as write, progress as advance:
        for part in source.parts():
            frame = part_inputs(part, source.target).to_pandas()
            made = model.predict_table(select(frame), coverage, alpha, container="arrow")
            if clashes := [name for name in keep if name in made.column_names]:
                raise ParameterError(
                    f"keep names {clashes[0]!r}, but the predictions have a column of that name."
                )
            kept = part.batch.select(list(keep))
            names = [*keep, *made.column_names]
            write(pa.table([*kept.columns, *made.columns], names=names))
            advance(len(frame))
    return names


@contextmanager
def _staged(out: Path, *, overwrite: bool) -> Iterator[Callable[[pa.Table], None]]:
    """Function that writes tables; they move to `out` once all of them are written."""
    _check_output(out, overwrite=overwrite)
    # Beside the destination: a rename is atomic within one file system only.
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    writer = _PartWriter(work / "new", one_file=out.suffix == ".parquet")
    try:
        yield writer.write
        made = writer.close()
        if out.is_dir():
            os.replace(out, work / "old")
        try:
            os.replace(made, out)
        except OSError:
            if (work / "old").exists():
                os.replace(work / "old", out)
            raise
    except OSError as error:
        if isinstance(error, CalibrantError):
            raise
        raise OutputError(
            f"{out} can't be written: {error.strerror or error}. Nothing of it was kept; make room "
            "or choose another place."
        ) from error
    finally:
        with suppress(OSError):  # a full disk can't take the end of the file either
            writer.end_file()
        shutil.rmtree(work, ignore_errors=True)


def _check_output(out: Path, *, overwrite: bool) -> None:
    check_folder_of(out)
    if not out.exists():
        return
    if not overwrite:
        raise OutputExistsError(
            f"{out} exists already. Choose another name, or overwrite it (overwrite=True, --force "
            "on the command line)."
        )
    is_ours = all(each.suffix == ".parquet" for each in out.iterdir()) if out.is_dir() else True
    if out.is_dir() == (out.suffix == ".parquet") or not is_ours:
        raise OutputExistsError(f"{out} is not such a result: it is not replaced.")


class _PartWriter:
    """Writes tables to one file, or to files of a folder, in row groups of equal size."""

    def __init__(self, path: Path, *, one_file: bool) -> None:
        self._path, self._one_file = path, one_file
        self._waiting: list[pa.Table] = []
        self._file: Any = None
        self._n_files = self._file_rows = 0

    def write(self, table: pa.Table) -> None:
        """Write a table, once there are enough rows for a row group."""
        self._waiting.append(table)
        if sum(len(each) for each in self._waiting) >= _GROUP_ROWS:
            self._flush()

    def close(self) -> Path:
        """Write what is left, and return the file or folder."""
        if self._waiting:
            self._flush()
        self.end_file()
        return self._path

    def _flush(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.concat_tables(self._waiting)
        self._waiting = []
        if self._file is None:
            name = self._path
            if not self._one_file:
                self._path.mkdir(exist_ok=True)
                name = self._path / f"part-{self._n_files:05d}.parquet"
            self._file = parquet.ParquetWriter(name, table.schema, write_page_checksum=True)
            self._n_files, self._file_rows = self._n_files + 1, 0
        self._file.write_table(table)
        self._file_rows += len(table)
        if not self._one_file and self._file_rows >= _FILE_ROWS:
            self.end_file()

    def end_file(self) -> None:
        """Close the current file."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

"""Results in files: checked before the work, written completely or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli._interrupts import uninterrupted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def check_output(path: Path | None, *, force: bool) -> None:
    """Check before the work that its result can be written afterwards."""
    if path is not None:
        from calibrant.persistence import check_file_free

        check_file_free(path, overwrite=force)


def check_table_output(path: Path | None, *, force: bool) -> None:
    """Check before the work that a table can be written afterwards."""
    from calibrant.tables import check_suffix

    if path is not None:
        check_suffix(path)
        check_output(path, force=force)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table, CSV or Parquet by suffix."""
    with staged(path.parent) as folder:
        if path.name.lower().endswith(".parquet"):
            frame.to_parquet(folder / path.name, index=False)
        else:
            frame.to_csv(folder / path.name, index=False)


def write_figure(figure: Figure, path: Path, *, dpi: int = 110) -> None:
    """Write a figure in the format of its suffix."""
    with staged(path.absolute().parent) as folder:
        figure.savefig(folder / path.name, dpi=dpi)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files move into `folder` once all of them are written.

    `folder` is made if necessary, and removed again if nothing was written.
    """
    # Beside the destination: a rename is atomic within one file system only.
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".calibrant.", dir=folder))
    try:
        yield work
        files = sorted(work.iterdir())
        with uninterrupted(*(folder / file.name for file in files)):
            for file in files:
                os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if made and not any(folder.iterdir()):
            folder.rmdir()

"""Parsing a published table from the bytes of a file or archive."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.datasets._xlsx import read_xlsx
from calibrant.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

# Far above the largest table here (3.5 MB): more is a zip bomb or another file.
_MAX_BYTES = 256 * 2**20


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a table is written.

    Parameters
    ----------
    sep : str
        Separator, a regular expression if longer than one character.
    decimal : str
        Decimal mark.
    header : tuple of str
        Column names of a file that has none of its own.
    missing : tuple of str
        Texts that stand for a gap, besides an empty cell.
    sheet : bool
        Whether the file is an Excel workbook with the table as its first sheet.
    """

    sep: str = ","
    decimal: str = "."
    header: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sheet: bool = False


def read_layout(content: bytes, layout: Layout, member: str) -> pd.DataFrame:
    """Parse a table from its bytes, unpacking archives on the way.

    Parameters
    ----------
    content : bytes
        Of a CSV file, a workbook, or one of them in a zip or gzip archive.
    layout : Layout
    member : str
        The only file of a zip archive that is read.
    """
    import pandas as pd

    try:
        plain = _unpack(content, layout, member)
        if layout.sheet:
            return read_xlsx(plain)
        frame = pd.read_csv(
            io.BytesIO(plain),
            sep=layout.sep,
            dtype=str,
            header=None if layout.header else 0,
            names=list(layout.header) or None,
            # "NA" is a borough and "None" a kind of day: only the registered texts mean a gap.
            keep_default_na=False,
            na_values=["", *layout.missing],
        )
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"the content can't be read as the table it should be: {error}") from error
    # Air Quality ends its lines, and its file, with empty cells.
    filled = frame.dropna(how="all").dropna(how="all", axis="columns").reset_index(drop=True)
    return filled.apply(_typed, decimal=layout.decimal)


def _typed(column: pd.Series[str], decimal: str) -> pd.Series[Any]:
    """Convert a column to numbers if all its texts are numbers.

    The conversion is that of Python: some versions of pandas are off in the last digit, and the
    checksum must not depend on the version.
    """
    import pandas as pd

    try:
        texts = column.str.replace(decimal, ".", regex=False)
        values = np.array(texts.to_list(), dtype=np.float64)
    except ValueError:
        return column
    whole = bool((values == np.floor(values)).all())  # False with gaps: nan != nan
    return pd.Series(values.astype(np.int64) if whole else values, index=column.index)


def _unpack(content: bytes, layout: Layout, member: str) -> bytes:
    """Unpack zip and gzip files in memory."""
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if layout.sheet and "xl/workbook.xml" in archive.namelist():
                return content  # a workbook is a zip file itself
            with archive.open(member) as file:
                return _unpack(_bounded(file.read(_MAX_BYTES + 1)), layout, member)
    if content.startswith(b"\x1f\x8b"):
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            return _bounded(file.read(_MAX_BYTES + 1))
    return content


def _bounded(content: bytes) -> bytes:
    if len(content) > _MAX_BYTES:
        raise DataError(f"the file unpacks to more than {_MAX_BYTES:,} bytes.")
    return content

"""The first sheet of an Excel workbook.

One data set is published as a workbook. These few lines spare all users an Excel package, and the
checksum of the content notices whatever they might misread.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from calibrant.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

_MAX_BYTES = 64 * 2**20
_SHEET, _TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


def read_xlsx(content: bytes) -> pd.DataFrame:
    """Read a sheet without empty cells: one row of column names, then numbers."""
    import pandas as pd

    with zipfile.ZipFile(io.BytesIO(content)) as book:
        texts = []  # every text is stored once, cells refer to it by its number
        if _TEXTS in book.namelist():
            texts = ["".join(item.itertext()) for item in _parse(book, _TEXTS).iterfind("{*}si")]
        rows = _parse(book, _SHEET).iterfind("{*}sheetData/{*}row")
        header, *body = [[_value(cell, texts) for cell in row] for row in rows]
    return pd.DataFrame(body, columns=header)


def _parse(book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if book.getinfo(name).file_size > _MAX_BYTES:
        raise DataError(f"{name} of the workbook unpacks to more than {_MAX_BYTES:,} bytes.")
    return ElementTree.fromstring(book.read(name))


def _value(cell: ElementTree.Element, texts: list[str]) -> str | float:
    content = "".join(cell.itertext())
    if cell.get("t") == "s":
        return texts[int(content)]
    return content if cell.get("t") in ("str", "inlineStr") else float(content)

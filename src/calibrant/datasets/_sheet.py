"""The first sheet of an Excel workbook: one data set should not cost everybody a package."""

from __future__ import annotations

import io
import re
import zipfile
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from calibrant.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

_NS = {"s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
_MOST_BYTES = 64 * 2**20


def read_sheet(content: bytes) -> pd.DataFrame:
    """Read a sheet of numbers below one line of column names."""
    import pandas as pd

    with zipfile.ZipFile(io.BytesIO(content)) as book:
        texts = _shared_texts(book)
        sheet = ElementTree.fromstring(_part(book, "xl/worksheets/sheet1.xml"))
    rows = [
        {_column(cell): _value(cell, texts) for cell in row.findall("s:c", _NS)}
        for row in sheet.iterfind("s:sheetData/s:row", _NS)
    ]
    if not rows:
        raise DataError("the first sheet of the workbook is empty.")
    names = rows[0]
    return pd.DataFrame(
        {str(name): [row.get(key) for row in rows[1:]] for key, name in names.items()}
    )


def _part(book: zipfile.ZipFile, name: str) -> bytes:
    if book.getinfo(name).file_size > _MOST_BYTES:
        raise DataError(f"{name} of the workbook unpacks to more than {_MOST_BYTES:,} bytes.")
    return book.read(name)


def _shared_texts(book: zipfile.ZipFile) -> list[str]:
    """Texts of a workbook are written once and referred to by their number."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    root = ElementTree.fromstring(_part(book, "xl/sharedStrings.xml"))
    return ["".join(item.itertext()) for item in root.findall("s:si", _NS)]


def _column(cell: ElementTree.Element) -> str:
    return re.sub(r"\d", "", cell.get("r", ""))  # "B7" is in column "B"


def _value(cell: ElementTree.Element, texts: list[str]) -> str | float | None:
    if cell.get("t") == "inlineStr":
        return "".join(cell.itertext())
    text = cell.findtext("s:v", namespaces=_NS)
    if text is None:
        return None
    if cell.get("t") == "s":
        return texts[int(text)]
    return text if cell.get("t") == "str" else float(text)

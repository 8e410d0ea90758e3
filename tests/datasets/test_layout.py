"""One table in many packings, one checksum."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from tests.datasets.conftest import MAIN, zipped

from calibrant.datasets import _layout
from calibrant.datasets._content import content_digest
from calibrant.datasets._layout import Layout, read_layout
from calibrant.errors import DataError

CSV = b"a,b,t\n1,2.5,x\n-3,0.1,NA\n"


def workbook() -> bytes:
    """The same numbers as an Excel file, the names once as shared text and once in line."""
    cells = (
        '<row r="1"><c r="A1" t="s"><v>1</v></c>'
        '<c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
        '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2.5</v></c></row>'
        '<row r="3"><c r="A3"><v>-3</v></c><c r="B3"><v>0.10000000000000001</v></c></row>'
    )
    shared = f'<sst xmlns="{MAIN}"><si><t>no</t></si><si><r><t>a</t></r></si></sst>'
    return zipped(
        {
            "xl/workbook.xml": b"<workbook/>",
            "xl/sharedStrings.xml": shared.encode(),
            "xl/worksheets/sheet1.xml": (
                f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'.encode()
            ),
        }
    )


@pytest.mark.parametrize(
    ("content", "layout"),
    [
        (CSV, Layout()),
        (CSV.replace(b"\n", b"\r\n"), Layout()),
        (gzip.compress(CSV, mtime=0), Layout()),
        (zipped({"other.csv": b"", "in/t.csv": CSV}), Layout()),
        (zipped({"in/t.csv": gzip.compress(CSV, mtime=0)}), Layout()),
        (b"a;b;t;;\n1;2,5;x;;\n-3;,1;NA;;\n;;;;\n", Layout(sep=";", decimal=",")),
        (b" 1.0  2.50 x\n-3e0  1e-1 NA\n", Layout(sep=r"\s+", header=("a", "b", "t"))),
    ],
)
def test_packing_does_not_matter(content: bytes, layout: Layout) -> None:
    frame = read_layout(content, layout, "in/t.csv")
    assert content_digest(frame) == content_digest(read_layout(CSV, Layout(), ""))
    assert list(frame["t"]) == ["x", "NA"]


@pytest.mark.parametrize("content", [workbook(), zipped({"in/t.xlsx": workbook()})])
def test_workbook(content: bytes) -> None:
    frame = read_layout(content, Layout(sheet=True), "in/t.xlsx")
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"a": [1.0, -3.0], "b": [2.5, 0.1]}))


def test_missing_texts_are_gaps_only_where_named() -> None:
    frame = read_layout(b"a,t\n1,x\nNA,y\n", Layout(missing=("NA",)), "")
    assert np.isnan(frame["a"].iloc[1])


@pytest.mark.parametrize(
    "other",
    [
        b"a,c,t\n1,2.5,x\n-3,0.1,NA\n",
        b"b,a,t\n1,2.5,x\n-3,0.1,NA\n",
        b"a,b,t\n-3,0.1,NA\n1,2.5,x\n",
        b"a,b,t\n1,2.5,x\n-3,0.10000000000000002,NA\n",
        b"a,b,t\n1,2.5,x\n-3,,NA\n",
        b"a,b,t\n1,2.5,xN\n-3,0.1,A\n",
        b"a,b,t\n1,2.5,x\n-3,0.1,\n",
    ],
)
def test_content_matters(other: bytes) -> None:
    assert content_digest(read_layout(other, Layout(), "")) != content_digest(
        read_layout(CSV, Layout(), "")
    )


def test_digest_is_stable() -> None:
    """The registered checksums depend on it: a change here is a change of all of them."""
    frame = pd.DataFrame({"a": [1, 2], "t": ["x", None]})
    assert content_digest(frame) == (
        "dcb42ec265f962ca52d74761f3072e8eafa321399c6636eb54352bb4b52338f1"
    )


def test_negative_zero_and_integer_types_do_not_matter() -> None:
    digest = content_digest(pd.DataFrame({"a": [0.0, 1.0]}))
    assert digest == content_digest(pd.DataFrame({"a": [-0.0, 1.0]}))
    assert digest == content_digest(pd.DataFrame({"a": np.array([0, 1], dtype="int32")}))
    assert digest == content_digest(pd.DataFrame({"a": [False, True]}))


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_layout, "_MAX_BYTES", 1000)
    bomb = b"a\n" + b"1\n" * 10_000
    for content in (gzip.compress(bomb), zipped({"t.csv": bomb})):
        with pytest.raises(DataError, match="unpacks to more than 1,000 bytes"):
            read_layout(content, Layout(), "t.csv")

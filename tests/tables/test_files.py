"""Formats and values; unreadable files are tested in tests/cli/test_bad_input.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.errors import ParameterError
from calibrant.tables import check_suffix, read_table


def test_columns_of_text_stay_as_the_file_has_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("code,number\n01,01\n2,2\n")
    assert read_table(path)["code"].tolist() == [1, 2]
    frame = read_table(path, text=["code", "absent"])
    assert frame["code"].tolist() == ["01", "2"]
    assert frame["number"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.csv", ".csv"), ("a.b.CSV.gz", ".csv.gz"), ("a.parquet", ".parquet")],
)
def test_the_suffix_says_the_format(name: str, suffix: str) -> None:
    assert check_suffix(Path(name)) == suffix


def test_unknown_suffix() -> None:
    with pytest.raises(ParameterError, match=r"a\.xlsx must end in \.csv, \.csv\.gz or \.parquet"):
        check_suffix(Path("a.xlsx"))

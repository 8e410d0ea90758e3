"""Formats and values; unreadable files are tested in tests/cli/test_bad_input.py."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from calibrant.errors import DataError, DataWarning, ParameterError
from calibrant.tables import check_suffix, parse_numbers, read_table


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
    with pytest.raises(
        ParameterError, match=r"a\.xlsx must end in \.csv, \.csv\.gz, \.tsv, \.txt or"
    ):
        check_suffix(Path("a.xlsx"))


@pytest.mark.parametrize(
    ("separator", "suffix"), [(",", "csv"), (";", "csv"), ("\t", "tsv"), ("|", "txt")]
)
def test_separators_are_detected(tmp_path: Path, separator: str, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    rows = [["size", "note"], ["1.5", '"a, b; c"'], ["2", "d"]]
    path.write_text("".join(f"{separator.join(row)}\n" for row in rows))
    frame = read_table(path)
    assert frame.to_dict("list") == {"size": [1.5, 2.0], "note": ["a, b; c", "d"]}


def test_decimal_commas_between_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("size;code\n1,5;a,b\n-2,25;c\n")
    assert read_table(path).to_dict("list") == {"size": [1.5, -2.25], "code": ["a,b", "c"]}


def test_decimal_commas_beside_stray_cells_and_points_for_thousands(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "size;price;day\n0,5;1.250,50;01.02.2024\nsee note;980;02.02.2024\n1,25;5.914;\n"
    )
    frame = read_table(path)
    assert parse_numbers(frame["size"]).tolist()[::2] == [0.5, 1.25]
    assert parse_numbers(frame["price"]).tolist() == [1250.5, 980.0, 5914.0]
    assert frame["day"].tolist()[:2] == ["01.02.2024", "02.02.2024"]


def test_decimal_commas_before_units(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("weight;price;room\n0,5 kg;1.250,50 EUR;2.1\n1,25 kg;$ 980;2.2\n")
    frame = read_table(path)
    assert frame["weight"].tolist() == ["0.5 kg", "1.25 kg"]
    assert frame["price"].tolist() == ["1250.50 EUR", "$ 980"]


@pytest.mark.parametrize(("cells", "size"), [(("0,500", "1,2"), 0.5), (("1,250", "3,000"), 1250.0)])
def test_commas_between_tabs_are_decimal_unless_all_are_thousands(tmp_path, cells, size) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("size\tnote\n" + "".join(f"{cell}\tx\n" for cell in cells))
    assert parse_numbers(read_table(path)["size"])[0] == size


def test_spaces_around_names_and_repeated_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("code , price,z,z,\n01 ,1,2,3,4\n02,5,6,7,8\n", encoding="utf-8-sig")
    with pytest.warns(DataWarning, match=r"more than one column 'z': the later ones .* 'z\.1'"):
        frame = read_table(path, text=["code"])
    assert frame.columns.tolist() == ["code", "price", "z", "z.1", "Unnamed: 4"]
    assert frame["code"].tolist() == ["01 ", "02"]


def test_a_single_column_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("size\n1\n2\n")
    assert read_table(path)["size"].tolist() == [1, 2]


def test_a_broken_line_is_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 30 + "1,2,3\n" + "4,5\n")
    with pytest.warns(DataWarning, match=r"t\.csv: line 32 has 3 fields instead of 2 and is left"):
        frame = read_table(path)
    assert (len(frame), frame["b"].iloc[-1]) == (31, 5)
    path.write_text("a,b\n" + "1,2\n" * 30 + "1,2,3\n" * 3)
    with pytest.raises(DataError, match="can't be read as CSV"):
        read_table(path)


def test_lines_that_are_too_short_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "1,2,3\n" * 5 + '"4\n5",6\n\n' + "1,2,\n")
    with pytest.warns(DataWarning, match=r"line 8 has 2 fields instead of 3, and gaps for the"):
        frame = read_table(path)
    assert frame["c"].isna().sum() == 2  # the empty cell is a gap that was meant
    path.write_text("a,b\n" + "1,2\n" * 5 + "3\n4\n")
    with pytest.warns(DataWarning, match=r"2 lines have gaps .* line 7 has 1 field instead of 2\."):
        read_table(path)
    path.write_text("a,b\n1,2\n3,\n\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(path)

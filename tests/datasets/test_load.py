from __future__ import annotations

import dataclasses
import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.datasets.conftest import CSV

from calibrant.datasets import cache_dir, info, load, names, series, variants
from calibrant.errors import DataError, MissingFileError, ParameterError

SERIES = ["bike_sharing", "pickups", "pm25", "metro_traffic", "air_quality"]
PAPER = ["power_plant", "protein", "naval", "wine", *SERIES]


def test_names_are_unique_and_sorted_by_kind() -> None:
    listed = names()
    assert len(set(listed)) == len(listed)
    generated, stored = listed[: listed.index("diabetes")], listed[listed.index("diabetes") + 1 :]
    assert {"heteroscedastic", "skewed", "bimodal", "discrete", "seasonal"} <= set(generated)
    assert [name for name in stored if name in PAPER] == PAPER


def test_the_page_on_data_names_them_all() -> None:
    page = Path(__file__).parents[2] / "docs" / "data.md"
    table = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    assert not [name for name in names() if f"`{name}`" not in "".join(table)]


def test_variants() -> None:
    assert variants("wine") == variants("skewed") == ["raw"]
    assert [name for name in names() if "as_run" in variants(name)] == SERIES


@pytest.mark.parametrize("name", names()[: names().index("diabetes")])
def test_synthetic_by_name(name: str) -> None:
    assert len(load(name).frame) == 2000
    data = load(name, n=30, random_state=5)
    assert data.name == name
    assert (data.task == "forecasting") == (name in {each.__name__ for each in series.GENERATORS})
    assert len(data.y) == 30
    np.testing.assert_array_equal(data.y, load(name, n=30, random_state=5).y)


def test_diabetes() -> None:
    data = load("diabetes")
    assert data.X.shape == (442, 10)
    assert data.target == "progression"
    assert "progression" not in data.X
    assert data.X["age"].max() > 60  # in years, not scaled
    assert data.truth is None
    assert data.time is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wine", "variant of data set 'wine' must be 'raw'; got 'as-run'"),
        ("pm25", "variant of data set 'pm25' must be 'raw' or 'as_run'; got 'as-run'"),
        ("skewed", "variant of data set 'skewed' must be 'raw'; got 'as-run'"),
    ],
)
def test_unknown_variant(name: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        load(name, "as-run")


@pytest.mark.parametrize("ask", [load, info, variants])
def test_every_question_knows_the_names(ask: Callable[[str], object]) -> None:
    with pytest.raises(ParameterError, match="Unknown data set 'zzz'"):
        ask("zzz")


def test_the_first_rows_of_a_series() -> None:
    whole, part = load("seasonal", n=50), load("seasonal", n=20)
    assert part.time is not None
    assert list(part.time) == list(whole.time[:20])


def test_unknown_name_suggests_the_closest() -> None:
    with pytest.raises(ParameterError, match=r"'power_plnt'. Did you mean 'power_plant'\?") as info:
        load("power_plnt")
    assert all(name in str(info.value) for name in names())


def test_unknown_name_without_a_close_one_lists_all() -> None:
    with pytest.raises(ParameterError, match=r"^Unknown data set 'zzz'. The known ones are: "):
        load("zzz")


def test_a_subset_is_random_but_ordered() -> None:
    whole, part = load("diabetes"), load("diabetes", n=100, random_state=1)
    merged = part.frame.merge(whole.frame.reset_index(), how="left")
    assert merged["index"].is_monotonic_increasing
    assert list(part.frame.index) == list(range(100))
    assert not part.frame.equals(load("diabetes", n=100, random_state=2).frame)
    assert part.frame.equals(load("diabetes", n=100, random_state=1).frame)


@pytest.mark.parametrize("n", [0, 443, 1.5])
def test_subset_out_of_range(n: float) -> None:
    with pytest.raises(ParameterError, match="from 1 to 442"):
        load("diabetes", n=n)


def test_stored_from_an_explicit_folder(stored: Path) -> None:
    data = load("tiny", data_dir=stored.parent)
    assert list(data.frame.columns) == ["a", "b", "y"]
    assert list(data.X.columns) == ["a", "b"]
    np.testing.assert_array_equal(data.y, [3.0, 7.0, 11.0])
    assert data.y.dtype == np.float64
    assert data.info.page == "https://example.org/tiny"
    assert data.info.variant == "raw"


def test_stored_from_the_environment(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(stored.parent))
    assert len(load("tiny").y) == 3


def test_stored_from_the_cache(stored: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    stored.rename(tmp_path / "cache" / stored.name)
    assert len(load("tiny").y) == 3
    assert info("tiny").at_hand


def test_the_explicit_folder_comes_first_and_the_others_after(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(stored.parent))
    first = tmp_path / "first"
    first.mkdir()
    assert len(load("tiny", data_dir=first).y) == 3
    (first / "tiny.csv").write_bytes(CSV + b"13,14,15,16\n")
    with pytest.raises(DataError, match=r"first/tiny.csv"):
        load("tiny", data_dir=first)


@pytest.mark.parametrize("by", ["data_dir", "CALIBRANT_DATA"])
def test_a_folder_that_is_not_there(
    by: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if by == "CALIBRANT_DATA":
        monkeypatch.setenv(by, str(elsewhere))
    with pytest.raises(MissingFileError, match=f"no folder .*elsewhere, which {by} names"):
        load("tiny", data_dir=elsewhere if by == "data_dir" else None)


def test_in_no_folder_says_what_to_do(stored: Path) -> None:
    stored.unlink()
    with pytest.raises(FileNotFoundError, match=r"tiny.csv.gz.*ask its owner.*set CALIBRANT_DATA"):
        load("tiny")
    assert not info("tiny").at_hand


def test_packed_differently_is_the_same(stored: Path) -> None:
    stored.write_bytes(gzip.compress(CSV.replace(b"\n", b"\r\n"), compresslevel=1))
    assert len(load("tiny", data_dir=stored.parent).y) == 3


def test_another_content_is_refused(stored: Path) -> None:
    stored.write_bytes(gzip.compress(CSV + b"13,14,15,16\n"))
    with pytest.raises(DataError, match=r"expected checksum .*, got .*damaged or another version"):
        load("tiny", data_dir=stored.parent)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/calibrant"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "/c"}, "/c/calibrant"),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/calibrant"),
        ("win32", {"HOME": "/u", "LOCALAPPDATA": "/local"}, "/local/calibrant"),
        ("linux", {"HOME": "/home/me", "CALIBRANT_CACHE": "~/mine"}, "/home/me/mine"),
    ],
)
def test_cache_folder(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "CALIBRANT_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_dir() == Path(expected)


def test_a_data_set_cannot_be_edited_in_place() -> None:
    data = load("skewed", n=10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.frame = data.X


def test_the_room_is_light() -> None:
    heavy = {"pandas", "sklearn", "scipy", "torch"}
    code = f"import sys, calibrant.datasets; sys.exit(str({heavy!r} & set(sys.modules) or 0))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.strip() in ("", "0"), done.stderr

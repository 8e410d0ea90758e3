from __future__ import annotations

import dataclasses
import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from calibrant.datasets import _registry, load, names
from calibrant.errors import DataError, MissingFileError, ParameterError

CSV = b"a,b,y,leak\n1,2,3,4\n5,6,7,8\n9,10,11,12\n"


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registered data set of three rows, `tiny`, in a folder of its own."""
    path = tmp_path / "tiny.csv.gz"
    path.write_bytes(gzip.compress(CSV, mtime=0))
    spec = _registry.StoredSet(
        file=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        target="y",
        drop=("leak",),
        description="three rows",
        licence="none",
        page="https://example.org/tiny",
    )
    monkeypatch.setitem(_registry.STORED, "tiny", spec)
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    return path


def test_names_are_loadable_and_unique() -> None:
    listed = names()
    assert len(set(listed)) == len(listed)
    assert {"heteroscedastic", "skewed", "bimodal", "diabetes"} <= set(listed)
    assert {"power_plant", "protein", "naval", "wine"} <= set(listed)


@pytest.mark.parametrize("name", ["heteroscedastic", "skewed", "bimodal"])
def test_synthetic_by_name(name: str) -> None:
    assert len(load(name).frame) == 2000
    data = load(name, n=30, random_state=5)
    assert data.name == name
    assert data.task == "regression"
    assert len(data.y) == 30
    np.testing.assert_array_equal(data.y, load(name, n=30, random_state=5).y)


def test_diabetes() -> None:
    data = load("diabetes")
    assert data.X.shape == (442, 10)
    assert data.target == "progression"
    assert "progression" not in data.X
    assert data.X["age"].max() > 60  # in years, not scaled
    assert data.truth is None


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
    assert data.source == "https://example.org/tiny"


def test_stored_from_the_environment(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(stored.parent))
    assert len(load("tiny").y) == 3


def test_the_explicit_folder_wins(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(stored.parent))
    with pytest.raises(MissingFileError, match=r"tiny.csv.gz, which is not in .*elsewhere"):
        load("tiny", data_dir=tmp_path / "elsewhere")


def test_no_folder_says_what_to_do(stored: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"tiny.csv.gz.*data_dir= or set CALIBRANT_DATA"):
        load("tiny")


def test_another_file_is_refused(stored: Path) -> None:
    stored.write_bytes(gzip.compress(CSV + b"13,14,15,16\n"))
    with pytest.raises(DataError, match=r"expected sha256 .*, got .*damaged or another version"):
        load("tiny", data_dir=stored.parent)


def test_a_data_set_cannot_be_edited_in_place() -> None:
    data = load("skewed", n=10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.target = "x"


def test_the_room_is_light() -> None:
    heavy = {"pandas", "sklearn", "scipy", "torch"}
    code = f"import sys, calibrant.datasets; sys.exit(str({heavy!r} & set(sys.modules) or 0))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.strip() in ("", "0"), done.stderr

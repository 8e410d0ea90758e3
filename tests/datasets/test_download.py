"""Downloads from a server on this machine, with all failures that a network has."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from tests.datasets.conftest import CSV, Site, zipped

from calibrant.datasets import _download, info, load
from calibrant.errors import DataError, MissingFileError


def files_in_cache(offered: Path) -> list[str]:
    return sorted(path.name for path in offered.parent.glob("*"))


def test_download_into_the_cache(offered: Path, site: Site) -> None:
    assert not info("tiny").at_hand
    np.testing.assert_array_equal(load("tiny").y, [3.0, 7.0, 11.0])
    assert offered.read_bytes() == site.content
    assert files_in_cache(offered) == ["tiny+set.zip"]
    assert info("tiny").at_hand
    load("tiny")
    assert site.requests == 1  # the second time it comes from the cache


def test_nothing_of_the_archive_lands_outside(offered: Path, places: Path) -> None:
    load("tiny")
    assert not list(places.rglob("outside.csv"))
    assert not list(places.rglob("tiny.csv"))


def test_a_folder_comes_before_the_net(offered: Path, places: Path, site: Site) -> None:
    (places / "tiny.csv").write_bytes(CSV)
    load("tiny", data_dir=places)
    assert site.requests == 0


def test_download_can_be_forbidden(offered: Path, site: Site) -> None:
    with pytest.raises(MissingFileError, match="in none of the folders searched"):
        load("tiny", download=False)
    assert site.requests == 0


def test_a_truncated_body_is_downloaded_again(offered: Path, site: Site) -> None:
    site.failures = ["truncated"]
    load("tiny")
    assert site.requests == 2
    assert offered.read_bytes() == site.content


def test_a_busy_server_is_asked_again(offered: Path, site: Site) -> None:
    site.failures = ["503", "503", "429"]
    load("tiny")
    assert site.requests == 4


def test_pauses_double(offered: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(_download, "FIRST_PAUSE_S", 0.5)
    monkeypatch.setattr(_download.time, "sleep", pauses.append)
    site.failures = ["503"] * 3
    load("tiny")
    assert pauses == [0.5, 1.0, 2.0]


def test_the_last_failure_says_what_to_do(offered: Path, site: Site) -> None:
    site.failures = ["503"] * 4 + ["truncated"]
    with pytest.raises(MissingFileError, match=r"in 5 attempts: .*ended.*set CALIBRANT_DATA"):
        load("tiny")
    assert site.requests == 5
    assert files_in_cache(offered) == []


def test_not_found_is_final(offered: Path, site: Site) -> None:
    site.failures = ["404"]
    with pytest.raises(MissingFileError, match=r"tiny\+set.zip answers 404 .*To get it, download"):
        load("tiny")
    assert site.requests == 1
    assert files_in_cache(offered) == []


def test_no_server_at_all(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_download, "ATTEMPTS", 2)
    with pytest.raises(MissingFileError, match=r"could not be downloaded in 2 attempts: .*refused"):
        _download.download("http://127.0.0.1:9/file.zip")


def test_other_content_is_not_kept(offered: Path, site: Site) -> None:
    site.content = zipped({"folder/tiny.csv": CSV + b"13,14,15,16\n"})
    with pytest.raises(DataError, match=r"expected checksum .*, got .*another version"):
        load("tiny")
    assert files_in_cache(offered) == []


@pytest.mark.parametrize(
    "content", [b"<html>Sorry</html>" * 9, b"PK\x03\x04 broken", b"\x1f\x8b x"]
)
def test_rubbish_is_not_kept(offered: Path, site: Site, content: bytes) -> None:
    site.content = content
    with pytest.raises(DataError, match=r"tiny\+set.zip (is not data set|does not hold)"):
        load("tiny")
    assert files_in_cache(offered) == []


def test_an_archive_without_the_member(offered: Path, site: Site) -> None:
    site.content = zipped({"tiny.csv": CSV})
    with pytest.raises(DataError, match=r"folder/tiny.csv"):
        load("tiny")


def test_two_at_once_leave_one_complete_file(offered: Path, site: Site) -> None:
    threads = [threading.Thread(target=load, args=("tiny",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert offered.read_bytes() == site.content
    assert files_in_cache(offered) == ["tiny+set.zip"]

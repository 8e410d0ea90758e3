"""Downloads from a server on this machine, with every trouble a net has."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from tests.datasets.conftest import CSV, Site, zipped

from calibrant.datasets import _download, info, load
from calibrant.errors import DataError, MissingFileError


def files_in_cache(offered: Path) -> list[str]:
    return sorted(path.name for path in offered.parent.iterdir() if path.suffix != ".lock")


def test_download_into_the_cache(offered: Path, site: Site) -> None:
    assert not info("tiny").at_hand
    np.testing.assert_array_equal(load("tiny").y, [3.0, 7.0, 11.0])
    assert offered.read_bytes() == site.content
    assert files_in_cache(offered) == ["tiny+set.zip"]
    assert info("tiny").at_hand
    load("tiny")
    assert len(site.ranges) == 1  # the second time it comes from the cache


def test_nothing_of_the_archive_lands_outside(offered: Path, places: Path) -> None:
    load("tiny")
    assert not list(places.rglob("outside.csv"))
    assert not list(places.rglob("tiny.csv"))


def test_a_folder_comes_before_the_net(offered: Path, places: Path, site: Site) -> None:
    (places / "tiny.csv").write_bytes(CSV)
    load("tiny", data_dir=places)
    assert site.ranges == []


def test_download_can_be_forbidden(offered: Path, site: Site) -> None:
    with pytest.raises(MissingFileError, match="in none of the folders"):
        load("tiny", download=False)
    assert site.ranges == []


def test_an_earlier_download_is_resumed(offered: Path, site: Site) -> None:
    offered.parent.mkdir()
    offered.with_name("tiny+set.zip.part").write_bytes(site.content[:100])
    load("tiny")
    assert site.ranges == ["bytes=100-"]
    assert offered.read_bytes() == site.content


def test_a_truncated_body_is_completed(offered: Path, site: Site) -> None:
    site.troubles = ["truncated"]
    load("tiny")
    assert site.ranges == [None, f"bytes={len(site.content) // 2}-"]
    assert offered.read_bytes() == site.content


def test_a_server_without_ranges_sends_everything_again(offered: Path, site: Site) -> None:
    site.troubles = ["truncated", "no ranges"]
    load("tiny")
    assert offered.read_bytes() == site.content


def test_a_piece_of_another_file_is_thrown_away(offered: Path, site: Site) -> None:
    offered.parent.mkdir()
    offered.with_name("tiny+set.zip.part").write_bytes(b"x" * 100)
    load("tiny")
    assert site.ranges == ["bytes=100-", None]
    assert offered.read_bytes() == site.content


def test_a_part_that_is_too_long_is_thrown_away(offered: Path, site: Site) -> None:
    offered.parent.mkdir()
    offered.with_name("tiny+set.zip.part").write_bytes(site.content + b"more")
    load("tiny")
    assert site.ranges == [f"bytes={len(site.content) + 4}-", None]


def test_a_busy_server_is_asked_again(offered: Path, site: Site) -> None:
    site.troubles = ["503", "503", "429"]
    load("tiny")
    assert len(site.ranges) == 4


def test_pauses_double_and_respect_the_server() -> None:
    assert [_download._pause(attempt, None) for attempt in (1, 2, 3)] == [0.5, 1.0, 2.0]
    assert _download._pause(20, None) == 30.0


def test_patience_ends_and_says_what_to_do(offered: Path, site: Site) -> None:
    site.troubles = ["truncated"] + ["503"] * 10
    with pytest.raises(MissingFileError, match=r"in 5 attempts: .*is kept.*set CALIBRANT_DATA"):
        load("tiny")
    assert len(site.ranges) == 5
    assert files_in_cache(offered) == ["tiny+set.zip.part"]
    site.troubles = []
    load("tiny")
    assert site.ranges[-1] == f"bytes={len(site.content) // 2}-"


def test_not_found_is_final(offered: Path, site: Site) -> None:
    site.troubles = ["404"]
    with pytest.raises(MissingFileError, match=r"tiny\+set.zip answers 404 .*To get it, download"):
        load("tiny")
    assert len(site.ranges) == 1
    assert files_in_cache(offered) == []


def test_no_server_at_all(offered: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_download, "ATTEMPTS", 2)
    part = offered.with_suffix(".part")
    part.parent.mkdir()
    with pytest.raises(MissingFileError, match=r"could not be fetched in 2 attempts: .*refused"):
        _download.download("http://127.0.0.1:9/file.zip", part)


def test_other_content_is_removed(offered: Path, site: Site) -> None:
    site.content = zipped({"folder/tiny.csv": CSV + b"13,14,15,16\n"})
    with pytest.raises(DataError, match=r"expected checksum .*, got .*another version"):
        load("tiny")
    assert files_in_cache(offered) == []


@pytest.mark.parametrize(
    "content", [b"<html>Sorry</html>" * 9, b"PK\x03\x04 broken", b"\x1f\x8b x"]
)
def test_rubbish_is_removed(offered: Path, site: Site, content: bytes) -> None:
    site.content = content
    with pytest.raises(DataError, match=r"tiny\+set.zip.part"):
        load("tiny")
    assert files_in_cache(offered) == []


def test_an_archive_without_the_member(offered: Path, site: Site) -> None:
    site.content = zipped({"tiny.csv": CSV})
    with pytest.raises(DataError, match=r"folder/tiny.csv"):
        load("tiny")


def test_two_at_once_share_one_download(offered: Path, site: Site) -> None:
    threads = [threading.Thread(target=load, args=("tiny",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(site.ranges) == 1
    assert offered.read_bytes() == site.content

"""A registered data set of three rows, and a web server of our own for its download."""

from __future__ import annotations

import gzip
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from calibrant.datasets import _download, _registry
from calibrant.datasets._content import content_digest
from calibrant.datasets._entry import Entry, Official

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
CSV = b"a,b,y,leak\n1,2,3,4\n5,6,7,8\n9,10,11,12\n"


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@dataclass
class Site:
    """What the server does: the file it has, and one trouble per request until they run out."""

    content: bytes
    troubles: list[str] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)
    url: str = ""


def handler(site: Site) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            site.ranges.append(asked)
            trouble = site.troubles.pop(0) if site.troubles else ""
            if trouble.isdigit():
                self.send_error(int(trouble))
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if start >= len(site.content):
                self.send_error(416)
                return
            if trouble == "no ranges":
                start = 0
            body = site.content[start:]
            self.send_response(206 if start else 200)
            if start:
                end = len(site.content) - 1
                self.send_header("Content-Range", f"bytes {start}-{end}/{end + 1}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if trouble == "truncated" else body)

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    return Handler


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site(zipped({"folder/tiny.csv": CSV, "../outside.csv": b"x\n1\n"}))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(site))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_port}/tiny+set.zip"
    yield site
    server.shutdown()
    server.server_close()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of this test alone, and no waiting: no test reaches the user's cache or the net."""
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    monkeypatch.setenv("CALIBRANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_download, "FIRST_PAUSE_S", 0.001)
    return tmp_path


def tiny(official: Official | None) -> Entry:
    return Entry(
        title="Tiny",
        description="three rows",
        file="tiny.csv.gz",
        checksum=content_digest(pd.read_csv(io.BytesIO(CSV))),
        rows=3,
        columns=3,
        target="y",
        prepare=lambda raw: raw.drop(columns="leak"),
        licence="none",
        citation="nobody",
        page="https://example.org/tiny",
        official=official,
        instructions="" if official else "ask its owner",
    )


@pytest.fixture
def stored(places: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data set `tiny`, which nobody offers for download, in a folder."""
    monkeypatch.setitem(_registry.STORED, "tiny", {"raw": tiny(None)})
    path = places / "tiny.csv.gz"
    path.write_bytes(gzip.compress(CSV, mtime=0))
    return path


@pytest.fixture
def offered(places: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data set `tiny`, offered by `site`; the path of its archive in the cache."""
    official = Official(url=site.url, member="folder/tiny.csv")
    monkeypatch.setitem(_registry.STORED, "tiny", {"raw": tiny(official)})
    return places / "cache" / "tiny+set.zip"

"""A registered data set of three rows, and a local web server for its download."""

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

from calibrant.datasets import DatasetInfo, _download, _registry
from calibrant.datasets._content import content_digest
from calibrant.datasets._stored import StoredDataset

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
    """What the server does: the file it has, and one failure per request until they run out."""

    content: bytes
    failures: list[str] = field(default_factory=list)
    requests: int = 0
    url: str = ""


def handler(site: Site) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests += 1
            failure = site.failures.pop(0) if site.failures else ""
            if failure.isdigit():
                self.send_error(int(failure))
                return
            body = site.content
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if failure == "truncated" else body)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

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


def tiny(**source: str) -> StoredDataset:
    return StoredDataset(
        info=DatasetInfo(
            name="tiny",
            title="Tiny",
            description="three rows",
            target="y",
            rows=3,
            columns=3,
            licence="none",
            citation="nobody",
            page="https://example.org/tiny",
            checksum=content_digest(pd.read_csv(io.BytesIO(CSV))),
        ),
        file="tiny.csv.gz",
        prepare=lambda raw: raw.drop(columns="leak"),
        **source,
    )


@pytest.fixture
def stored(places: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data set `tiny`, which nobody offers for download, in a folder."""
    monkeypatch.setitem(_registry.STORED, "tiny", {"raw": tiny(instructions="ask its owner")})
    path = places / "tiny.csv.gz"
    path.write_bytes(gzip.compress(CSV, mtime=0))
    return path


@pytest.fixture
def offered(places: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data set `tiny`, offered by `site`; the path of its archive in the cache."""
    entry = tiny(url=site.url, member="folder/tiny.csv")
    monkeypatch.setitem(_registry.STORED, "tiny", {"raw": entry})
    return places / "cache" / "tiny+set.zip"

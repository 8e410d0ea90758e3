"""Fetching a file: with progress, from where an earlier attempt stopped, and patiently."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.errors import MissingFileError

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from rich.progress import Progress

ATTEMPTS = 5
FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_TIMEOUT_S = 30.0
_BLOCK = 64 * 2**10
# Answers of a server that is busy or being restarted; any other refusal is meant.
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class _Incomplete(OSError):
    """The connection ended before the file did."""


def download(url: str, part: Path, *, verbose: bool = True) -> None:
    """Complete the file `part` from `url`.

    What is already there is kept and only the rest is asked for, so that an interrupted download
    continues. A server that answers with a passing trouble is asked again after a pause that
    doubles each time.

    Parameters
    ----------
    url : str
    part : Path
        Its folder must exist.
    verbose : bool
        Show a progress bar, if somebody watches.
    """
    trouble: Exception | None = None
    with _progress(verbose) as bar:
        task = bar.add_task(url.rsplit("/", 1)[-1], total=None)
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(_pause(attempt, trouble))
            try:
                for done, total in _fetch(url, part):
                    bar.update(task, completed=done, total=total)
                return
            except urllib.error.HTTPError as error:
                if error.code == 416 and part.exists():  # our piece is not a piece of their file
                    part.unlink()
                elif error.code not in _PASSING:
                    raise MissingFileError(f"{url} answers {error.code} {error.reason}.") from error
                trouble = error
            except (OSError, http.client.HTTPException) as error:
                trouble = error
    reason = getattr(trouble, "reason", None) or trouble
    raise MissingFileError(
        f"{url} could not be fetched in {ATTEMPTS} attempts: {reason}. What has arrived is kept; "
        "the next attempt continues there."
    ) from trouble


def _fetch(url: str, part: Path) -> Iterator[tuple[int, int | None]]:
    """Append to `part` until it is whole; yields bytes so far and bytes in all."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "calibrant"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        if have and not _continues(answer, have):
            have = 0  # the server sends everything from the start
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else None
        with open(part, "ab" if have else "wb") as file:
            yield have, total
            while block := answer.read(_BLOCK):
                file.write(block)
                have += len(block)
                yield have, total
    if total is not None and have < total:
        raise _Incomplete(f"the connection ended after {have:,} of {total:,} bytes")


def _continues(answer: HTTPResponse, have: int) -> bool:
    return answer.status == 206 and answer.headers.get("Content-Range", "").startswith(
        f"bytes {have}-"
    )


def _pause(attempt: int, trouble: Exception | None) -> float:
    pause = FIRST_PAUSE_S * 2.0 ** (attempt - 1)
    if isinstance(trouble, urllib.error.HTTPError):
        asked = trouble.headers.get("Retry-After", "")
        pause = max(pause, float(asked) if asked.isdigit() else 0.0)
    return min(pause, _LONGEST_PAUSE_S)


@contextmanager
def _progress(verbose: bool) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
        disable=not (verbose and console.is_terminal),  # a bar in a log file is noise
    ) as bar:
        yield bar

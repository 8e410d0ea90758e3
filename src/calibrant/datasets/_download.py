"""Download a small file with progress; transient failures are retried."""

from __future__ import annotations

import http.client
import io
import shutil
import time
import urllib.error
import urllib.request

from calibrant.errors import MissingFileError

ATTEMPTS = 5
FIRST_PAUSE_S = 0.5  # doubles with every attempt
_TIMEOUT_S = 30.0
# Status codes of a server that is busy or restarting; any other refusal is final.
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}


def download(url: str) -> bytes:
    """Return the content of a URL; transient failures are retried after a pause.

    The files have a few megabytes: an interrupted download starts from the beginning.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(FIRST_PAUSE_S * 2 ** (attempt - 1))
        try:
            return _fetch(url)
        except urllib.error.HTTPError as error:
            if error.code not in _TRANSIENT:
                raise MissingFileError(f"{url} answers {error.code} {error.reason}.") from error
            failure: Exception = error
        except (OSError, http.client.HTTPException) as error:
            failure = error
    reason = getattr(failure, "reason", None) or failure
    raise MissingFileError(
        f"{url} could not be downloaded in {ATTEMPTS} attempts: {reason}."
    ) from failure


def _fetch(url: str) -> bytes:
    from rich.console import Console
    from rich.progress import wrap_file

    console, content = Console(stderr=True), io.BytesIO()
    request = urllib.request.Request(url, headers={"User-Agent": "calibrant"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        total = int(answer.headers.get("Content-Length", 0))
        with wrap_file(
            answer,
            total,
            description=url.rsplit("/", 1)[-1],
            console=console,
            transient=True,
            disable=not console.is_terminal,  # a bar in a log file is noise
        ) as body:
            shutil.copyfileobj(body, content)
    if len(content.getvalue()) < total:
        raise OSError(f"the connection ended after {content.tell():,} of {total:,} bytes")
    return content.getvalue()

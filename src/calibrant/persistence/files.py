"""Single files, written whole or not at all."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from calibrant.errors import MissingFileError, OutputExistsError, ParameterError

_URL = re.compile(r"[a-z][a-z0-9+.-]+:/")  # of whose two slashes a path keeps one


def check_folder_of(path: str | os.PathLike[str]) -> Path:
    """Raise an error if the folder of a file or folder to write does not exist, or is a URL."""
    target = Path(path)
    if _URL.match(str(target)) and not target.absolute().parent.is_dir():
        raise ParameterError(
            f"Only local files are written, got {path}: write to a folder here and copy it there."
        )
    if not target.absolute().parent.is_dir():
        raise MissingFileError(
            f"There is no folder {target.parent} to write {target.name} into. Create it first."
        )
    return target


def check_file_free(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Raise an error if the file can't be written: it exists, or its folder does not."""
    target = check_folder_of(path)
    if target.is_dir():
        raise OutputExistsError(f"{target} is a folder. Choose another name.")
    if target.exists() and not overwrite:
        raise OutputExistsError(
            f"{target} exists already. Choose another name, or overwrite it (overwrite=True, "
            "--force on the command line)."
        )
    return target


def write_file(path: str | os.PathLike[str], content: bytes, *, overwrite: bool = False) -> None:
    """Write a file, whole or not at all."""
    with replacing(check_file_free(path, overwrite=overwrite)) as file:
        file.write_bytes(content)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary file to write, which replaces `target` unless an error is raised."""
    # Beside the target: a rename is atomic within one file system only.
    work = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield work
        with open(work, "rb") as file, suppress(OSError):  # not on every file system
            os.fsync(file.fileno())
        os.replace(work, target)
    finally:
        work.unlink(missing_ok=True)

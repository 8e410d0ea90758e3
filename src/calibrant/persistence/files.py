"""Single files, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from calibrant.errors import MissingFileError, OutputExistsError


def check_file_free(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Raise an error if the file can't be written: it exists, or its folder does not."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise MissingFileError(
            f"There is no folder {target.parent} to write {target.name} into. Create it first."
        )
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
    target = check_file_free(path, overwrite=overwrite)
    handle, work = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.absolute().parent)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        # mkstemp makes files that nobody else can read; results are for others.
        os.chmod(work, 0o666 & ~_umask())
        os.replace(work, target)
    except BaseException:
        Path(work).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

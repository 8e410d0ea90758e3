"""Folders that are searched for data files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from calibrant.errors import MissingFileError

DATA_VARIABLE = "CALIBRANT_DATA"
CACHE_VARIABLE = "CALIBRANT_CACHE"


def cache_dir() -> Path:
    """Folder of downloaded files: CALIBRANT_CACHE, or inside the cache folder of this system.

    Examples
    --------
    >>> from calibrant.datasets import cache_dir
    >>> cache_dir().name
    'calibrant'
    """
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "calibrant"


def search_folders(data_dir: str | os.PathLike[str] | None) -> list[Path]:
    """Folders to search, in this order: the one passed, the one in CALIBRANT_DATA, the cache."""
    named = {"data_dir": data_dir, DATA_VARIABLE: os.environ.get(DATA_VARIABLE)}
    folders = []
    for name, value in named.items():
        if not value:
            continue
        folder = Path(value).expanduser()
        if not folder.is_dir():  # a misspelled folder must not lead to a download
            raise MissingFileError(f"There is no folder {folder}, which {name} names.")
        folders.append(folder)
    return [*folders, cache_dir()]

"""Reading the stored data sets, with their checksum verified."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

from calibrant.datasets._dataset import Dataset
from calibrant.datasets._registry import STORED, StoredSet
from calibrant.errors import DataError, MissingFileError

DATA_VARIABLE = "CALIBRANT_DATA"


def read_stored(name: str, data_dir: str | os.PathLike[str] | None) -> Dataset:
    """Read the registered data set `name` from `data_dir` or the folder in CALIBRANT_DATA."""
    import pandas as pd

    spec = STORED[name]
    content = _find(name, spec, data_dir).read_bytes()
    # The bytes that were checked are the bytes that are parsed: the file is read only once.
    digest = hashlib.sha256(content).hexdigest()
    if digest != spec.sha256:
        raise DataError(
            f"{spec.file} is not the registered file of data set {name!r}: expected sha256 "
            f"{spec.sha256}, got {digest}. The copy is damaged or another version; replace it."
        )
    frame = pd.read_csv(io.BytesIO(content), compression="gzip")
    return Dataset(
        name=name,
        frame=frame.drop(columns=list(spec.drop)),
        target=spec.target,
        task=spec.task,
        description=spec.description,
        licence=spec.licence,
        source=spec.page,
        flaws=spec.flaws,
    )


def _find(name: str, spec: StoredSet, data_dir: str | os.PathLike[str] | None) -> Path:
    folder = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if not folder:
        raise MissingFileError(
            f"Data set {name!r} is the file {spec.file}, and no folder to look in was given. Pass "
            f"data_dir= or set {DATA_VARIABLE} to the folder that holds it (origin: {spec.page})."
        )
    path = Path(folder).expanduser() / spec.file
    if not path.is_file():
        raise MissingFileError(
            f"Data set {name!r} is the file {spec.file}, which is not in {path.parent}. Pass "
            f"data_dir= or set {DATA_VARIABLE} to the folder that holds it (origin: {spec.page})."
        )
    return path

"""Model folders: written whole or not at all, checked when read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from calibrant.errors import MissingFileError, ModelFileError, OutputExistsError, ParameterError
from calibrant.persistence.files import check_folder_of
from calibrant.persistence.parts import to_json
from calibrant.persistence.versions import installed_version

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT_VERSION = 1
_MANIFEST, _TENSORS = "manifest.json", "tensors.safetensors"
_ADVICE = "Save the model again, or restore the folder from a copy."

_MODELS: dict[str, type[Any]] = {}
Class = TypeVar("Class", bound=type[Any])


def savable_model(cls: Class) -> Class:
    """Register a class that a model folder may hold, by its ``_from_folder``; a decorator."""
    _MODELS[cls.__name__] = cls
    return cls


def is_savable(model: object) -> bool:
    """Whether a model folder may hold this object."""
    return type(model) is _MODELS.get(type(model).__name__)


def write_model(
    path: str | os.PathLike[str],
    manifest: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    *,
    parts: Mapping[str, Callable[[Path], None]] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a model folder; after a crash there is the old folder or none, never half of one.

    Parameters
    ----------
    path : path
        Folder to create. Its parent must exist.
    manifest : mapping
        JSON values; NumPy numbers and tuples are converted.
    tensors : mapping of name to array
    parts : mapping of name to function, optional
        Models inside this one: each function writes a model folder at the path it is given.
    overwrite : bool, default False
        Replace a folder that is already there.
    """
    import numpy as np
    from safetensors.numpy import save

    target = Path(path)
    check_free(target, overwrite=overwrite)
    # asarray, not ascontiguousarray: a scalar must come back as a scalar, not as (1,).
    blob = save({name: np.asarray(array, order="C") for name, array in tensors.items()})
    content = to_json(manifest) | {
        "format_version": FORMAT_VERSION,
        "library_version": installed_version("calibrant") or "unknown",
        "tensors_sha256": _sha256(blob),
    }
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.absolute().parent))
    try:
        fresh = work / "new"
        fresh.mkdir()
        _write_durably(fresh / _TENSORS, blob)
        for name, write in (parts or {}).items():
            write(fresh / name)
        if parts:
            content["parts_sha256"] = {name: _part_digest(fresh / name) for name in parts}
        content["manifest_sha256"] = _digest(content)
        text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
        _write_durably(fresh / _MANIFEST, text.encode() + b"\n")
        if target.exists():
            os.replace(target, work / "old")
        os.replace(fresh, target)
    except BaseException:
        # A crash between the two renames leaves the old folder aside: put it back.
        if (work / "old").exists() and not target.exists():
            os.replace(work / "old", target)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model folder and check it.

    Returns
    -------
    manifest : dict
    tensors : dict of name to array
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    folder = Path(path)
    for name in (_MANIFEST, _TENSORS):
        if not (folder / name).is_file():
            raise MissingFileError(
                f"{folder} is not a model folder: it has no {name}. "
                "Pass the folder that save() or `calibrant fit --out` wrote."
            )
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        format_version = manifest["format_version"]
        stored = manifest.pop("manifest_sha256")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{folder / _MANIFEST} is damaged: {error!r}. {_ADVICE}") from error
    if not isinstance(format_version, int) or format_version > FORMAT_VERSION:
        raise ModelFileError(
            f"{folder} was written in format {format_version} by calibrant "
            f"{manifest.get('library_version')}; this version reads formats up to "
            f"{FORMAT_VERSION}. Upgrade calibrant to load it."
        )
    if stored != _digest(manifest):
        raise ModelFileError(f"{folder / _MANIFEST} was changed after saving. {_ADVICE}")
    blob = (folder / _TENSORS).read_bytes()
    if manifest.get("tensors_sha256") != _sha256(blob):
        raise ModelFileError(
            f"{folder / _TENSORS} does not belong to its manifest: it is truncated, swapped or "
            f"was changed. {_ADVICE}"
        )
    for name, digest in manifest.get("parts_sha256", {}).items():
        if not (folder / name / _MANIFEST).is_file() or _part_digest(folder / name) != digest:
            raise ModelFileError(
                f"{folder / name} is missing or was exchanged: it is not the model that was saved "
                f"inside {folder}. {_ADVICE}"
            )
    try:
        return manifest, load(blob)
    except SafetensorError as error:  # only with a forged digest
        raise ModelFileError(f"{folder / _TENSORS} is damaged: {error}. {_ADVICE}") from error


def load_any(path: str | os.PathLike[str], **options: Any) -> Any:
    """Load the model of a folder, whatever its class.

    Only registered classes are created: a name in a manifest can't choose others.

    Parameters
    ----------
    **options
        Passed to the class with the content of the folder.
    """
    manifest, tensors = read_model(path)
    name = manifest.get("class")
    if name not in _MODELS:
        # Classes register when their room is imported, which may not have happened yet.
        import_module("calibrant.models")
    made = _MODELS.get(str(name))
    if made is None:
        raise ModelFileError(
            f"{path} holds a {name!r}, which this version of calibrant does not know."
        )
    return made._from_folder(Path(path), manifest, tensors, **options)


@contextlib.contextmanager
def restoring(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], expected: type[Any]
) -> Iterator[None]:
    """Check that a folder holds a model of a class, and say so if it can't be rebuilt from it."""
    if manifest.get("class") != expected.__name__:
        raise ModelFileError(
            f"{path} holds a {manifest.get('class')}, not a {expected.__name__}. "
            "Load it with that class, or with calibrant.load_model."
        )
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        if isinstance(error, MissingFileError | ModelFileError | ParameterError):
            raise
        raise ModelFileError(
            f"{path} does not describe a whole {expected.__name__}: {error}. {_ADVICE}"
        ) from error


def check_free(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise an error if a model can't be written: the path exists, or its parent does not."""
    target = check_folder_of(path)
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise OutputExistsError(
            f"{target} exists already. Choose another name, or overwrite it (overwrite=True, "
            "--force on the command line)."
        )
    if not (target / _MANIFEST).is_file() and not (target.is_dir() and not any(target.iterdir())):
        raise OutputExistsError(
            f"{target} exists and is not a model folder: it is not replaced. Choose another name."
        )


def _sha256(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def _digest(manifest: Mapping[str, Any]) -> str:
    return _sha256(json.dumps(manifest, sort_keys=True, allow_nan=False).encode())


def _part_digest(folder: Path) -> str:
    return _sha256((folder / _MANIFEST).read_bytes())


def _write_durably(path: Path, blob: bytes) -> None:
    with open(path, "wb") as file:
        file.write(blob)
        file.flush()
        # Some file systems can't sync; readers still see either the old or the new folder.
        with contextlib.suppress(OSError):
            os.fsync(file.fileno())

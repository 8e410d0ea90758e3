"""Model folders: safetensors and JSON, written whole or not at all, read without running code.

A folder holds ``manifest.json`` (what the model is) and ``tensors.safetensors`` (its numbers).
The manifest carries a digest of the tensors and one of itself, so that a truncated, swapped or
edited file is refused. The digests guard against accidents and careless edits; they are not a
signature.

A model that contains others, such as a recalibrator or a forecaster, has their folders inside its
own, and the digests of their manifests in its manifest.
"""

from calibrant.persistence.files import check_file_free, check_folder_of, replacing, write_file
from calibrant.persistence.folders import (
    check_free,
    is_savable,
    load_any,
    read_model,
    restoring,
    savable_model,
    write_model,
)
from calibrant.persistence.parts import pack, savable_part, unpack
from calibrant.persistence.versions import installed_version

__all__ = [
    "check_file_free",
    "check_folder_of",
    "check_free",
    "installed_version",
    "is_savable",
    "load_any",
    "pack",
    "read_model",
    "replacing",
    "restoring",
    "savable_model",
    "savable_part",
    "unpack",
    "write_file",
    "write_model",
]

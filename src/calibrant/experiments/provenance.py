"""Provenance of a result: machine, time, commit and versions of packages."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from calibrant.persistence import installed_version

_PACKAGES = ("calibrant", "numpy", "scipy", "scikit-learn", "torch")
UNKNOWN = "unknown"


def provenance(device: str, packages: Sequence[str] = ()) -> dict[str, Any]:
    """Versions, machine, commit and time of a result that has just been computed.

    Parameters
    ----------
    device : str
        Device that the networks ran on.
    packages : sequence of str
        Packages whose versions matter, in addition to the core ones.
    """
    return {
        "versions": {name: installed_version(name) or UNKNOWN for name in (*_PACKAGES, *packages)},
        "machine": _machine(device),
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def commit() -> str:
    """Commit of the sources that are running, with "-dirty" where they were changed since.

    The environment variable CALIBRANT_COMMIT takes precedence: it names the commit where sources
    were copied to a machine without their history. "unknown" if there is neither.
    """
    if named := os.environ.get("CALIBRANT_COMMIT"):
        return named
    source = Path(__file__)
    # An installed package may lie inside somebody else's repository, which does not track it.
    tracked = _git(source.parent, "ls-files", "--error-unmatch", source.name)
    if tracked is None:
        return UNKNOWN
    return _git(source.parent, "describe", "--always", "--dirty", "--abbrev=10") or UNKNOWN


def _git(folder: Path, *arguments: str) -> str | None:
    """Output of a git command, or None if it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _machine(device: str) -> dict[str, Any]:
    import torch

    from calibrant.training import resolve_device

    used = resolve_device(device)
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "device": f"{torch.cuda.get_device_name(used)}, TF32" if used.type == "cuda" else used.type,
    }

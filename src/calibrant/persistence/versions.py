"""Versions of installed packages, for what a file or a report says about its origin."""

from __future__ import annotations

from importlib import metadata


def installed_version(package: str) -> str | None:
    """Return the version of a package, None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

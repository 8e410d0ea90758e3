"""The command line: thin, it parses, calls and prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.cli._app import app as app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; the console script ``calibrant`` and ``python -m calibrant``."""
    try:
        from calibrant.cli._app import app

        app(prog_name="calibrant")
    except KeyboardInterrupt:  # while the commands were being imported, the console among them
        from calibrant.cli._interrupts import what_was_kept

        sys.stderr.write(f"Interrupted: {what_was_kept()}\n")
        raise SystemExit(130) from None


def __getattr__(name: str) -> Any:
    # Late, so that an interrupt during the imports of the application is caught in `main`.
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from calibrant.cli._app import app

    return app

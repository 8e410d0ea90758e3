"""The command line: thin, it parses, calls and prints."""

from calibrant.cli._app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; the console script ``calibrant`` and ``python -m calibrant``."""
    app(prog_name="calibrant")

"""``calibrant bench pack`` and ``unpack``: results as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import _options as option
from calibrant.cli._cells import split_names
from calibrant.cli._output import Messages
from calibrant.errors import ParameterError


def pack(
    results: Annotated[
        list[Path], typer.Argument(help="Folders of results, or packed files.", metavar="RESULTS")
    ],
    out: Annotated[Path, option.file(help="File to write, .parquet.")],
    protocols: Annotated[
        str | None,
        option.names(help="Only these, separated by commas.", show_default="all"),
    ] = None,
) -> None:
    """Join results in one small file; the newer of two results of a cell is kept."""
    from calibrant.experiments import joined, pack, read_results

    wanted = split_names(protocols)
    every = joined(read_results(path) for path in results)
    known = {record["cell"]["protocol"] for record in every}
    if unknown := [name for name in wanted if name not in known]:
        raise ParameterError(
            f"No results of the protocol {', '.join(unknown)}; there are some of "
            f"{', '.join(sorted(known))}."
        )
    records = [each for each in every if not wanted or each["cell"]["protocol"] in wanted]
    pack(records, out)
    Messages().say(f"{len(records)} results are in {out}, {out.stat().st_size / 1e6:.2f} MB")


def unpack(
    files: Annotated[list[Path], typer.Argument(help="Packed files.", metavar="FILES")],
    out: Annotated[Path, option.folder(help="Folder of the results.")] = Path("results"),
) -> None:
    """Add packed results to a folder, in which calibrant bench paper continues."""
    from calibrant.experiments import Store, add_to_store, joined, read_results

    records = joined(read_results(path) for path in files)
    added = add_to_store(records, Store(out))
    Messages().say(f"{added} of {len(records)} results were new and are in {out}")

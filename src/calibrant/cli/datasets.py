"""``calibrant datasets``: what can be loaded by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli._grid import aligned
from calibrant.cli._output import Voice, write_json, write_out

if TYPE_CHECKING:
    from calibrant.datasets import DatasetInfo


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Show all that is known about this one.", metavar="NAME")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder to look in first.", metavar="DIR")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the data sets, or describe one: rows, licence, citation and known flaws."""
    import dataclasses

    from calibrant.datasets import info, names, variants

    wanted = names() if name is None else [name]
    found = [info(each, variant, data) for each in wanted for variant in variants(each)]
    if as_json:
        write_json([dataclasses.asdict(entry) for entry in found])
    elif name is None:
        write_out(_listing(found))
        Voice().say(
            "\ncalibrant datasets NAME says more about one. What is not at hand is downloaded when "
            "it is first loaded; CALIBRANT_DATA or --data names a folder that has it."
        )
    else:
        write_out("\n\n".join(_description(entry) for entry in found))


def _listing(found: list[DatasetInfo]) -> str:
    """Lines of less than 80 characters."""
    lines = [
        {
            "name": entry.name,
            "variant": entry.variant,
            "rows": str(entry.rows),
            "columns": str(entry.columns),
            "task": entry.task,
            "licence": re.split(r" \(|:", entry.licence)[0],
            "at hand": "yes" if entry.at_hand else "no",
        }
        for entry in found
    ]
    return aligned(lines, left=("name", "variant", "task", "licence", "at hand"))


def _description(entry: DatasetInfo) -> str:
    from textwrap import fill

    facts = {
        "variant": entry.variant,
        "title": entry.title,
        "what": entry.description,
        "task": f"{entry.task}, target {entry.target}",
        "shape": f"{entry.rows} rows, {entry.columns} columns with the target",
        "licence": entry.licence,
        "citation": entry.citation,
        "page": entry.page,
        "flaws": entry.flaws,
        "paper": entry.paper,
        "checksum": entry.checksum,
        "at hand": "yes" if entry.at_hand else "no",
    }
    lines = [
        fill(
            text,
            width=80,
            initial_indent=f"{label:<10}",
            subsequent_indent=" " * 10,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for label, text in facts.items()
        if text
    ]
    return "\n".join([entry.name, *lines])

"""``calibrant datasets``: the data sets that can be loaded by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli import _options as option
from calibrant.cli._output import Messages, write_json, write_out
from calibrant.cli._text_table import definitions, text_table

if TYPE_CHECKING:
    from calibrant.datasets import DatasetInfo


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Show all that is known about this one.", metavar="NAME")
    ] = None,
    data: Annotated[Path | None, option.folder(help="Folder to look in first.")] = None,
    as_json: option.Json = False,
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
        Messages().say(
            "\ncalibrant datasets NAME says more about one. Data sets that are not at hand are "
            "downloaded when first loaded; CALIBRANT_DATA or --data names a folder that has them."
        )
    else:
        write_out("\n\n".join(_description(entry) for entry in found))


def _listing(found: list[DatasetInfo]) -> str:
    """One line of less than 80 characters per data set."""
    rows = [
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
    return text_table(rows, left=("name", "variant", "task", "licence", "at hand"))


def _description(entry: DatasetInfo) -> str:
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
    known = [(label, text) for label, text in facts.items() if text]
    return f"{entry.name}\n{definitions(known, label_width=8)}"

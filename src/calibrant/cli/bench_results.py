"""``calibrant bench show`` and ``figures``: tables and figures of results."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli import _options as option
from calibrant.cli._cells import split_names
from calibrant.cli._files import staged
from calibrant.cli._output import Messages, write_json, write_out
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    from calibrant.experiments.layout import Form
    from calibrant.experiments.store import Record

Results = Annotated[
    Path, typer.Argument(help="Folder of the results, or a packed file.", metavar="RESULTS")
]


def show(
    results: Results = Path("results"),
    metrics: Annotated[str | None, option.names(help="Metrics, separated by commas.")] = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="Print this table in the paper's layout: 1, 2, A2, A3 or all.", metavar="NUMBER"
        ),
    ] = None,
    as_markdown: option.Markdown = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the cells as CSV.")] = False,
    as_json: option.Json = False,
) -> None:
    """Compare results with the published figures, the noise floor and the paper's claims.

    A tie is a difference within its 95% margin: 2.8 standard errors with five trials. A claim
    holds if the method is clearly better than every baseline, and fails if it is clearly worse
    than one. Trials of a series share one split, so their errors are those of training alone.
    """
    option.check_one_format(markdown=as_markdown, csv=as_csv, json=as_json)
    if as_json and table is not None:
        raise ParameterError("--table is a layout for readers: leave --json or --table out.")
    from calibrant.experiments import METRICS, compare_with_published

    chosen = split_names(metrics) or list(METRICS)
    if unknown := set(chosen) - set(METRICS):
        raise ParameterError(
            f"Unknown metrics: {', '.join(sorted(unknown))}. Choose from {', '.join(METRICS)}."
        )
    form: Form = "markdown" if as_markdown else "csv" if as_csv else "text"
    records = _read(results)
    if as_json:
        rows = compare_with_published(records, chosen)
        write_json([asdict(row) for row in rows])
    elif table is None:
        _show_cells(records, chosen, form)
    else:
        _show_tables(records, table, form)


def _show_cells(records: list[Record], metrics: list[str], form: Form) -> None:
    from calibrant.experiments import (
        check_claims,
        claims_summary,
        claims_table,
        compare_with_published,
        comparison_table,
        depth_table,
    )

    rows = compare_with_published(records, metrics)
    write_out(comparison_table(rows, form))
    if form == "csv":
        return
    if any(row.verdict and not row.split_alike for row in rows):
        write_out(
            "\nOnly results of the published protocol have splits like the paper's: a verdict on\n"
            "others says how figures differ, not what reproduces.\n"
        )
    if findings := check_claims(records):
        write_out("\n" + claims_table(findings, form))
        write_out("\n" + claims_summary(findings, form))
    if depth := depth_table(records, form):
        write_out("\n" + depth)


def _show_tables(records: list[Record], number: str, form: Form) -> None:
    from calibrant.experiments import PAPER_TABLES, paper_table

    for protocol in sorted({record["cell"]["protocol"] for record in records}):
        for one in PAPER_TABLES if number == "all" else [number]:
            text = paper_table(records, one, protocol, form)
            title = f"Table {one}, {protocol}"
            write_out(f"{'### ' if form == 'markdown' else ''}{title}\n\n{text}")


def figures(
    results: Results = Path("results"),
    out: Annotated[Path, option.folder(help="Folder of the figures.")] = Path("figures"),
    file_format: Annotated[
        str, option.one_of(("png", "svg", "pdf"), "--format", help="png, svg or pdf.")
    ] = "png",
) -> None:
    """Draw reliability diagrams, 95% intervals and the depth study."""
    records = _read(results)
    import matplotlib as mpl

    mpl.use("Agg")  # into files: no window, no display needed
    from calibrant.experiments import figures as drawn

    count = 0
    with staged(out) as folder:
        for name, figure in drawn(records):
            figure.savefig(folder / f"{name}.{file_format}", dpi=120)
            count += 1
    Messages().say(f"{count} figures are in {out}")


def _read(results: Path) -> list[Record]:
    from calibrant.experiments import read_results

    records = read_results(results)
    if not records:
        raise ParameterError(f"{results} has no results yet: run calibrant bench paper first.")
    return records

"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.errors import ParameterError

_LARGEST_SEED = 2**31  # generators take twice as much, and trials count on from it
_FIGURES = (".png", ".svg", ".pdf")

# Options by what stands for their value in the help.
column = partial(typer.Option, metavar="COL")
count = partial(typer.Option, metavar="N", min=1)
file = partial(typer.Option, metavar="FILE")
folder = partial(typer.Option, metavar="FOLDER")
name = partial(typer.Option, metavar="NAME")
names = partial(typer.Option, metavar="NAMES")


def one_of(choices: Iterable[str], *flags: str, **option: Any) -> Any:
    """Option whose value is one of some names: checked, with a hint, and completed."""
    known = tuple(choices)

    def check(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, known))}.")
        return value

    def complete(incomplete: str) -> Iterator[str]:
        yield from (choice for choice in known if choice.startswith(incomplete))

    return name(*flags, callback=check, autocompletion=complete, **option)


def check_levels(param: typer.CallbackParam, value: Any) -> Any:
    """Check that a level, or each of several, lies in (0, 1); keep repeated ones once."""
    for level in value if isinstance(value, list) else [value]:
        if level is not None and not 0 < level < 1:
            from calibrant.checks import percent_hint  # numpy, which --help does without

            raise ParameterError(
                f"{param.opts[0]} must lie between 0 and 1, both excluded, got {level:g}."
                f"{percent_hint(level)}"
            )
    return list(dict.fromkeys(value)) if isinstance(value, list) else value


def check_one_format(**chosen: bool) -> None:
    """Check that at most one output format was asked for."""
    if sum(chosen.values()) > 1:
        *others, last = (f"--{name}" for name in chosen)
        raise ParameterError(f"Choose one of {', '.join(others)} and {last}.")


def _check_seed(seed: int) -> int:
    # Not typer's own range, which would fill a third of the help.
    if not 0 <= seed <= _LARGEST_SEED:
        raise ParameterError(f"--seed must lie between 0 and {_LARGEST_SEED}, got {seed}.")
    return seed


def _check_figure(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in _FIGURES:
        raise ParameterError(f"--figure must end in .png, .svg or .pdf; got {path}.")
    return path


Model = Annotated[Path, typer.Argument(help="Folder of a fitted model.", metavar="MODEL")]
Table = Annotated[Path, typer.Argument(help="Table: .csv, .csv.gz or .parquet.", metavar="TABLE")]
Target = Annotated[str, column(help="Column to predict.")]
FittedTarget = Annotated[
    str | None, column(help="Column of the targets.", show_default="the one it was fitted to")
]
TestSize = Annotated[
    float | None,
    typer.Option(
        callback=check_levels,
        help="Share of the rows to set aside and evaluate the model on, in (0, 1).",
        metavar="P",
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        "--groups",
        help="Column of groups to look at one by one; repeatable.",
        metavar="COL",
    ),
]
Folds = Annotated[int, typer.Option(min=2, help="Parts to predict in turn.", metavar="N")]
Groups = Annotated[
    str | None, column("--groups", "--group", help="Rows with the same label stay in one fold.")
]
Coverage = Annotated[
    float,
    typer.Option(
        callback=check_levels,
        help="Share of targets an interval should cover, in (0, 1).",
        metavar="P",
    ),
]
Drop = Annotated[list[str] | None, column(help="Column to leave out; repeatable.")]
Epochs = Annotated[int | None, count(help="Most passes over the data in each stage.")]
Seed = Annotated[
    int, typer.Option(callback=_check_seed, help="Same seed, same results.", metavar="N")
]


def check_cluster(engine: str, address: str | None) -> None:
    """Check that an address is passed with the engine that it is for."""
    if address is not None and engine != "ray":
        raise ParameterError(f"--address names a Ray cluster, but --engine is {engine}.")


Lower = Annotated[float | None, typer.Option(help="Lower bound of the target.", metavar="X")]
Upper = Annotated[float | None, typer.Option(help="Upper bound of the target.", metavar="X")]


def bounds_of(lower: float | None, upper: float | None) -> tuple[float | None, float | None] | None:
    """Return the parameter `bounds` of a model."""
    if lower is None and upper is None:
        return None
    if lower is not None and upper is not None and not lower < upper:
        raise ParameterError(f"--lower must be below --upper, got {lower:g} and {upper:g}.")
    return lower, upper


Device = Annotated[str, name(help="auto, cpu, cuda, cuda:1 ...")]
Engine = Annotated[str, name(help="processes, ray, or serial: one after another.")]
Cluster = Annotated[
    str,
    one_of(("local", "ray"), "--engine", help="local, or ray: on the workers of a Ray cluster."),
]
Workers = Annotated[int | None, count(help="Processes.", show_default="as many as fit")]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of the Ray cluster.", metavar="ADDRESS", show_default="this machine"
    ),
]
Figure = Annotated[
    Path | None, file(callback=_check_figure, help="Figure to draw: .png, .svg or .pdf.")
]
Predictions = Annotated[
    Path | None, file(help="File, or folder of Parquet, to write; without it CSV is printed.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist already.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No notes and no progress.")]
Silent = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the result as Markdown.")]

"""``calibrant explain``: what a metric means, in two sentences and a formula."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator
from itertools import groupby
from typing import Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._hints import did_you_mean
from calibrant.cli._output import write_heading, write_json, write_out
from calibrant.cli._text_table import definitions
from calibrant.errors import ParameterError


def _complete(incomplete: str) -> Iterator[str]:
    yield from (name for name in _metrics() if name.startswith(incomplete.lower()))


def explain(
    metric: Annotated[
        str | None,
        typer.Argument(
            help="A metric, such as ecpe or crps; all of them are listed without it.",
            metavar="METRIC",
            autocompletion=_complete,
        ),
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Explain a metric in two sentences, with its formula."""
    known = _metrics()
    if metric is not None:
        name = _known(metric, known)
        known = {name: known[name]}
    if as_json:
        write_json({name: _record(function) for name, function in known.items()})
    elif metric is None:
        _print_list(known)
    else:
        _print_one(*known.popitem())


def explanation(function: Callable[..., Any]) -> list[str]:
    """Return the paragraphs of the docstring above its first section, without the formula."""
    return [part for part in _paragraphs(function) if not part.startswith("``")]


def formula(function: Callable[..., Any]) -> str:
    """Return the paragraph of the docstring that is one formula in double back-quotes."""
    (found,) = (part for part in _paragraphs(function) if part.startswith("``"))
    return found.strip("`")


def _paragraphs(function: Callable[..., Any]) -> list[str]:
    head = re.split(r"\n\n\w+\n-+\n", inspect.getdoc(function) or "")[0]
    return [" ".join(paragraph.split()) for paragraph in head.split("\n\n")]


def _metrics() -> dict[str, Callable[..., Any]]:
    """All public metrics of `calibrant.metrics` by name, sorted by module."""
    from calibrant import metrics

    public = {name: getattr(metrics, name) for name in metrics.__all__}
    found = {name: value for name, value in public.items() if inspect.isfunction(value)}
    del found["evaluate"], found["get_scorer"]  # they compute metrics, and are none themselves
    return dict(sorted(found.items(), key=lambda entry: (entry[1].__module__, entry[0])))


def _known(metric: str, known: Collection[str]) -> str:
    name = re.sub(r"[\s-]+", "_", metric.strip().lower())
    if name in known:
        return name
    close = did_you_mean(name, known)
    hint = "" if close is None else f" Did you mean {close!r}?"
    raise ParameterError(
        f"There is no metric {metric!r}.{hint} `calibrant explain` lists them all."
    )


def _record(function: Callable[..., Any]) -> dict[str, str]:
    return {"formula": formula(function), "text": " ".join(explanation(function))}


def _print_one(name: str, function: Callable[..., Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text.assemble((name, "bold"), f"   from calibrant.metrics import {name}"))
    console.print(Text(f"\n    {formula(function)}\n", style="cyan"), soft_wrap=True)
    console.print(Text(" ".join(explanation(function))), width=min(console.width, 100))


def _print_list(known: dict[str, Callable[..., Any]]) -> None:
    """Print one line per metric, under the heading of the module that it lives in."""
    label_width = max(map(len, known))
    for module, entries in groupby(known.items(), key=lambda entry: inspect.getmodule(entry[1])):
        write_heading((inspect.getdoc(module) or "").split("\n")[0].replace("``", ""))
        lines = [(name, explanation(function)[0]) for name, function in entries]
        write_out(definitions(lines, label_width=label_width, indent=2) + "\n\n")
    write_out("More about one of them: calibrant explain ecpe")

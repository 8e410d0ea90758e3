"""A chart of the page: plotly traces, a description, and a table of the numbers.

Colours are written as names (``@m0``); the page fills in those of its light or dark theme. All
text from the user is escaped, because plotly interprets some HTML in labels.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from calibrant.checks import Array

PALETTE = 7
BAND_CONFIDENCE = 0.95  # of every grey band, and of "chance gives"
# Models differ in more than colour, for readers and printers without it.
_DASHES = ("solid", "dash", "dot", "dashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up")


@dataclass(frozen=True)
class Chart:
    """One chart: what is drawn, a description, and a table of the numbers."""

    id: str
    title: str
    description: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    follows: str = ""  # "intervals" or "slices": the script fills the table as the slider moves


def label(text: object) -> str:
    """Escape text for plotly, so that it is shown as it is."""
    return html.escape(str(text), quote=False)


def colour(index: int) -> str:
    """Name of the colour of the model with this number."""
    return f"@m{index % PALETTE}"


def dash(index: int) -> str:
    """Line style of the model with this number."""
    return _DASHES[index % len(_DASHES)]


def symbol(index: int) -> str:
    """Marker of the model with this number."""
    return _SYMBOLS[index % len(_SYMBOLS)]


def percents(shares: Array) -> list[float]:
    """Shares in percent."""
    return [round(float(v), 6) for v in 100 * shares]


def line(x: Any, y: Any, name_of_colour: str, **more: Any) -> dict[str, Any]:
    """Trace of a line."""
    style = {"color": name_of_colour, "width": 1.5}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": style, **more}


def points(x: Any, y: Any, name_of_colour: str, name: str, mark: str, size: int) -> dict[str, Any]:
    """Trace of markers."""
    marker = {"color": name_of_colour, "symbol": mark, "size": size}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": marker, "name": name}

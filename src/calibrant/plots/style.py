"""Colours, line styles and axes that all figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType

# Okabe and Ito (2008), distinct for every kind of colour vision; yellow, faint on white, is last.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PALETTE = (BLUE, VERMILLION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
# Distinct in print; their number has no divisor in common with that of colours.
LINE_STYLES: tuple[LineStyleType, ...] = (
    "-", "--", "-.", ":", (0, (8, 2)), (0, (5, 1.5, 1, 1.5, 1, 1.5)),
)  # fmt: skip
GREY = "#7F7F7F"
INK = "#222222"
BAND = "#D9D9D9"


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # takes half a second, and only drawing needs it

    _, new = plt.subplots(figsize=size, layout="constrained")
    return new


def tidy(ax: Axes) -> None:
    """Remove frame lines that carry no data, and shorten the labels of dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    ax.spines[["top", "right"]].set_visible(False)
    locator = ax.xaxis.get_major_locator()
    if isinstance(locator, AutoDateLocator):
        short: Any = ConciseDateFormatter  # matplotlib does not annotate it
        ax.xaxis.set_major_formatter(short(locator))


def legend_above(ax: Axes, **options: Any) -> None:
    """Put the legend above the axes, where it hides nothing."""
    ax.legend(
        frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), **options
    )


def tint(colour: str, strength: float) -> tuple[float, float, float]:
    """Mix a colour with white; unlike transparency it looks the same in the legend."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1.0 - strength * (1.0 - part) for part in to_rgb(colour))
    return red, green, blue


def axis_name(x: Any, unnamed: str) -> str:
    """Name of a series or an index for the axis label, or `unnamed` if it has none."""
    return str(getattr(x, "name", None) or unnamed)


def line_style(index: int) -> tuple[str, LineStyleType]:
    """Colour and line style of a curve: the first 42 pairs are distinct.

    Both change from curve to curve, so that six curves stay distinct without colour.
    """
    return PALETTE[index % len(PALETTE)], LINE_STYLES[index % len(LINE_STYLES)]

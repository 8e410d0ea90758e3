"""Plotly's script as its makers publish it: the part that draws lines, bars and boxes.

The Python package of plotly carries the whole of it only, three times as long, and a browser reads
all of it before the first chart. CONTRIBUTING.md says how to take a newer version.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=1)
def plotly_script() -> str:
    """The script, to be put into a page as it is."""
    folder = files("calibrant.report") / "plotly"
    return (folder / "plotly-cartesian.min.js").read_text(encoding="utf-8")


def plotly_version() -> str:
    """Version that the script names in its first lines."""
    found = re.search(r"plotly\.js \(cartesian - minified\) v([\d.]+)", plotly_script()[:200])
    return found[1] if found else "unknown"

"""Templates and scripts of the pages: from plain values to one HTML file that works offline."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from calibrant.report._chart import Chart
from calibrant.report._plotly import plotly_script


def render_page(
    name: str, scripts: tuple[str, ...], charts: list[Chart], data: dict[str, Any], **values: Any
) -> str:
    """Render a template that extends ``page.html.j2``.

    Parameters
    ----------
    name : str
        File of the template.
    scripts : tuple of str
        Files of its scripts; they run after ``page.js``, which they build on.
    charts : list of Chart
        All charts of the page.
    data : dict
        What the scripts need besides the charts, as plain values.
    **values
        What the template needs.
    """
    drawn = {chart.id: {"data": chart.data, "layout": chart.layout} for chart in charts}
    page = {"charts": drawn, **data}
    template = _environment().get_template(name)
    return template.render(page=page, scripts=_scripts(("page.js", *scripts)), **values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@lru_cache(maxsize=2)
def _scripts(names: tuple[str, ...]) -> dict[str, Any]:
    """Scripts, style, and the hashes by which the content security policy admits the scripts."""
    loader, environment = PackageLoader("calibrant.report"), _environment()
    *own, style = (loader.get_source(environment, name)[0] for name in (*names, "page.css"))
    plotly = plotly_script()
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (plotly, *own))
    return {"plotly": plotly, "own": own, "style": style, "hashes": hashes}


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

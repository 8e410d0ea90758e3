"""From models and rows to one self-contained page."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from calibrant.checks import check_level, name_of
from calibrant.metrics import Evaluation
from calibrant.persistence import check_file_free, write_file
from calibrant.report._page import render
from calibrant.report.scored_forecast import score_forecasts


@dataclass(frozen=True, repr=False)
class Report:
    """A finished report.

    Attributes
    ----------
    html : str
        The whole page, script and styles included.
    """

    html: str

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page to a file, whole or not at all."""
        write_file(path, self.html.encode(), overwrite=overwrite)

    def __repr__(self) -> str:
        return f"Report of {len(self.html) / 1e6:.1f} MB; save(path) writes it to a file."

    def _repr_html_(self) -> str:
        # In a frame: neither its styles nor its scripts touch the notebook.
        page = html.escape(self.html)
        return f'<iframe srcdoc="{page}" style="width:100%;height:800px;border:0"></iframe>'


def build_report(
    models: Any | Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    groups: Any = None,
    coverage: float = 0.9,
    title: str | None = None,
    target: str | None = None,
    evaluations: Evaluation | Mapping[str, Evaluation] | None = None,
) -> Report:
    """Evaluate forecasts of the same rows and show the evidence on one interactive page.

    Parameters
    ----------
    models : fitted model, Distribution of n rows, or mapping from names to them
        Models need ``predict_dist``. Several are compared side by side.
    X : array or frame of shape (n, d), or None
        Inputs of rows that the models have not seen; calibration is checked in deciles of each
        column. May be None if only distributions are given.
    y : array of shape (n,) or (n, 1)
        Observed targets.
    groups : array of shape (n,), optional
        Labels of groups to check calibration in as well.
    coverage : float in (0, 1)
        Nominal coverage of the verdict and the slices, and the start of the slider.
    title : str, optional
    target : str, optional
        Name of the target, with its unit; by default the name of y, or of the target that a
        model was fitted to.
    evaluations : Evaluation, or mapping from names of models to them, optional
        Results of `evaluate` for these forecasts, with the same coverage. They are shown as they
        are: nothing is predicted or computed again.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.report import build_report
    >>> dist = Normal(np.zeros(200), np.ones(200))
    >>> y = dist.sample(random_state=0)
    >>> page = build_report({"truth": dist}, None, y, target="price in euros").html
    >>> "90% intervals covered" in page, "price in euros" in page
    (True, True)
    """
    level = check_level(coverage, "coverage")
    forecasts = score_forecasts(models, X, y, level, evaluations)
    fitted_to = next((each.target for each in forecasts if each.target), None)
    return Report(
        render(
            forecasts,
            X,
            groups=groups,
            level=level,
            title=title or "Calibration report",
            target=target or name_of(y) or fitted_to or "target",
        )
    )


def write_report(
    path: str | os.PathLike[str],
    models: Any | Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    overwrite: bool = False,
    **options: Any,
) -> Report:
    """Build a report and write it to a file; see `build_report` for the other parameters.

    Parameters
    ----------
    path : path
        HTML file; its folder must exist.
    overwrite : bool
        Replace an existing file.

    Returns
    -------
    Report

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant.distributions import Normal
    >>> from calibrant.report import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     report = write_report(path, Normal([0.0, 1.0], [1.0, 1.0]), None, [0.3, 0.9])
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    check_file_free(path, overwrite=overwrite)  # before the work, not after it
    report = build_report(models, X, y, **options)
    report.save(path, overwrite=overwrite)
    return report

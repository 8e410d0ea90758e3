"""The figures of the paper as printed, with the names of this library.

Source: Cui, Hu, Zhu (2020), Calibrated reliable regression using maximum mean discrepancy,
Tables 1, 2, A2 and A3: 416 cells.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

_DATA_SETS = {
    "Metro-traffic": "metro_traffic",
    "Bike-sharing": "bike_sharing",
    "Pickups": "pickups",
    "PM2.5": "pm25",
    "Air-quality": "air_quality",
    "Power Plant": "power_plant",
    "Protein Structure": "protein",
    "Naval Propulsion": "naval",
    "Wine": "wine",
}
_METHODS = {
    "MCD": "mcd",
    "HNN": "hnn",
    "Deep-ens": "deep-ens",
    "MC NLL": "mc-nll",
    "ELL": "ell",
    "DGP": "dgp",
    "ISR": "isr",
    "proposed": "mmd",
}
_MISPRINTS = {"0001": 0.001}  # naval, deep ensemble, RMSE


@dataclass(frozen=True)
class PublishedCell:
    """One figure of the paper.

    Attributes
    ----------
    table : str
        "1", "2", "A2" or "A3".
    dataset, method : str
        Names of this library; ``"mmd"`` is the method that the paper proposes.
    metric : str
        In lower case: ``"ecpe"``, ``"rmse"`` ...
    mean : float
    std_error : float or None
        None where the paper prints none.
    printed, printed_error : str
        As printed; the error is empty where the paper prints none.
    """

    table: str
    dataset: str
    method: str
    metric: str
    mean: float
    std_error: float | None
    printed: str
    printed_error: str


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return all 416 figures, in the order of the paper.

    Examples
    --------
    >>> cells = published_cells()
    >>> len(cells), cells[0].dataset, cells[0].printed
    (416, 'metro_traffic', '0.304')
    """
    file = resources.files("calibrant.experiments").joinpath("published.csv")
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(_cell(row) for row in csv.DictReader(lines))


def published(dataset: str, method: str, metric: str) -> PublishedCell | None:
    """Find the figure of a cell, or None if the paper has none.

    Where two tables print different figures, this is the one of Table 1 or 2, which has a
    standard error. Every variant of `mmd` is compared with the paper's figure for its method.

    Examples
    --------
    >>> published("wine", "hnn", "ecpe").printed
    '0.041'
    """
    proposed = method.partition("-")[0] == "mmd"
    return _by_key().get((dataset, "mmd" if proposed else method, metric))


@cache
def _by_key() -> dict[tuple[str, str, str], PublishedCell]:
    found: dict[tuple[str, str, str], PublishedCell] = {}
    for cell in published_cells():
        found.setdefault((cell.dataset, cell.method, cell.metric), cell)
    return found


def _cell(row: dict[str, str]) -> PublishedCell:
    printed = row["mean"]
    return PublishedCell(
        table=row["table"].split()[0],
        dataset=_DATA_SETS[row["dataset"]],
        method=_METHODS[row["method"]],
        metric=row["metric"].lower(),
        mean=_MISPRINTS[printed] if printed in _MISPRINTS else float(printed),
        std_error=float(row["std_error"]) if row["std_error"] else None,
        printed=printed,
        printed_error=row["std_error"],
    )

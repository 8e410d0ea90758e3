"""What this library asks of its own method: a bar a file, judged from stored results."""

from calibrant.experiments.quality.ablation import ablation
from calibrant.experiments.quality.calibration import calibration
from calibrant.experiments.quality.conditional import conditional
from calibrant.experiments.quality.cost import cost
from calibrant.experiments.quality.leaders import leaders, quality_summary
from calibrant.experiments.quality.page import bars, quality_page
from calibrant.experiments.quality.runs import REPORTED, Runs
from calibrant.experiments.quality.sharpness import sharpness
from calibrant.experiments.quality.small_data import small_data
from calibrant.experiments.quality.stages import stages
from calibrant.experiments.quality.verdicts import Bar, Check, Table

__all__ = [
    "REPORTED",
    "Bar",
    "Check",
    "Runs",
    "Table",
    "ablation",
    "bars",
    "calibration",
    "conditional",
    "cost",
    "leaders",
    "quality_page",
    "quality_summary",
    "sharpness",
    "small_data",
    "stages",
]

"""Requirements on the quality of `MMDRegressor`, one per file, checked on stored results."""

from .ablation import ablation
from .calibration import calibration
from .conditional import conditional
from .cost import cost
from .frontier import frontier_summary, read_frontier, reported
from .leaders import leaders, quality_summary
from .marks import between_marks
from .page import quality_page, requirements
from .requirements import Check, Requirement, Result
from .runs import REPORTED, Runs
from .sharpness import sharpness
from .small_data import small_data
from .stages import stages
from .studies import ABLATION, STAGE_1, STUDY_METHODS

__all__ = [
    "ABLATION",
    "REPORTED",
    "STAGE_1",
    "STUDY_METHODS",
    "Check",
    "Requirement",
    "Result",
    "Runs",
    "ablation",
    "between_marks",
    "calibration",
    "conditional",
    "cost",
    "frontier_summary",
    "leaders",
    "quality_page",
    "quality_summary",
    "read_frontier",
    "reported",
    "requirements",
    "sharpness",
    "small_data",
    "stages",
]

"""The tables of the paper as data: what was published, what to run, what came out."""

from calibrant.experiments.claims import CLAIMS, Claim, Finding, check_claims
from calibrant.experiments.comparison import METRICS, Comparison, compare
from calibrant.experiments.methods import DEPTH_STUDY, METHODS, Method
from calibrant.experiments.published import PublishedCell, published, published_cells
from calibrant.experiments.runner import Outcome, missing, plan, run_cells
from calibrant.experiments.store import Cell, Store
from calibrant.experiments.tables import claims_table, comparison_table, depth_table
from calibrant.experiments.tasks import TASKS, Split, Task, make_split
from calibrant.experiments.trial import run_trial

__all__ = [
    "CLAIMS",
    "DEPTH_STUDY",
    "METHODS",
    "METRICS",
    "TASKS",
    "Cell",
    "Claim",
    "Comparison",
    "Finding",
    "Method",
    "Outcome",
    "PublishedCell",
    "Split",
    "Store",
    "Task",
    "check_claims",
    "claims_table",
    "compare",
    "comparison_table",
    "depth_table",
    "make_split",
    "missing",
    "plan",
    "published",
    "published_cells",
    "run_cells",
    "run_trial",
]

"""The experiments of the paper: published figures, what to run, and comparison of the results."""

from calibrant.experiments.candidates import CANDIDATES, chosen_methods
from calibrant.experiments.claims import CLAIMS, Claim, Finding, check_claims
from calibrant.experiments.comparison import METRICS, Comparison, compare_with_published
from calibrant.experiments.cross_validation import compare, run_comparison, stored_leaderboard
from calibrant.experiments.figures import figures
from calibrant.experiments.layout import Form
from calibrant.experiments.leaderboard import Leaderboard
from calibrant.experiments.methods import DEPTH_STUDY, METHODS, Method, in_depth, installed
from calibrant.experiments.packed import (
    add_to_store,
    joined,
    pack,
    read_results,
    unpack,
)
from calibrant.experiments.paper import PaperExperiment, plan
from calibrant.experiments.published import PublishedCell, published, published_cells
from calibrant.experiments.recommendation import Standing
from calibrant.experiments.runner import Experiment, Outcome, missing, run_cells
from calibrant.experiments.store import Cell, Store
from calibrant.experiments.tables import (
    PAPER_TABLES,
    claims_summary,
    claims_table,
    comparison_table,
    depth_table,
    paper_table,
    time_table,
)
from calibrant.experiments.tasks import TASKS, Split, Task, make_split
from calibrant.experiments.time_plan import TimePlan, duration

__all__ = [
    "CANDIDATES",
    "CLAIMS",
    "DEPTH_STUDY",
    "METHODS",
    "METRICS",
    "PAPER_TABLES",
    "TASKS",
    "Cell",
    "Claim",
    "Comparison",
    "Experiment",
    "Finding",
    "Form",
    "Leaderboard",
    "Method",
    "Outcome",
    "PaperExperiment",
    "PublishedCell",
    "Split",
    "Standing",
    "Store",
    "Task",
    "TimePlan",
    "add_to_store",
    "check_claims",
    "chosen_methods",
    "claims_summary",
    "claims_table",
    "compare",
    "compare_with_published",
    "comparison_table",
    "depth_table",
    "duration",
    "figures",
    "in_depth",
    "installed",
    "joined",
    "make_split",
    "missing",
    "pack",
    "paper_table",
    "plan",
    "published",
    "published_cells",
    "read_results",
    "run_cells",
    "run_comparison",
    "stored_leaderboard",
    "time_table",
    "unpack",
]

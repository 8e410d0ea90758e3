"""Training: stages, epochs and steps, for M networks as one batch."""

from calibrant.training.batches import BatchSource, shuffled
from calibrant.training.checkpoints import Checkpoint, Checkpoints
from calibrant.training.devices import resolve_device
from calibrant.training.history import Record
from calibrant.training.loop import run_stage
from calibrant.training.progress import (
    Progress,
    ProgressBar,
    open_progress,
    open_row_progress,
)
from calibrant.training.rows import MemberRows, Rows, SeriesWindows
from calibrant.training.stage import Objective, Stage
from calibrant.training.step_time import step_seconds
from calibrant.training.stream import StreamedRows, block_rows
from calibrant.training.workers import Workers

__all__ = [
    "BatchSource",
    "Checkpoint",
    "Checkpoints",
    "MemberRows",
    "Objective",
    "Progress",
    "ProgressBar",
    "Record",
    "Rows",
    "SeriesWindows",
    "Stage",
    "StreamedRows",
    "Workers",
    "block_rows",
    "open_progress",
    "open_row_progress",
    "resolve_device",
    "run_stage",
    "shuffled",
    "step_seconds",
]

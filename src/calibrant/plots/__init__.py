"""Figures of a forecast with matplotlib: ``ax`` in, ``ax`` out, nothing shown or saved.

All functions draw into the matplotlib Axes ``ax``, or into a new figure, and return the Axes. A
grey band holds the share ``band`` of perfect forecasters; None draws none.
"""

from calibrant.plots._coverage_over_time import coverage_over_time
from calibrant.plots._fan import fan_chart
from calibrant.plots._groups import group_coverage
from calibrant.plots._history import training_history
from calibrant.plots._intervals import draw_intervals, intervals
from calibrant.plots._leaderboard import leaderboard
from calibrant.plots._pit import pit_histogram
from calibrant.plots._reliability import draw_coverage, reliability
from calibrant.plots._risk_coverage import risk_coverage
from calibrant.plots._sharpness import sharpness
from calibrant.plots.displays import (
    IntervalDisplay,
    PITDisplay,
    ReliabilityDisplay,
    SharpnessDisplay,
)

__all__ = [
    "IntervalDisplay",
    "PITDisplay",
    "ReliabilityDisplay",
    "SharpnessDisplay",
    "coverage_over_time",
    "draw_coverage",
    "draw_intervals",
    "fan_chart",
    "group_coverage",
    "intervals",
    "leaderboard",
    "pit_histogram",
    "reliability",
    "risk_coverage",
    "sharpness",
    "training_history",
]

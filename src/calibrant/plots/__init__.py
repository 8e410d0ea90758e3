"""Figures of a forecast with matplotlib: ``ax`` in, ``ax`` out, nothing shown or saved."""

from calibrant.plots._coverage_over_time import coverage_over_time
from calibrant.plots._history import training_history
from calibrant.plots._intervals import intervals
from calibrant.plots._pit import pit_histogram
from calibrant.plots._reliability import reliability

__all__ = ["coverage_over_time", "intervals", "pit_histogram", "reliability", "training_history"]

"""Search for better settings of a method on a user's table, with Optuna (extra ``tune``)."""

from calibrant.tuning.result import TuningResult
from calibrant.tuning.search import tune
from calibrant.tuning.space import own_settings, search_space, single_changes

__all__ = ["TuningResult", "own_settings", "search_space", "single_changes", "tune"]

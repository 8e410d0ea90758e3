"""Recalibration: distributions in, distributions out."""

from calibrant.recalibration._recalibrator import Recalibrator
from calibrant.recalibration.adaptive import AdaptiveRecalibrator
from calibrant.recalibration.by_group import GroupRecalibrator
from calibrant.recalibration.conditional_pit_map import fit_conditional_pit_map
from calibrant.recalibration.conformal import ConformalRecalibrator
from calibrant.recalibration.isotonic import IsotonicRecalibrator
from calibrant.recalibration.pit_map import fit_pit_map
from calibrant.recalibration.shortcut import recalibrate

__all__ = [
    "AdaptiveRecalibrator",
    "ConformalRecalibrator",
    "GroupRecalibrator",
    "IsotonicRecalibrator",
    "Recalibrator",
    "fit_conditional_pit_map",
    "fit_pit_map",
    "recalibrate",
]

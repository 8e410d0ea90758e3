"""Recalibration: distributions in, distributions out."""

from calibrant.recalibration._wrapped import Recalibrator
from calibrant.recalibration.adaptive import AdaptiveRecalibrator
from calibrant.recalibration.conformal import ConformalRecalibrator
from calibrant.recalibration.isotonic import IsotonicRecalibrator
from calibrant.recalibration.maps_by_place import fit_maps_by_place
from calibrant.recalibration.pit_map import fit_pit_map

__all__ = [
    "AdaptiveRecalibrator",
    "ConformalRecalibrator",
    "IsotonicRecalibrator",
    "Recalibrator",
    "fit_maps_by_place",
    "fit_pit_map",
]

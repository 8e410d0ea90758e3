"""Recalibration: distributions in, distributions out."""

from calibrant.recalibration.pit_map import fit_pit_map

__all__ = ["fit_pit_map"]

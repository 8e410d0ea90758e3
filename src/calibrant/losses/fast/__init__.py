"""Fast twins of the pairwise reference; `switch` decides which one computes a loss."""

from calibrant.losses.fast.mmd import fast_mmd
from calibrant.losses.fast.reduced import reduced_mmd
from calibrant.losses.fast.switch import Method, choose_path

__all__ = ["Method", "choose_path", "fast_mmd", "reduced_mmd"]

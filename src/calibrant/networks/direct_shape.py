"""Sizes and inputs of the network for all steps of a horizon."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from torch import Tensor


@dataclass(frozen=True)
class DirectShape:
    """Sizes of a `DirectNetwork`.

    Parameters
    ----------
    window, horizon : int
        Rows that are seen, and steps ahead.
    n_levels : int
        Quantiles per step.
    n_series : int
        Series with an embedding; code 0 stands for all others.
    n_known, n_past, n_static : int
        Inputs known ahead, known up to the origin, and constant.
    hidden : int
    dropout : float
    mixed_season : int
        Rows of a season whose seasons are mixed, see `SeasonMixer`; 0 for a `WindowMLP`.
    """

    window: int
    horizon: int
    n_levels: int
    n_series: int
    n_known: int
    n_past: int
    n_static: int
    hidden: int
    dropout: float
    mixed_season: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Fields by name, for saving."""
        return asdict(self)


class WindowBatch(NamedTuple):
    """Inputs of n windows, in units of each window's own level and scale.

    Attributes
    ----------
    past : tensor of shape (n, window)
        Target; gaps are filled.
    past_inputs : tensor of shape (n, window, n_past)
    known : tensor of shape (n, horizon, n_known)
        Inputs of the steps to forecast.
    static : tensor of shape (n, n_static)
    series : tensor of shape (n,)
        Code of the series, from 1; 0 for a series without an embedding.
    seasonal : tensor of shape (n, horizon, n_levels)
        Quantiles of the window's values in the same phase of the season.
    """

    past: Tensor
    past_inputs: Tensor
    known: Tensor
    static: Tensor
    series: Tensor
    seasonal: Tensor

"""Energy distance between points, by sorting."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant.losses._difference import Difference


def sorted_v(difference: Difference) -> Tensor:
    """Energy distance, V-statistic, (B,), of predictions without variance, in O(n log n).

    With masses of sum 0, ``-sum a_i a_j |p_i - p_j|`` is ``2 integral A(t)^2 dt``, A(t) being
    the mass up to t: a sum of squares over the gaps between sorted points.
    """
    positions = torch.cat([difference.y, difference.means.flatten(1)], dim=1).double()
    masses = torch.cat([difference.share, difference.masses.flatten(1)], dim=1).double()
    ordered, order = positions.sort(dim=-1)
    up_to = masses.gather(-1, order).cumsum(dim=-1)[:, :-1]
    return 2.0 * (up_to.square() * ordered.diff(dim=-1)).sum(dim=-1)

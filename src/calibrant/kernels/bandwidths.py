"""Rules for bandwidths."""

from __future__ import annotations

import torch
from torch import Tensor

# As printed in the paper, for targets scaled to [0, 1].
PUBLISHED_BANDWIDTHS: tuple[float, ...] = (1.0, 4.0, 8.0, 16.0, 32.0, 64.0)

# Adaptive bandwidths are (c std(y))^2: from a twentieth of the spread, where the shape of a
# conditional distribution shows, to twice the spread, where only its mean does.
ADAPTIVE_FACTORS: tuple[float, ...] = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

_MOST_ROWS = 1000  # half a million pairs fix a median to a fraction of a percent


def adaptive_bandwidths(spread: float) -> tuple[float, ...]:
    """Bandwidths ``(c spread)^2`` for the six `ADAPTIVE_FACTORS` c."""
    return tuple((c * spread) ** 2 for c in ADAPTIVE_FACTORS)


def median_rows(n_rows: int) -> slice:
    """The rows that `median_squared_distance` looks at, for those who need not make the others."""
    return slice(None, None, max(1, -(-n_rows // _MOST_ROWS)))


def median_squared_distance(z: Tensor) -> float:
    """Median of the squared distances between rows of z, (n, d); 1 if it would be 0.

    At most 1000 rows, evenly spaced, are looked at.
    """
    distances = torch.pdist(z[median_rows(len(z))].double())
    median = float(distances.median()) ** 2 if len(distances) else 0.0
    return median if median > 0 else 1.0

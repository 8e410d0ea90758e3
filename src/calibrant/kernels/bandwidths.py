"""Rules for bandwidths."""

from __future__ import annotations

import torch
from torch import Tensor

# As printed in the paper, for targets scaled to [0, 1].
PUBLISHED_BANDWIDTHS: tuple[float, ...] = (1.0, 4.0, 8.0, 16.0, 32.0, 64.0)

# Adaptive bandwidths are (c std(y))^2: from a twentieth of the spread, where the shape of a
# conditional distribution shows, to twice the spread, where only its mean does.
ADAPTIVE_FACTORS: tuple[float, ...] = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

_MOST_ROWS = 1000  # half a million pairs determine a median to a fraction of a percent


def adaptive_bandwidths(spread: float) -> tuple[float, ...]:
    """Bandwidths ``(c spread)^2`` for the six `ADAPTIVE_FACTORS` c."""
    return tuple((c * spread) ** 2 for c in ADAPTIVE_FACTORS)


def median_rows(n_rows: int) -> slice:
    """The rows that `median_squared_distance` uses, so that a caller can compute only those."""
    return slice(None, None, max(1, -(-n_rows // _MOST_ROWS)))


def median_squared_distance(z: Tensor) -> Tensor:
    """Median of the squared distances between rows of z, (..., n, d), as (...) in float64.

    1 if it would be 0. At most 1000 rows, evenly spaced, are used.
    """
    z = z[..., median_rows(z.shape[-2]), :].double()
    n = z.shape[-2]
    if n < 2:
        return z.new_ones(z.shape[:-2])
    i, j = torch.triu_indices(n, n, offset=1, device=z.device)
    # Without a matrix product, which loses the digits of rows far from 0.
    distances = torch.cdist(z, z, compute_mode="donot_use_mm_for_euclid_dist")[..., i, j]
    median = distances.median(dim=-1).values.square()
    return torch.where(median > 0, median, 1.0)

"""Moments and CRPS by Gauss-Legendre quadrature, for distributions without a closed form."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from calibrant.checks import Array
from calibrant.distributions._base import Distribution
from calibrant.distributions._search import search_rows

NODES_PER_PANEL = 8
_MANY_PANELS, _FEWER_NODES = 40, 4  # narrow panels need fewer


class Panels(NamedTuple):
    """The cdf of n rows at the quadrature nodes of P panels."""

    edges: Array  # (n, P + 1)
    t: Array  # (n, P, nodes)
    cdf: Array  # (n, P, nodes)
    rule: tuple[Array, Array]  # nodes and weights on [0, 1]

    @property
    def width(self) -> Array:
        """Widths of the panels, (n, P)."""
        return np.diff(self.edges, axis=1)


def panels_of(dist: Distribution, edges: Array | None = None) -> Panels:
    """Evaluate the cdf at the nodes, which is nearly all that an integral costs.

    Parameters
    ----------
    edges : array of shape (n, P + 1), optional
        Default: those of `Distribution._panels`.
    """
    edges = dist._panels() if edges is None else edges
    rule = _rule(edges.shape[1] > _MANY_PANELS)
    return Panels(edges, *_cdf_at_nodes(dist, edges[:, :-1], edges[:, 1:], rule[0]), rule)


def integrate_crps(dist: Distribution, panels: Panels, y: Array) -> Array:
    """CRPS of every row, ``int_{t<y} F(t)^2 dt + int_{t>y} (1 - F(t))^2 dt``.

    Parameters
    ----------
    panels : Panels
    y : array of shape (n, k)

    Returns
    -------
    array of shape (n, k)
    """
    edges, nodes, weights = panels.edges, *panels.rule
    below = panels.width * (panels.cdf**2 @ weights)
    above = panels.width * ((1.0 - panels.cdf) ** 2 @ weights)
    start = np.zeros((len(y), 1))
    below = np.concatenate([start, np.cumsum(below, axis=1)], axis=1)  # int_{e_0}^{e_j} F^2
    above = np.concatenate([start, np.cumsum(above[:, ::-1], axis=1)], axis=1)
    above = above[:, ::-1]  # int_{e_j}^{e_P} (1 - F)^2
    inside = np.clip(y, edges[:, :1], edges[:, -1:])
    panel = np.clip(search_rows(edges, inside, "right") - 1, 0, edges.shape[1] - 2)
    left, right = (np.take_along_axis(edges, panel + step, axis=1) for step in (0, 1))
    _, before = _cdf_at_nodes(dist, left, inside, nodes)
    _, after = _cdf_at_nodes(dist, inside, right, nodes)
    score = np.take_along_axis(below, panel, axis=1) + (inside - left) * (before**2 @ weights)
    score += np.take_along_axis(above, panel + 1, axis=1)
    score += (right - inside) * ((1.0 - after) ** 2 @ weights)
    return score + np.abs(y - inside)  # outside the panels F is 0 or 1


def integrate_moments(panels: Panels) -> tuple[Array, Array]:
    """Mean and variance of every row, (n,) each.

    With c the panel edge next to the median, ``E Y = c + int_{t>c} (1 - F) dt - int_{t<c} F dt``
    and ``E (Y - c)^2 = 2 int_{t>c} (t - c)(1 - F) dt + 2 int_{t<c} (c - t) F dt``: nothing large
    cancels.
    """
    t, cdf, weights = panels.t, panels.cdf, panels.rule[1]
    middle = np.count_nonzero(cdf[:, :, 0] < 0.5, axis=1)[:, None]
    centre = np.take_along_axis(panels.edges, middle, axis=1)[:, :, None]
    tail = np.where(t < centre, -cdf, 1.0 - cdf)
    first = np.sum(panels.width * (tail @ weights), axis=1)
    second = 2.0 * np.sum(panels.width * ((tail * (t - centre)) @ weights), axis=1)
    return centre[:, 0, 0] + first, np.maximum(second - first**2, 0.0)


@cache
def _rule(many_panels: bool) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    count = _FEWER_NODES if many_panels else NODES_PER_PANEL
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _cdf_at_nodes(
    dist: Distribution, left: Array, right: Array, nodes: Array
) -> tuple[Array, Array]:
    """Nodes between left and right, and the cdf there, (n, P, nodes) each."""
    t = left[:, :, None] + (right - left)[:, :, None] * nodes
    cdf = dist._cdf(t.reshape(len(t), t.shape[1] * t.shape[2])).reshape(t.shape)
    return t, cdf

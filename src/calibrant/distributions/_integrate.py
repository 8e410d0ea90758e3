"""Moments and CRPS by Gauss-Legendre quadrature, where there is no closed form."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from calibrant.distributions._base import Distribution
from calibrant.distributions._checks import Array
from calibrant.distributions._chunks import over_rows, row_chunks
from calibrant.distributions._search import search_rows

_NODES_PER_PANEL = 8
_MANY_PANELS, _FEWER_NODES = 40, 4  # narrow panels need fewer


class Integrated(Distribution):
    """Distribution whose moments and CRPS are integrals of its cdf over its panels."""

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        return self._moments[0].copy()

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,)."""
        return self._moments[1].copy()

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance; kept, because they take as long as hundreds of cdf values."""
        mean, variance = np.empty(len(self)), np.empty(len(self))

        def work(rows: slice) -> None:
            mean[rows], variance[rows] = integrate_moments(panels_of(self._part(rows)))

        over_rows(len(self), _NODES_PER_PANEL * self._cells_per_row(), work)
        return mean, variance

    def _crps(self, y: Array) -> Array:
        out = np.empty(y.shape)
        for rows in row_chunks(len(y), _NODES_PER_PANEL * (self._cells_per_row() + y.shape[1])):
            part = self._part(rows)
            out[rows] = integrate_crps(part, panels_of(part), y[rows])
        return out

    def _moments_and_crps(self, y: Array) -> tuple[Array, Array, Array]:
        mean, variance, crps = (np.empty(len(self)) for _ in range(3))

        def work(rows: slice) -> None:
            part = self._part(rows)
            panels = panels_of(part)
            mean[rows], variance[rows] = integrate_moments(panels)
            crps[rows] = integrate_crps(part, panels, y[rows, None])[:, 0]

        over_rows(len(self), _NODES_PER_PANEL * (self._cells_per_row() + 1), work)
        self.__dict__["_moments"] = mean, variance
        return mean.copy(), variance.copy(), crps

    def _with(self, **parts: Any) -> Self:
        copy = super()._with(**parts)
        copy.__dict__.pop("_moments", None)  # those of other rows
        return copy


class Panels(NamedTuple):
    """The cdf of n rows on P panels, with the rule to integrate it."""

    edges: Array  # (n, P + 1)
    t: Array  # (n, P, nodes)
    cdf: Array  # (n, P, nodes)
    rule: tuple[Array, Array]

    @property
    def width(self) -> Array:
        """Widths of the panels, (n, P)."""
        return np.diff(self.edges, axis=1)


def panels_of(dist: Distribution, edges: Array | None = None) -> Panels:
    """Evaluate the cdf at the nodes: nearly all that an integral costs.

    Parameters
    ----------
    edges : array of shape (n, P + 1), optional
        Those of `Distribution._panels` if not given.
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
    """Nodes and weights of Gauss and Legendre on [0, 1]."""
    count = _FEWER_NODES if many_panels else _NODES_PER_PANEL
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _cdf_at_nodes(
    dist: Distribution, left: Array, right: Array, nodes: Array
) -> tuple[Array, Array]:
    """Places and cdf of the nodes between left and right, (n, P, nodes)."""
    t = left[:, :, None] + (right - left)[:, :, None] * nodes
    cdf = dist._cdf(t.reshape(len(t), t.shape[1] * t.shape[2])).reshape(t.shape)
    return t, cdf

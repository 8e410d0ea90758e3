"""Mean, spread and quantiles of recalibrated mixtures, in operations of torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from calibrant.checks import Array
from calibrant.distributions.torch_mixture import TorchMixture
from calibrant.estimators.atoms import Atoms
from calibrant.estimators.bounds import Bounds


class Summary(NamedTuple):
    """What an exported model returns for n rows and L levels, in target units."""

    mean: Tensor  # (n,)
    stddev: Tensor  # (n,)
    quantiles: Tensor  # (n, L)


class Steps(NamedTuple):
    """The function h, which moves values to atoms and bounds and leaves the others.

    Attributes
    ----------
    edges : tensor of shape (E,)
    values : tensor of shape (E + 1,)
        Of h between the edges, where it is constant.
    constant : tensor of shape (E + 1,)
        1 where it is, 0 where it is the identity.
    """

    edges: Tensor
    values: Tensor
    constant: Tensor


@dataclass(frozen=True)
class MappedMixture:
    """Distribution of ``h(Z)`` in n rows, with ``F_Z(y) = g(F(y))`` for a mixture F.

    h moves the values of a cell to its atom and those beyond the bounds onto them. Quantiles are
    ``h(F^-1(g^-1(level)))``. Mean and spread have closed forms: the map g has pieces of constant
    slope, between which the density of Z is a multiple of that of the mixture.

    Parameters
    ----------
    mixture : TorchMixture
    knots, heights : tensors of shape (1, k) or (n, k)
        The map g, from 0 to 1.
    steps : Steps
        The function h.
    """

    mixture: TorchMixture
    knots: Tensor
    heights: Tensor
    steps: Steps

    def recalibrated(self, x: Tensor, y: Tensor) -> Self:
        """Apply one more map, with knots (k,) from 0 to 1, to all distribution functions.

        ``F_h(Z)`` and ``F_Z`` take the map alike, since h never decreases.
        """
        rows = self.heights.shape[0]
        there = _interpolate(x[None].expand(rows, -1), self.heights, self.knots)
        above = _interpolate(self.heights, x[None], y[None])
        inner = slice(1, -1)
        both = (
            torch.cat([self.knots.expand(rows, -1), there[:, inner]], dim=1),
            torch.cat([above, y[None, inner].expand(rows, -1)], dim=1),
        )
        knots, heights = (part.sort(dim=1).values for part in both)
        return replace(self, knots=knots, heights=heights)

    def summary(self, levels: Tensor) -> Summary:
        """Mean, standard deviation and quantiles at levels (L,)."""
        rows = self.mixture.locs.shape[0]
        knots, heights = (part.expand(rows, -1) for part in (self.knots, self.heights))
        slopes = _slopes(knots, heights)
        tail, upper = _tails(levels, knots, heights, slopes)
        inner = knots[:, 1:-1]
        beyond = torch.cat([tail, torch.minimum(inner, 1.0 - inner)], dim=1)
        above = torch.cat([upper, inner > 0.5], dim=1)
        centre = self.mixture.mean
        # Distances from the mean: they do not cancel far from zero.
        offsets = self.mixture.affine(-centre[:, None], torch.ones_like(levels[0]))
        found = offsets.ppf(beyond, above)
        split = len(levels)
        first, second = self._moments(offsets, found[:, split:], knots, slopes, centre)
        variance = torch.clamp(second - first.square(), min=0.0)
        quantiles = self._moved(centre[:, None] + found[:, :split])
        return Summary(centre + first, variance.sqrt(), quantiles)

    def _moments(
        self, offsets: TorchMixture, cuts: Tensor, knots: Tensor, slopes: Tensor, centre: Tensor
    ) -> tuple[Tensor, Tensor]:
        """First and second moment of ``h(Z) - centre``, (n,) each.

        Parameters
        ----------
        offsets : TorchMixture
            Distances of the mixture from the centre.
        cuts : tensor of shape (n, k)
            Its quantiles at the inner knots of the map.
        """
        edges, values, constant = self.steps
        partial = offsets.partial_moments(torch.cat([cuts, edges - centre[:, None]], dim=1))
        inner, at_edges = partial.split([cuts.shape[1], len(edges)], dim=1)
        # Moments up to the level of a knot: the error of a cut counts twice only.
        missing = (knots[:, 1:-1] - inner[:, :, 0])[:, :, None]
        powers = torch.stack([torch.ones_like(cuts), cuts, cuts.square()], dim=2)
        whole = torch.stack([torch.ones_like(centre), offsets.mean, offsets.variance], dim=1)
        parts = [torch.zeros_like(whole)[:, None], inner + missing * powers, whole[:, None]]
        moments = torch.cat(parts, dim=1)  # of the mixture, (n, k + 2, 3)
        steps = slopes[:, :, None] * moments.diff(dim=1)
        mapped = torch.cat([torch.zeros_like(whole)[:, None], steps.cumsum(dim=1)], dim=1)
        if not len(edges):
            return mapped[:, -1, 1], mapped[:, -1, 2]
        piece = _piece(knots, at_edges[:, :, 0])  # (n, E)
        own = piece[:, :, None].expand(-1, -1, 3)
        rise = at_edges - torch.gather(moments, 1, own)
        at_edges = torch.gather(mapped, 1, own) + torch.gather(slopes, 1, piece)[:, :, None] * rise
        ends = torch.zeros_like(mapped[:, :1]), at_edges, mapped[:, -1:]
        between = torch.cat(ends, dim=1).diff(dim=1)  # (n, E + 1, 3)
        away = values - centre[:, None]
        mass = between[:, :, 0]
        first = torch.where(constant > 0, away * mass, between[:, :, 1])
        second = torch.where(constant > 0, away.square() * mass, between[:, :, 2])
        return first.sum(dim=1), second.sum(dim=1)

    def _moved(self, y: Tensor) -> Tensor:
        """``h(y)``: the atom of a cell, the bound beyond it, or y itself."""
        edges, values, constant = self.steps
        if not len(edges):
            return y
        interval = (edges < y[:, :, None]).sum(dim=2)
        return torch.where(constant[interval] > 0, values[interval], y)


def steps_of(atoms: Atoms, bounds: Bounds | None) -> dict[str, Array]:
    """Edges, values and where h is constant, as in `Steps`.

    An interval excludes its lower edge and includes its upper one, as the cells of atoms do.
    """
    low, high = bounds or (None, None)
    floor, ceiling = -np.inf if low is None else low, np.inf if high is None else high
    points, starts, stops = atoms.cells.T
    cuts = np.unique([*starts, *stops, floor, ceiling])
    edges = cuts[np.isfinite(cuts)]
    left, right = np.append(-np.inf, edges), np.append(edges, np.inf)
    cell = np.searchsorted(stops, right)
    within = np.append(starts, np.inf)[cell] <= left
    constant = within | (right <= floor) | (left >= ceiling)
    nearest = np.where(right <= floor, floor, ceiling)
    values = np.clip(np.where(within, np.append(points, 0.0)[cell], nearest), floor, ceiling)
    return {
        "edges": edges,
        "values": np.where(constant, values, 0.0),
        "constant": constant.astype(np.float64),
    }


def one_normal(loc: Tensor, scale: Tensor) -> TorchMixture:
    """Normals of n rows as mixtures of one."""
    return TorchMixture(torch.ones_like(loc)[:, None], loc[:, None], scale[:, None])


def _tails(levels: Tensor, knots: Tensor, heights: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """``g^-1(level)`` as the nearer tail, and whether that is the upper one, (n, L) each."""
    piece = _piece(heights, levels[None].expand(heights.shape[0], -1))
    slope = torch.gather(slopes, 1, piece)
    past = (levels - torch.gather(heights, 1, piece)) / slope
    left = (torch.gather(heights, 1, piece + 1) - levels) / slope
    below = torch.gather(knots, 1, piece) + past
    above = torch.gather(1.0 - knots, 1, piece + 1) + left
    return torch.minimum(below, above), below > above


def _interpolate(at: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Piecewise-linear functions with knots x and values y, (n, k), at (n, L)."""
    rows = at.shape[0]
    piece = _piece(x.expand(rows, -1), at)
    start, rise, height = (
        torch.gather(part.expand(rows, -1), 1, piece) for part in (x, _slopes(x, y), y)
    )
    return height + rise * (at - start)


def _piece(knots: Tensor, at: Tensor) -> Tensor:
    """Which piece between knots, (n, k), each value lies on, (n, L)."""
    return (knots[:, None, 1:-1] <= at[:, :, None]).sum(dim=2)


def _slopes(x: Tensor, y: Tensor) -> Tensor:
    """Slopes between knots; those of pieces that rounding has made empty are 1."""
    width = x.diff(dim=1)
    return torch.where(width > 0, y.diff(dim=1) / torch.where(width > 0, width, 1.0), 1.0)

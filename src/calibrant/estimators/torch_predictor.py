"""A predictor as one torch module: from rows to a calibrated mixture.

`Predictor` returns distributions, which a file for other runtimes can't hold. This module runs the
same steps on tensors.
"""

from __future__ import annotations

import copy
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from calibrant.distributions.torch_mixture import TorchMixture
from calibrant.errors import ParameterError
from calibrant.estimators.combine import (
    MatchedMoments,
    PointSpread,
    SingleNetwork,
    WeightedMixture,
    normal_of_points,
)
from calibrant.estimators.forest import LEAST_SPREAD, Forest
from calibrant.estimators.linear_trend import LinearTrend
from calibrant.estimators.neighbours import FEW, Neighbours
from calibrant.estimators.predictor import Predictor
from calibrant.estimators.torch_summary import MappedMixture, Steps, one_normal, steps_of
from calibrant.networks import GaussianHead, MixtureHead, PeriodicEmbedding, PointHead, Recurrent

_MOST_NEIGHBOURS = 200_000  # training rows


class TorchPredictor(nn.Module):
    """Networks > mixture > trend > calibration map > atoms and bounds, in float64.

    Parameters
    ----------
    predictor : Predictor
        Without dropout passes or samples.
    """

    loc: Tensor
    scale: Tensor
    limit: Tensor
    target_loc: Tensor
    target_scale: Tensor
    noise: Tensor
    stretch: Tensor
    knots: Tensor
    common: Tensor
    anchors: Tensor
    anchor_levels: Tensor
    edges: Tensor
    values: Tensor
    constant: Tensor

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        check_exportable(predictor)
        self.combine = predictor.combine
        self.head = predictor.networks.head
        self.members = nn.ModuleList(
            _plain(predictor.networks.part(slice(i, i + 1)).single)
            for i in range(predictor.networks.size)
        )
        scaler, target = predictor.features.scaler, predictor.target
        self.has_limit = scaler.limit is not None
        each = predictor.networks.size // len(predictor.specs)
        self.widths = [spec.n_inputs for spec in predictor.specs for _ in range(each)]
        features = predictor.features
        neighbours = [] if features.neighbours is None else [TorchNeighbours(features.neighbours)]
        forest = [] if features.forest is None else [TorchForest(features.forest)]
        self.more = nn.ModuleList([*neighbours, *forest])
        self.trend = None if predictor.trend is None else TorchTrend(predictor.trend)
        mapping = predictor.map
        ends = [0.0, 1.0]
        register_constants(
            self,
            loc=scaler.loc,
            scale=scaler.scale,
            limit=scaler.limit or 1.0,
            target_loc=target.loc,
            target_scale=target.scale,
            noise=getattr(predictor.combine, "noise", None) or 0.0,
            stretch=getattr(predictor.combine, "stretch", 1.0),
            knots=[ends] if mapping is None else mapping.common.x[None],
            common=[ends] if mapping is None else mapping.common.y[None],
            anchors=[] if mapping is None else mapping.means,
            anchor_levels=[]
            if mapping is None
            else np.pad(mapping.levels, [(0, 0), (1, 1)], constant_values=(0.0, 1.0)),
            **steps_of(predictor.atoms, predictor.bounds),
        )

    def forward(self, x: Tensor) -> MappedMixture:
        """Predictive distribution of every row.

        Parameters
        ----------
        x : tensor of shape (n, d), or (n, steps, d) for sequences, float64
            Encoded inputs, without gaps.
        """
        loc = self.target_loc if self.trend is None else self.target_loc + self.trend(x)[:, None]
        raw = self._mixture(self._features(x)).affine(loc, self.target_scale)
        steps = Steps(self.edges, self.values, self.constant)
        return MappedMixture(raw, self.knots, self._heights(raw.mean), steps)

    def _features(self, x: Tensor) -> Tensor:
        """Scaled inputs and, for models that use them, what the targets of training rows tell."""
        scaled = (x - self.loc) / self.scale
        if self.has_limit:
            scaled = scaled / torch.sqrt(1.0 + (scaled / self.limit).square())
        if not len(self.more):
            return scaled
        return torch.cat([scaled, *(part(scaled) for part in self.more)], dim=1)

    def _mixture(self, x: Tensor) -> TorchMixture:
        """Combine the outputs of the networks, in units of the scaled target."""
        reads = zip(self.members, self.widths, strict=True)
        outputs = torch.stack([member(x[..., :width]) for member, width in reads])  # (M, n, k)
        combine = self.combine
        if isinstance(combine, PointSpread):
            points = normal_of_points(outputs)
            return one_normal(points.loc, (points.variance + self.noise).sqrt())
        weights, locs, scales = self._components(outputs)
        if isinstance(combine, MatchedMoments):
            means = (weights * locs).sum(dim=2)
            away = locs - means[:, :, None]
            within = (weights * (scales.square() + away.square())).sum(dim=2)
            between = (means - means.mean(dim=0)).square().mean(dim=0)
            return one_normal(means.mean(dim=0), (within.mean(dim=0) + between).sqrt())
        shares = np.ones(len(outputs))
        if isinstance(combine, WeightedMixture):
            locs, scales = self._stretched(weights, locs, scales)
            shares = np.repeat(combine.shares, len(outputs) // len(combine.shares))
        share = torch.as_tensor(shares / shares.sum()).to(weights)
        parts = weights * share[:, None, None], locs, scales
        mixture = TorchMixture(*(part.transpose(0, 1).flatten(1) for part in parts))
        return mixture.reduced() if len(outputs) > 1 else mixture

    def _components(self, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weights, means and standard deviations of every network, (M, n, K) each."""
        if isinstance(self.head, MixtureHead):
            mixture = self.head.torch_distribution(outputs)
            normals = cast(torch.distributions.Normal, mixture.component_distribution)
            return mixture.mixture_distribution.probs, normals.loc, normals.scale
        one = cast(torch.distributions.Normal, self.head.torch_distribution(outputs))
        return torch.ones_like(one.loc)[..., None], one.loc[..., None], one.scale[..., None]

    def _stretched(self, weights: Tensor, locs: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
        """As `combine.stretched`: locations and scales about the mean of each network."""
        head, factor = self.head, self.stretch
        if not isinstance(head, MixtureHead):
            return locs, factor * scales
        free = np.tile(np.arange(head.components + head.spikes) < head.components, head.submodels)
        movable = torch.as_tensor(free, device=locs.device)
        own = torch.where(movable, weights, 0.0)
        total = own.sum(dim=2, keepdim=True)
        centre = torch.where(total > 0, (own * locs).sum(dim=2, keepdim=True) / total, 0.0)
        moved = centre + factor * (locs - centre)
        return torch.where(movable, moved, locs), torch.where(movable, factor * scales, scales)

    def _heights(self, centre: Tensor) -> Tensor:
        """Levels of the calibration map at its knots, (1 or n, k + 2), given the predicted mean."""
        if not len(self.anchors):
            return self.common
        right = torch.clamp((self.anchors < centre[:, None]).sum(dim=1), 1, len(self.anchors) - 1)
        start, end = self.anchors[right - 1], self.anchors[right]
        share = torch.clamp((centre - start) / (end - start), 0.0, 1.0)[:, None]
        return (1.0 - share) * self.anchor_levels[right - 1] + share * self.anchor_levels[right]


class TorchTrend(nn.Module):
    """The trend of `LinearTrend`."""

    low: Tensor
    high: Tensor
    weights: Tensor
    intercept: Tensor

    def __init__(self, trend: LinearTrend) -> None:
        super().__init__()
        register_constants(self, **vars(trend))

    def forward(self, x: Tensor) -> Tensor:
        """Trend of rows (n, d), in target units, (n,)."""
        return torch.clamp(x, self.low, self.high) @ self.weights + self.intercept


class TorchNeighbours(nn.Module):
    """The features of `Neighbours`, by comparing every row with all training rows."""

    x: Tensor
    y: Tensor
    near: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, known: Neighbours) -> None:
        super().__init__()
        self.count = known.count
        given = {name: getattr(known, name) for name in ("x", "y", "near", "loc", "scale")}
        register_constants(self, **given)

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, 7) of scaled inputs (n, d)."""
        squares = self.x.square().sum(dim=1) - 2.0 * x @ self.x.mT  # without those of x itself
        nearest = squares.topk(self.count, dim=1, largest=False).indices
        # From differences: the squares of close rows cancel.
        away = x[:, None] - self.x[nearest]
        distance, order = away.square().sum(dim=2).sqrt().sort(dim=1)
        y = torch.gather(self.y[nearest], 1, order)
        return (neighbour_features(distance, y, self.near) - self.loc) / self.scale


def neighbour_features(distance: Tensor, y: Tensor, near: Tensor) -> Tensor:
    """As in `Neighbours.describe` before its scaling, (n, 7)."""
    weight = 1.0 / (distance + near)
    features = (
        y[:, 0],
        (weight * y).sum(dim=1) / weight.sum(dim=1),
        y[:, :FEW].mean(dim=1),
        y.mean(dim=1),
        (y - y.mean(dim=1, keepdim=True)).square().mean(dim=1).sqrt(),
        torch.log(distance[:, 0] + near),
        torch.log(distance[:, -1] + near),
    )
    return torch.stack(features, dim=1)


class TorchForest(nn.Module):
    """The features of `Forest`, by as many steps as the deepest tree has."""

    column: Tensor
    threshold: Tensor
    right: Tensor
    roots: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, known: Forest) -> None:
        super().__init__()
        self.depth = known.depth
        register_constants(self, loc=known.loc, scale=known.scale)
        for name in ("column", "right", "roots"):
            nodes = torch.as_tensor(getattr(known, name).astype(np.int64))
            self.register_buffer(name, nodes)
        self.register_buffer("threshold", torch.as_tensor(known.threshold))

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, 2) of scaled inputs (n, d)."""
        values = x.float()
        node = self.roots.expand(x.shape[0], -1)
        for _ in range(self.depth):
            column = self.column[node]
            value = torch.gather(values, 1, column.clamp(min=0))
            child = torch.where(value <= self.threshold[node], node + 1, self.right[node])
            node = torch.where(column < 0, node, child)
        predicted = self.threshold[node].double()
        mean = predicted.mean(dim=1)
        spread = (predicted - mean[:, None]).square().mean(dim=1).sqrt()
        features = torch.stack([mean, torch.log(spread + LEAST_SPREAD)], dim=1)
        return (features - self.loc) / self.scale


def register_constants(module: nn.Module, **values: object) -> None:
    """Register float64 buffers."""
    for name, value in values.items():
        module.register_buffer(name, torch.as_tensor(np.array(value, dtype=np.float64)))


def check_exportable(predictor: Predictor) -> None:
    """Raise an error for steps that the module can't run, and name what can."""
    combine, head = predictor.combine, predictor.networks.head
    instead = "Use MMDRegressor, DeepEnsembleRegressor or HeteroscedasticRegressor instead."
    known = predictor.features.neighbours
    if known is not None and len(known.y) > _MOST_NEIGHBOURS:
        raise ParameterError(
            f"The model looks up the nearest of {len(known.y):,} training rows, and the exported "
            f"one would compare every row with all of them; at most {_MOST_NEIGHBOURS:,} can be "
            'exported. Fit it with ensemble=Ensemble(kinds=("relu", "silu")), without neighbours.'
        )
    if getattr(predictor.specs[0], "inputs", ()):
        raise ParameterError(
            "A network of several inputs can't be exported: the graph reads one matrix, and "
            "runtimes have no convolutions in float64. Save the model (save, or "
            "calibrant.adapters.mlflow) and predict with calibrant."
        )
    if getattr(combine, "passes", 0):
        raise ParameterError(f"Monte-Carlo dropout passes can't be exported. {instead}")
    combined = isinstance(combine, SingleNetwork | MatchedMoments | WeightedMixture | PointSpread)
    if not combined or not isinstance(head, GaussianHead | MixtureHead | PointHead):
        what = type(head if combined else combine).__name__
        raise ParameterError(f"Predictions by {what} can't be exported. {instead}")


def _plain(network: nn.Module) -> nn.Module:
    """Copy of a network in float64 on the CPU, without fused layers and numbers that round."""
    plain = copy.deepcopy(network).double().cpu().eval().requires_grad_(False)
    for module in plain.modules():
        if isinstance(module, Recurrent):
            module.stepwise = True  # runtimes have no recurrent layers in float64
        if isinstance(module, PeriodicEmbedding):
            module.use_radians()
    return plain

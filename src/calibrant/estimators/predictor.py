"""The predictor: the steps from rows to distributions that remain after `fit` and are saved."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant.distributions import Distribution, concatenate
from calibrant.estimators.atoms import Atoms
from calibrant.estimators.bounds import Bounds, bounded
from calibrant.estimators.calibration_map import CalibrationMap
from calibrant.estimators.combine import Combine
from calibrant.estimators.features import Features
from calibrant.estimators.linear_trend import LinearTrend
from calibrant.estimators.scaling import Scaler
from calibrant.estimators.windows import Windows
from calibrant.networks import (
    DeepGPSpec,
    MemberNetworks,
    NetworkKinds,
    Networks,
    NetworkSpec,
    join_kinds,
)
from calibrant.persistence import savable_part

Inputs = NDArray[np.float64] | Windows

_PREDICT_ROWS = 1 << 16  # at a time, to bound memory; steps of sequences count as rows
_CACHED_ROWS = 1 << 12  # of vectors at a time: their activations stay in the cache
_MANY_ROWS = 2048  # from which networks with submodels predict in float32


@savable_part
@dataclass(frozen=True, eq=False, kw_only=True)
class Predictor:
    """Fitted model as a chain of steps.

    Features > networks > combine > trend > atoms > map > bounds.

    Networks predict in float64, so that the prediction of a row does not depend on the other rows
    of its batch. Ensembles with submodels predict many rows in float32, in less than half the time;
    the difference is below 1e-6 of the spread of the target.

    Parameters
    ----------
    features : Features
    target : Scaler
    specs : tuple of NetworkSpec or DeepGPSpec
        Descriptions from which the networks are built, one for each kind.
    networks : MemberNetworks or NetworkKinds
    combine : Combine
    trend : LinearTrend or None
        Added to what the networks predict.
    atoms : Atoms
    map : CalibrationMap or None
    bounds : (low, high) or None
    """

    features: Features
    target: Scaler
    specs: tuple[NetworkSpec | DeepGPSpec, ...]
    networks: Networks
    combine: Combine
    trend: LinearTrend | None = None
    atoms: Atoms = field(default_factory=Atoms)
    map: CalibrationMap | None = None
    bounds: Bounds | None = None

    def predict(self, x: Inputs) -> Distribution:
        """Predictive distributions in target units.

        Parameters
        ----------
        x : array of shape (n, d), or Windows
            Validated inputs.
        """
        raw = self.uncalibrated(x)
        dist = self.atoms.apply(raw)
        if self.map is not None:
            dist = self.map.apply(dist, raw)
        return bounded(dist, self.bounds)

    @torch.no_grad()
    def uncalibrated(self, x: Inputs) -> Distribution:
        """Combined distributions of the networks in target units, before atoms, map and bounds."""
        many = len(x) >= _MANY_ROWS and all(spec.submodels > 1 for spec in self.specs)
        networks = self.networks if many else self.precise
        like = next(networks.parameters())
        parts = [self.combine(networks, inputs.to(like)) for _, inputs in self.batches(x)]
        trend = 0.0 if self.trend is None else self.trend.predict(np.asarray(x))
        return concatenate(parts).affine(self.target.loc + trend, float(self.target.scale))

    def batches(self, x: Inputs) -> Iterator[tuple[slice, Tensor]]:
        """Batches of rows of bounded size, and their features as tensors."""
        like = next(self.precise.parameters())
        size = self.rows_at_once(self.combine.n_answers(self.networks))
        for start in range(0, len(x), size):
            rows = slice(start, start + size)
            yield rows, torch.as_tensor(self.features.transform(np.asarray(x[rows]))).to(like)

    def rows_at_once(self, answers: int) -> int:
        """Rows to predict at a time if each has this many outputs."""
        spec = self.specs[0]
        if spec.steps is not None:
            return max(1, _PREDICT_ROWS // (answers * spec.steps))
        return max(1, min(_PREDICT_ROWS, _CACHED_ROWS // spec.submodels) // answers)

    def only_kinds(self, kept: Sequence[int]) -> Self:
        """Return the predictor with some kinds of networks, and the features that they read."""
        if len(kept) == len(self.specs) or not isinstance(self.networks, NetworkKinds):
            return self
        specs = tuple(self.specs[i] for i in kept)
        width = len(self.features.scaler.loc)
        reads_neighbours = any(spec.n_inputs > width for spec in specs)
        features = self.features if reads_neighbours else Features(self.features.scaler)
        return replace(self, features=features, specs=specs, networks=self.networks.only(kept))

    @cached_property
    def precise(self) -> Networks:
        """The networks in float64, or in the highest precision of their device."""
        return in_float64(self.networks)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "precise"}

    # ---- save and load ----------------------------------------------------------------------

    def saved_fields(self) -> dict[str, Any]:
        """All fields, with weights by name instead of the networks."""
        names = ("features", "target", "specs", "combine", "trend", "atoms", "map", "bounds")
        weights = {name: value.cpu().numpy() for name, value in self.networks.by_name().items()}
        return {name: getattr(self, name) for name in names} | {"weights": weights}

    @classmethod
    def from_fields(
        cls, *, specs: tuple[Any, ...], weights: dict[str, NDArray[Any]], **fields: Any
    ) -> Self:
        """Rebuild the networks from their descriptions and load the weights."""
        several = len(specs) > 1
        kinds = []
        with torch.random.fork_rng(devices=[]):  # the random initial weights are replaced
            for i, spec in enumerate(specs):
                own = (v for name, v in weights.items() if not several or name.startswith(f"{i}."))
                kinds.append(assemble(spec, [spec.build() for _ in range(len(next(own)))]))
        networks = join_kinds(kinds, [spec.n_inputs for spec in specs])
        networks.load_by_name({name: torch.as_tensor(value) for name, value in weights.items()})
        return cls(specs=tuple(specs), networks=networks.eval(), **fields)


def assemble(spec: NetworkSpec | DeepGPSpec, networks: list[Any]) -> MemberNetworks:
    """Return networks of one spec as one batched module."""
    return MemberNetworks(networks, sequences=spec.steps is not None)


def in_float64(networks: Networks) -> Networks:
    """Copy of the networks in float64, or in the highest precision of their device."""
    device = next(networks.parameters()).device
    return copy.deepcopy(networks).to(torch.float32 if device.type == "mps" else torch.float64)

"""Networks of one or two kinds, cross-fitted and pooled, and the map that calibrates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant.distributions import Distribution, MonotoneMap, Recalibrated, WithAtoms
from calibrant.errors import ParameterError
from calibrant.estimators._atoms import (
    cells_of,
    find_atoms,
    find_spikes,
    spike_outputs,
)
from calibrant.estimators._base import LEAST_HELD_OUT
from calibrant.estimators._moments import weighted_mixture
from calibrant.estimators._neighbours import MOST_ROWS, Neighbours
from calibrant.estimators._pilot import choose_embeddings
from calibrant.estimators._pooling import as_of_all, best_share, narrowing, pool_crps
from calibrant.estimators._quality import PRESETS, Quality
from calibrant.estimators._splits import Fold, cross_folds
from calibrant.estimators._together import Lot
from calibrant.estimators._validation import Sample
from calibrant.estimators._windows import Windows
from calibrant.estimators.heteroscedastic import HeteroscedasticRegressor
from calibrant.networks import (
    DistributionNetwork,
    Head,
    MixtureHead,
    close_gates,
    hide_inputs,
    to_numpy,
)
from calibrant.recalibration import fit_conditional_pit_map, fit_pit_map
from calibrant.training import MemberRows, Rows

_LEAST_ROWS = 5  # of a fold; with fewer a hold-out leaves more to train on
# A part of few rows is too little to stop and to calibrate by, and too much to do without.
_FEW_ROWS, _FOLDS_OF_FEW = 1000, 5
_NEIGHBOURS_FROM = 100  # rows; the nearest of fewer are not near
_FEW_NETWORKS = 4  # of a kind, enough to tell which kind is better


@dataclass(kw_only=True, repr=False, eq=False)
class PooledRegressor(HeteroscedasticRegressor):
    """What `MMDRegressor` has around its objective; see there for parameters and attributes.

    Notes
    -----
    The path of a forecast: networks > pool by `shares_` > atoms > maps > bounds.
    """

    quality: Quality = "default"
    head: Literal["gaussian", "mixture"] | None = None  # type: ignore[assignment]
    epochs: int | None = None  # type: ignore[assignment]
    members: int | None = None
    cross_fit: int | None = None
    neighbours: bool | None = None
    atoms: bool = True
    recalibrate: bool | Literal["common"] = True

    if TYPE_CHECKING:
        atoms_: NDArray[np.float64]
        spikes_: NDArray[np.float64]
        shares_: NDArray[np.float64]
        folds_: float
        maps_: NDArray[np.float64]

    _numbers: ClassVar[tuple[str, ...]] = ("atoms_", "spikes_", "shares_", "folds_", "maps_")
    # Whether the networks see their inputs through embeddings; found out where it is "auto".
    _sees_waves = True

    def _setting(self, name: str) -> Any:
        value = super()._setting(name)
        return PRESETS[self.quality].get(name) if value is None else value

    def _prepare(self, *args: Any, **options: Any) -> Lot:
        self.__dict__.pop("folds_", None)  # of an earlier fit
        return super()._prepare(*args, **options)

    def _scaled(self, samples: Sequence[Sample], *, shuffled: bool = True) -> list[Rows]:
        lots = super()._scaled(samples, shuffled=shuffled)
        self._find_atoms(samples[0].y)
        self.shares_, self.maps_ = np.ones(1), np.empty((0, 1))
        self.folds_ = getattr(self, "folds_", float(self._setting("cross_fit")))
        train = samples[0]
        if (
            not (self._setting("neighbours") and shuffled and self.network == "mlp")
            or isinstance(train.x, Windows)
            or (train.groups is not None and len(np.unique(train.groups)) < 2)
            or not _NEIGHBOURS_FROM <= len(train.y) <= MOST_ROWS
        ):
            return lots
        inputs, target = self.input_scaler_, self.target_scaler_
        known = Neighbours.fit(inputs.transform(train.x), target.transform(train.y), train.groups)
        self.neighbours_, self.shares_ = known, np.array([0.5, 0.5])
        others = [known.of(inputs.transform(np.asarray(sample.x))) for sample in samples[1:]]
        return [
            rows.with_inputs(more)
            for rows, more in zip(lots, [known.among(), *others], strict=True)
        ]

    def _find_atoms(self, y: NDArray[np.float64]) -> None:
        self.atoms_ = self.spikes_ = np.empty((0, 3))
        if not self.atoms:
            return
        atoms = find_atoms(y, float(self.target_scaler_.scale))
        spikes = find_spikes(y, atoms)
        if self._setting("head") == "mixture" and not self.mc_passes:
            self.atoms_, self.spikes_ = atoms, atoms[spikes]
        else:  # no density but that of a component of its own is narrow enough for a spike
            self.atoms_ = np.delete(atoms, spikes, axis=0)

    def _of_members(self, rows: Rows, parts: Sequence[NDArray[np.intp]]) -> MemberRows:
        if self.neighbours_ is None:
            return super()._of_members(rows, parts)
        # What a network learns from knows nothing of the rows that it will be judged on.
        lots = []
        for part in parts:
            taken = rows.take(torch.as_tensor(part, device=rows.y.device))
            plain = taken._replace(inputs=taken.x[:, : -Neighbours.n_features])
            lots.append(plain.with_inputs(self.neighbours_.among(part)))
        return MemberRows.join(lots, 1)

    def _inputs_of(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = super()._inputs_of(x)
        if self.neighbours_ is None:
            return scaled
        return np.column_stack([scaled, self.neighbours_.of(scaled)])

    def _n_inputs(self) -> int:
        more = 0 if self.neighbours_ is None else Neighbours.n_features
        return super()._n_inputs() + more

    def _look_ahead(self, models: Sequence[Self], lots: Sequence[Lot]) -> None:
        """Let one network each with and without embeddings, trained for a while, decide."""
        for model in models:
            model._sees_waves = True
        if self._setting("periodic") == "auto" and self.network == "mlp":
            choose_embeddings(models, lots)

    def _make_head(self) -> Head:
        spikes = len(getattr(self, "spikes_", ()))
        return MixtureHead(self.components, spikes) if spikes else super()._make_head()

    def _given(self) -> Tensor | None:
        if not len(self.spikes_):
            return None
        scaler = self.target_scaler_
        outputs = spike_outputs(self.spikes_, float(scaler.loc), float(scaler.scale))
        return torch.as_tensor(outputs, dtype=torch.float32)

    def _build(self, seeds: Sequence[int]) -> list[DistributionNetwork]:
        networks = super()._build(seeds)
        if not self._sees_waves:
            for network in networks:
                close_gates(network)
        if self._kinds() == 2:
            for network in networks[len(networks) // 2 :]:
                hide_inputs(network, slice(-Neighbours.n_features, None))
        return networks

    def _n_members(self) -> int:
        folds = int(getattr(self, "folds_", self._setting("cross_fit")))
        members: int = self._setting("members") * max(1, folds)
        return members * self._kinds()

    def _kinds(self) -> int:
        """Networks that see neighbours and networks that do not, or one kind alone."""
        return 1 if getattr(self, "neighbours_", None) is None else 2

    def _answer(self, outputs: Tensor) -> Distribution:
        if self.mc_passes or len(outputs) == 1:
            return super()._answer(outputs)
        weights = np.repeat(self.shares_, len(outputs) // len(self.shares_))
        used = weights > 0
        weights = weights[used] / weights.sum()
        return weighted_mixture(self._make_head(), outputs[torch.as_tensor(used)], weights)

    def _calibrated(self, dist: Distribution) -> Distribution:
        moved = WithAtoms(dist, *self.atoms_.T) if len(self.atoms_) else dist
        if self.monotone_ is None or not len(self.maps_):
            return super()._calibrated(moved)
        places, levels = self.maps_[:, 0], self.maps_[:, 1:]
        maps = MonotoneMap.between(self.monotone_.x[1:-1], places, levels, dist.mean)
        return Recalibrated(moved, maps)

    @torch.no_grad()
    def _learn(self, train: Sample, held_out: Sample) -> None:
        if self._kinds() == 2:
            network, each = self._for_prediction(), self._n_members() // 2
            chunks = self._chunks(held_out.x, next(network.parameters()))
            outputs = torch.cat([network.outputs(x) for _, x in chunks], dim=1).cpu()
            few = [i for i in range(2 * each) if i % each < _FEW_NETWORKS]
            y = self.target_scaler_.transform(held_out.y)
            self._learn_shares(outputs[few], y, held_out.weight, each)
        if self.recalibrate:
            self._learn_map(held_out)

    def _folds(self, sample: Sample, seed: int) -> list[Fold]:
        count, n_rows, groups = self._setting("cross_fit"), len(sample.y), sample.groups
        if self._may_cross_fit() and n_rows < _FEW_ROWS:
            count = _FOLDS_OF_FEW
        if self.cross_fit is None and groups is not None:
            count = min(count, len(np.unique(groups)))
        if count < 2 or n_rows < _LEAST_ROWS * count:
            return []
        self.folds_ = float(count)
        # Dealt out anew for every member: networks that judge a row together must differ as much
        # as any others of the ensemble do, also in the rows that they saw.
        return [
            fold
            for repeat in range(self._setting("members"))
            for fold in cross_folds(n_rows, count, groups, seed + repeat)
        ]

    def _may_cross_fit(self) -> bool:
        """Whether the default may take several networks: not every module can be batched."""
        undecided = self.cross_fit is None and self.quality == "default"
        return undecided and isinstance(self.network, str) and not self.mc_passes

    @torch.no_grad()
    def _learn_from_folds(self, sample: Sample, rows: Rows, folds: list[Fold]) -> None:
        """Learn shares and map from networks that never saw the rows they are judged on."""
        kinds, repeats = self._kinds(), self._setting("members")
        head, y = self._make_head(), to_numpy(rows.y)
        outputs = torch.zeros(kinds * repeats, len(y), head.n_outputs, dtype=torch.float64)
        for i, (_, held_out) in enumerate(folds * kinds):
            network = self._for_prediction(slice(i, i + 1))
            like = next(network.parameters())
            for part in torch.as_tensor(held_out).split(self._rows_at_once(1)):
                # As they were trained on: not with themselves among their neighbours.
                inputs = rows.take(part.to(rows.y.device)).x.to(like)
                said = network.outputs(inputs)[0]
                outputs[i * repeats // len(folds), part] = said.cpu().double()
        each = len(folds)
        self._learn_shares(outputs, y, sample.weight, each)
        if self.recalibrate:
            scaler = self.target_scaler_
            ends = np.empty((2, kinds * repeats, len(y)))
            for i, said in enumerate(outputs):
                dist = head.distribution(said).affine(float(scaler.loc), float(scaler.scale))
                ends[:, i] = self._ends(dist, sample.y)
            low, high = ends.reshape(2, kinds, repeats, len(y)).transpose(0, 3, 1, 2)
            # The same place between the ends for all networks, as for the one that they make.
            v = np.random.default_rng(0).random((len(y), 1, 1))
            factor = narrowing(low + v * (high - low), self.shares_, each)
            left, right = (as_of_all(end, self.shares_, factor) for end in (low, high))
            places = None  # the mean of one network is not yet near enough to that of the pool
            if repeats > 1:
                means = to_numpy(head.torch_distribution(outputs).mean)
                pooled = np.repeat(self.shares_, repeats) / repeats @ means
                places = float(scaler.loc) + float(scaler.scale) * pooled
            self._fit_maps(left, right, places, sample.weight, shrink=True)

    def _learn_map(self, held_out: Sample) -> None:
        if len(held_out.y) >= LEAST_HELD_OUT:
            dist = self._raw_distribution(held_out.x)
            ends = self._ends(dist, held_out.y)
            self._fit_maps(*ends, dist.mean, held_out.weight, shrink="spread")

    def _fit_maps(
        self,
        left: NDArray[np.float64],
        right: NDArray[np.float64],
        places: NDArray[np.float64] | None,
        weight: NDArray[np.float64],
        shrink: bool | Literal["spread"],
    ) -> None:
        """Learn the map of all rows and those around the places of predictions."""
        self.monotone_ = fit_pit_map(right, weight, left=left, shrink=shrink)
        if self.recalibrate != "common" and places is not None:
            at, levels = fit_conditional_pit_map(self.monotone_, right, places, weight, left=left)
            self.maps_ = np.column_stack([at, levels])

    def _ends(
        self, dist: Distribution, y: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Distribution function at both ends of the atoms of targets, equal for one on none."""
        if len(self.atoms_):
            low, high = (dist.cdf(end) for end in cells_of(y, self.atoms_))
        else:
            low = high = dist.cdf(y)
        least, most = self.bounds or (None, None)
        if least is not None:  # all that lies beyond a bound will be on it
            low = np.where(y <= least, 0.0, low)
        if most is not None:
            high = np.where(y >= most, 1.0, high)
        return low, high

    def _learn_shares(
        self, outputs: Tensor, y: NDArray[np.float64], weight: NDArray[np.float64], each: int
    ) -> None:
        """Learn how much the two kinds count, from networks that did not see these rows.

        Parameters
        ----------
        outputs : tensor of shape (networks, n, n_outputs)
            Those that see neighbours first.
        each : int
            Networks of a kind in the end.
        """
        if self.neighbours_ is None:
            return
        share = best_share(
            pool_crps(self._make_head(), outputs, y, weight), len(outputs) // 2, each
        )
        self.shares_ = np.array([share, 1.0 - share])
        self.neighbours_.forget_nearest()

    def _check_parameters(self) -> None:
        if self.quality not in PRESETS:
            raise ParameterError(
                f"quality must be one of {', '.join(PRESETS)}, got {self.quality!r}."
            )
        super()._check_parameters()
        if self.recalibrate not in (True, False, "common"):
            raise ParameterError(
                f'recalibrate must be True, False or "common", got {self.recalibrate!r}.'
            )
        members, folds = self._setting("members"), self._setting("cross_fit")
        if members < 1 or folds < 0 or folds == 1:
            raise ParameterError(
                "members must be at least 1 and cross_fit 0 or a number of folds from 2, got "
                f"{members} and {folds}."
            )

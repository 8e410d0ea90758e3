"""The plan of a fit: everything that will be trained, fixed before training starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from calibrant.estimators.atoms import Atoms
from calibrant.estimators.combine import Combine, SingleNetwork
from calibrant.estimators.features import Features, scaled_rows
from calibrant.estimators.neighbours import NeighbourIndex
from calibrant.estimators.parameters import Training
from calibrant.estimators.predictor import Bounds, Predictor
from calibrant.estimators.scaling import Scaler, Scaling, fit_scaler, fit_target_scaler
from calibrant.estimators.splits import Fold, cross_folds, inner_split
from calibrant.estimators.validation import FitData, Sample
from calibrant.estimators.windows import Windows
from calibrant.networks import DeepGPSpec, MemberNetworks, MixtureHead, NetworkSpec
from calibrant.training import MemberRows, Rows, Stage, resolve_device

LEAST_ROWS_PER_FOLD = 5  # with fewer, one part of the rows is held out instead
_NEIGHBOURS_ROWS = (100, 200_000)  # fewer rows are not near enough, more are slow to search


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a method trains and how it predicts, independent of the scaled rows.

    Parameters
    ----------
    network : NetworkSpec or DeepGPSpec
        Without the number of inputs, which the plan adds.
    stages : callable
        Returns the stages of training for the scaled training rows.
    combine : Combine
        How the outputs of the networks become one distribution.
    calibrate : callable or None
        Returns the final predictor for the plan and the predictor of the trained networks.
    members, folds : int
        Number of networks; with folds, `members` networks for each fold, trained on the others.
    neighbours : bool
        Train a second kind of network that reads the targets of the nearest training rows.
    atoms : bool
        Give repeated values of the target a probability.
    choose_embedding : bool
        Train a pilot first, which decides whether the networks use their periodic embedding.
    """

    network: NetworkSpec | DeepGPSpec
    stages: Callable[[Rows], Sequence[Stage]]
    combine: Combine = field(default_factory=SingleNetwork)
    calibrate: Callable[[Plan, Predictor], Predictor] | None = None
    members: int = 1
    folds: int = 0
    neighbours: bool = False
    atoms: bool = False
    choose_embedding: bool = False


@dataclass(frozen=True)
class Member:
    """One network of a model: its seed, and whether it reads the features of neighbours."""

    seed: int
    reads_neighbours: bool = True


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Features, networks, rows and stages of one model; ``print(plan)`` describes them.

    Parameters
    ----------
    name : str
        Class of the model.
    recipe : Recipe
    sample : Sample
        Rows to train on, in the units of the user; with folds, all rows.
    held_out : Sample or None
        Rows held out from all networks; None if every fold is held out in turn.
    folds : tuple of (train, held out) positions
        One for each network of a kind; empty with a hold-out.
    features : Features
    target : Scaler
    atoms : Atoms
    network : NetworkSpec or DeepGPSpec
    members : tuple of Member
    rows : Rows
        Scaled rows of `sample`.
    train, validation : Rows or MemberRows
        Rows for training and for early stopping of the members.
    stages : tuple of Stage
    use_embedding : bool
        Whether networks use their periodic embedding, if they have one.
    bounds : (low, high) or None
    verbose : bool
    """

    name: str
    recipe: Recipe
    sample: Sample
    held_out: Sample | None
    folds: tuple[Fold, ...]
    features: Features
    target: Scaler
    atoms: Atoms
    network: NetworkSpec | DeepGPSpec
    members: tuple[Member, ...]
    rows: Rows
    train: Rows | MemberRows
    validation: Rows | MemberRows
    stages: tuple[Stage, ...]
    use_embedding: bool = True
    bounds: Bounds | None = None
    verbose: bool = False

    @property
    def kinds(self) -> int:
        """Kinds of networks: 2 where some read the features of neighbours and some do not."""
        return 1 if self.features.neighbours is None else 2

    @property
    def n_held_out(self) -> int:
        """Number of rows that the calibration is learned from."""
        return len(self.sample.y if self.held_out is None else self.held_out.y)

    def predictor(self, networks: MemberNetworks) -> Predictor:
        """Return the predictor of trained networks, not yet calibrated."""
        return Predictor(
            features=self.features,
            target=self.target,
            spec=self.network,
            networks=networks,
            combine=self.recipe.combine,
            atoms=self.atoms,
            bounds=self.bounds,
        )

    def __str__(self) -> str:
        rows = f"{len(self.rows.y):,} rows to train on"
        if self.folds:
            count = self.recipe.folds
            held_out = f"{count} folds, rows split {len(self.folds) // count} times"
        else:
            held_out = f"{self.n_held_out:,} rows"
        lines = [
            ("networks", f"{len(self.members)} x {self.network}, {_head_in_words(self.network)}"),
            ("features", _features_in_words(self)),
            ("held out", held_out),
            *([("pilot", "decides about the embedding")] if self.recipe.choose_embedding else []),
            *((f"stage {s.number}", _stage_in_words(s)) for s in self.stages),
        ]
        return "\n".join([f"{self.name}: {rows}", *(f"  {name:<9} {text}" for name, text in lines)])


def make_plan(
    name: str,
    recipe: Recipe,
    data: FitData,
    training: Training,
    *,
    bounds: Bounds | None,
    device: str,
    verbose: bool,
) -> Plan:
    """Split and scale the rows, and determine the networks and their stages."""
    split = _split(recipe, data, training.validation_fraction)
    scaler, target = _fit_scalers(split.train, training.scaling)
    index = _neighbour_index(recipe, data, split.train, scaler, target)
    features = Features(scaler, None if index is None else index.neighbours)
    rows, train, validation = _scaled(split, features, target, index, resolve_device(device))
    atoms = _atoms(recipe, split.train.y, target)
    return Plan(
        name=name,
        recipe=recipe,
        sample=split.train,
        held_out=split.held_out,
        folds=split.folds,
        features=features,
        target=target,
        atoms=atoms,
        network=_network(recipe, split.train, features, atoms, target, rows),
        members=_members(recipe, data.seed, kinds=1 if index is None else 2),
        rows=rows,
        train=train,
        validation=validation,
        stages=tuple(recipe.stages(rows)),
        bounds=bounds,
        verbose=verbose,
    )


class Split(NamedTuple):
    """Rows to train on, and rows held out: one part from all networks, or every fold in turn."""

    train: Sample
    held_out: Sample | None
    folds: tuple[Fold, ...] = ()


def _split(recipe: Recipe, data: FitData, fraction: float) -> Split:
    sample = data.sample
    if data.validation is not None:
        return Split(sample, data.validation)
    n_rows = len(sample.y)
    if data.cv is None and recipe.folds >= 2 and n_rows >= LEAST_ROWS_PER_FOLD * recipe.folds:
        # Other folds for every member: the networks that predict a row out of fold must differ as
        # much as any other networks of the ensemble, also in the rows that they are trained on.
        folds = [
            fold
            for repeat in range(recipe.members)
            for fold in cross_folds(n_rows, recipe.folds, sample.groups, data.seed + repeat)
        ]
        return Split(sample, None, tuple(folds))
    inner, held_out = inner_split(
        sample.weight,
        fraction=fraction,
        groups=sample.groups,
        cv=data.cv,
        random_state=data.seed,
    )
    return Split(sample.take(inner), sample.take(held_out))


def _fit_scalers(sample: Sample, scaling: Scaling) -> tuple[Scaler, Scaler]:
    """Scaling of inputs and target, from training rows alone."""
    x, weight = sample.x, sample.weight
    if isinstance(x, Windows):
        x, weight = x.seen_rows(weight)
    return fit_scaler(x, weight, scaling), fit_target_scaler(sample.y, sample.weight, scaling)


def _scaled(
    split: Split,
    features: Features,
    target: Scaler,
    index: NeighbourIndex | None,
    device: torch.device,
) -> tuple[Rows, Rows | MemberRows, Rows | MemberRows]:
    """All rows of a model, and those that its members are trained and stopped on."""
    samples = [split.train] if split.held_out is None else [split.train, split.held_out]
    plain, *held_out = scaled_rows(samples, features.scaler, target, device)
    rows = plain if index is None else plain.with_inputs(index.features())
    if split.held_out is not None:
        (validation,) = held_out
        if index is not None:
            inputs = features.scaler.transform(np.asarray(split.held_out.x))
            validation = validation.with_inputs(index.neighbours.transform(inputs))
        return rows, rows, validation
    inner, outer = ([fold[side] for fold in split.folds] for side in (0, 1))
    if index is None:
        return rows, MemberRows.of(rows, inner), MemberRows.of(rows, outer)
    train = _rows_with_neighbours(plain, index, inner)
    return rows, train.repeated(2), MemberRows.of(rows, outer).repeated(2)


def _atoms(recipe: Recipe, y: NDArray[np.float64], target: Scaler) -> Atoms:
    if not recipe.atoms:
        return Atoms()
    in_mixture = isinstance(recipe.network.head, MixtureHead)
    return Atoms.find(y, float(target.scale), as_components=in_mixture)


def _network(
    recipe: Recipe, sample: Sample, features: Features, atoms: Atoms, target: Scaler, rows: Rows
) -> NetworkSpec | DeepGPSpec:
    """Complete the description of the network with what the data decide."""
    steps = sample.x.length if isinstance(sample.x, Windows) else None
    network = recipe.network.sized(features.n_inputs, steps, rows)
    if not isinstance(network, NetworkSpec):
        return network
    if len(atoms.spikes) and isinstance(network.head, MixtureHead):
        head = replace(network.head, spikes=len(atoms.spikes))
        network = replace(network, head=head, fixed=atoms.fixed_outputs(target))
    return replace(network, gated=features.neighbours is not None)


def _neighbour_index(
    recipe: Recipe, data: FitData, sample: Sample, scaler: Scaler, target: Scaler
) -> NeighbourIndex | None:
    least, most = _NEIGHBOURS_ROWS
    if (
        not (recipe.neighbours and data.chooses_rows and _is_mlp(recipe.network))
        or isinstance(sample.x, Windows)
        or (sample.groups is not None and len(np.unique(sample.groups)) < 2)
        or not least <= len(sample.y) <= most
    ):
        return None
    return NeighbourIndex(scaler.transform(sample.x), target.transform(sample.y), sample.groups)


def _rows_with_neighbours(
    rows: Rows, index: NeighbourIndex, parts: Sequence[NDArray[np.intp]]
) -> MemberRows:
    """Training rows of the networks; features use only targets that a network is trained on."""
    return MemberRows.join(
        [
            rows.take(torch.as_tensor(part, device=rows.y.device)).with_inputs(index.features(part))
            for part in parts
        ],
        1,
    )


def _members(recipe: Recipe, seed: int, kinds: int) -> tuple[Member, ...]:
    """Members with different seeds; the first has the seed of a single network."""
    each = recipe.members * max(1, recipe.folds)
    more = np.random.default_rng(seed).integers(np.iinfo(np.int32).max, size=kinds * each - 1)
    seeds = [seed, *(int(value) for value in more)]
    return tuple(Member(own, reads_neighbours=i < each) for i, own in enumerate(seeds))


def _is_mlp(network: NetworkSpec | DeepGPSpec) -> bool:
    return isinstance(network, NetworkSpec) and network.body == "mlp"


def _head_in_words(network: NetworkSpec | DeepGPSpec) -> str:
    head = network.head
    if isinstance(head, MixtureHead):
        return f"mixture of {head.components + head.spikes} Gaussians"
    return f"{type(head).__name__.removesuffix('Head').lower()} output"


def _features_in_words(plan: Plan) -> str:
    inputs = len(plan.features.scaler.loc)
    steps = "" if plan.network.steps is None else f" in each of {plan.network.steps} steps"
    words = f"{inputs} scaled inputs{steps}"
    return words if plan.kinds == 1 else f"{words}; half of the networks read neighbours, too"


def _stage_in_words(stage: Stage) -> str:
    kept = f"best held-out {stage.score_name}" if stage.keep_best else "last epoch"
    budget = f"{stage.epochs} epochs, batch {stage.batch_size}, lr {stage.lr:g}"
    return f"{stage.name}: {budget}, {kept}"

"""The plan of a fit: everything that will be trained, decided before anything trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

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

LEAST_ROWS_PER_FOLD = 5  # with fewer a hold-out leaves more to train on
_NEIGHBOURS_ROWS = (100, 200_000)  # the nearest of fewer are not near, of more the search is slow


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a method trains and how it predicts, before it has seen the scaled rows.

    Parameters
    ----------
    network : NetworkSpec or DeepGPSpec
        Still without the number of inputs.
    stages : callable
        From the scaled training rows to the stages of training.
    combine : Combine
        How the networks' outputs become one distribution.
    calibrate : callable or None
        From the plan and the predictor of the trained networks to the final predictor.
    members, folds : int
        Networks; with folds, `members` networks for each, on all rows but those of the fold.
    neighbours : bool
        Train a second kind of networks that reads the targets of the nearest training rows.
    atoms : bool
        Give repeated values of the target a probability of their own.
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
        Rows to train on, in the user's units; with folds all rows.
    held_out : Sample or None
        Rows held out from all networks; None where every fold is held out in turn.
    folds : tuple of (train, held out) positions
        One for each network of a kind; none with a hold-out.
    features : Features
    target : Scaler
    atoms : Atoms
    network : NetworkSpec or DeepGPSpec
    members : tuple of Member
    rows : Rows
        Scaled rows of `sample`.
    train, validation : Rows or MemberRows
        What the members are trained on, and stopped on.
    stages : tuple of Stage
    use_embedding : bool
        Whether networks start with their periodic embedding, where they have one.
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
        """Rows that some network is calibrated on without having seen them."""
        return len(self.sample.y if self.held_out is None else self.held_out.y)

    def predictor(self, networks: MemberNetworks) -> Predictor:
        """Return the predictor of trained networks, not calibrated yet."""
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
            held_out = f"{count} folds, dealt out {len(self.folds) // count} times"
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
    """Split and scale the rows, and fix the networks and their stages."""
    sample, held_out, folds = _split(recipe, data, training.validation_fraction)
    scaler, target = _fit_scalers(sample, training.scaling)
    samples = [sample] if held_out is None else [sample, held_out]
    plain, *others = scaled_rows(samples, scaler, target, resolve_device(device))

    index = _neighbour_index(recipe, data, sample, scaler, target)
    features = Features(scaler, None if index is None else index.neighbours)
    rows = plain if index is None else plain.with_inputs(index.features())
    train: Rows | MemberRows = rows
    validation: Rows | MemberRows
    if held_out is None:
        train, validation = _fold_rows(plain, rows, folds, index)
    else:
        (validation,) = others
        if index is not None:
            found = index.neighbours.transform(scaler.transform(np.asarray(held_out.x)))
            validation = validation.with_inputs(found)

    network, atoms = _network(recipe, sample, features, target, rows)
    return Plan(
        name=name,
        recipe=recipe,
        sample=sample,
        held_out=held_out,
        folds=folds,
        features=features,
        target=target,
        atoms=atoms,
        network=network,
        members=_members(recipe, data.seed, kinds=1 if index is None else 2),
        rows=rows,
        train=train,
        validation=validation,
        stages=tuple(recipe.stages(rows)),
        bounds=bounds,
        verbose=verbose,
    )


def _split(
    recipe: Recipe, data: FitData, fraction: float
) -> tuple[Sample, Sample | None, tuple[Fold, ...]]:
    """Rows to train on, rows to hold out, and folds where rows are held out in turn."""
    sample = data.sample
    if data.validation is not None:
        return sample, data.validation, ()
    n_rows = len(sample.y)
    if data.cv is None and recipe.folds >= 2 and n_rows >= LEAST_ROWS_PER_FOLD * recipe.folds:
        # Dealt out anew for every member: networks that predict a row out of fold must differ as
        # much as any others of the ensemble do, also in the rows that they saw.
        folds = [
            fold
            for repeat in range(recipe.members)
            for fold in cross_folds(n_rows, recipe.folds, sample.groups, data.seed + repeat)
        ]
        return sample, None, tuple(folds)
    inner, held_out = inner_split(
        sample.weight,
        fraction=fraction,
        groups=sample.groups,
        cv=data.cv,
        random_state=data.seed,
    )
    return sample.take(inner), sample.take(held_out), ()


def _fit_scalers(sample: Sample, scaling: Scaling) -> tuple[Scaler, Scaler]:
    """Scalers of inputs and target; every row of a series counts as often as windows show it."""
    x, weight = sample.x, sample.weight
    if isinstance(x, Windows):
        x, weight = x.seen_rows(weight)
    return fit_scaler(x, weight, scaling), fit_target_scaler(sample.y, sample.weight, scaling)


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


def _fold_rows(
    plain: Rows, rows: Rows, folds: Sequence[Fold], index: NeighbourIndex | None
) -> tuple[MemberRows, MemberRows]:
    """Rows that each network is trained on, and those of its fold, for every kind of networks.

    Parameters
    ----------
    plain, rows : Rows
        All rows without and with the features of their neighbours.
    """
    inner = [part for part, _ in folds]
    validation = MemberRows.of(rows, [part for _, part in folds])
    if index is None:
        return MemberRows.of(rows, inner), validation
    # A network must not be told of targets that it is not trained on.
    told = [
        plain.take(torch.as_tensor(part, device=plain.y.device)).with_inputs(index.features(part))
        for part in inner
    ]
    return MemberRows.join(told, 1).repeated(2), validation.repeated(2)


def _network(
    recipe: Recipe, sample: Sample, features: Features, target: Scaler, rows: Rows
) -> tuple[NetworkSpec | DeepGPSpec, Atoms]:
    """Networks of the recipe for these inputs, and the atoms of the target."""
    network, atoms = recipe.network, Atoms()
    if recipe.atoms and isinstance(network, NetworkSpec):
        in_mixture = isinstance(network.head, MixtureHead)
        atoms = Atoms.find(sample.y, float(target.scale), as_components=in_mixture)
        network = _with_spikes(network, atoms, target)
    if features.neighbours is not None and isinstance(network, NetworkSpec):
        network = replace(network, gated=True)
    steps = sample.x.length if isinstance(sample.x, Windows) else None
    return network.sized(features.n_inputs, steps, rows), atoms


def _with_spikes(network: NetworkSpec, atoms: Atoms, target: Scaler) -> NetworkSpec:
    if not len(atoms.spikes) or not isinstance(network.head, MixtureHead):
        return network
    head = replace(network.head, spikes=len(atoms.spikes))
    return replace(network, head=head, fixed=atoms.fixed_outputs(target))


def _members(recipe: Recipe, seed: int, kinds: int) -> tuple[Member, ...]:
    """Members with seeds of their own; the first is that of a network alone."""
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

"""Make the plan of a fit: split and scale the rows, and size the networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.estimators.atoms import Atoms
from calibrant.estimators.bounds import Bounds
from calibrant.estimators.features import Features, scaled_rows
from calibrant.estimators.fit_data import FitData, Sample
from calibrant.estimators.known_targets import KnownTargets
from calibrant.estimators.linear_trend import LinearTrend, find_linear_trend
from calibrant.estimators.parameters import Training
from calibrant.estimators.plan import Group, Kind, Plan, Recipe
from calibrant.estimators.scaling import (
    Scaler,
    Scaling,
    fit_scaler,
    fit_target_scaler,
    scaled_target,
)
from calibrant.estimators.several_inputs import fit_scaler_of_several
from calibrant.estimators.splits import Fold, cross_folds, inner_split
from calibrant.estimators.windows import Windows
from calibrant.networks import DeepGPSpec, InputShapes, MixtureHead, NetworkSpec, to_numpy
from calibrant.training import BatchSource, MemberRows, Rows, Stage, resolve_device

LEAST_ROWS_PER_FOLD = 5  # with fewer, one part of the rows is held out instead
_LEAST_RESIDUAL = 1e-8  # smallest scale of the residual of a trend, in units of the target's
_MOST_ON_ATOMS = 0.5  # largest share of the rows for a linear trend
_NEIGHBOURS_ROWS = (100, 200_000)  # fewer are too far apart, more are slow to search


def make_plan(
    name: str,
    recipe: Recipe,
    data: FitData,
    training: Training,
    *,
    bounds: Bounds | None,
    device: str,
    verbose: bool | str,
) -> Plan:
    """Split and scale the rows, and determine the networks and their stages."""
    split = _split(recipe, data, training.validation_fraction)
    scaling = training.scaling or recipe.scaling
    scaler = _fit_scaler(split.train, scaling, data.inputs)
    target = fit_target_scaler(split.train.y, split.train.weight, scaling)
    atoms = _atoms(recipe, split.train.y, target)
    trend = None
    if recipe.linear_trend and _may_have_trend(data, atoms):
        trend, split = _without_trend(split, target, data.seed)
        target = _rescaled(target, split.train, scaling)
    known = _known_targets(recipe, data, split.train, scaler, target)
    features = Features(scaler)
    if known is not None:
        features = Features(scaler, known.index.neighbours, known.forest)
    samples = [split.train] if split.held_out is None else [split.train, split.held_out]
    scaled = scaled_rows(samples, scaler, target, resolve_device(device))
    kinds = [Kind(recipe.network), *recipe.more_kinds]
    if known is None:
        kinds = [kind for kind in kinds if not kind.neighbours]
    groups = []
    for i, kind in enumerate(kinds):
        rows, train, validation = _group_rows(split, scaled, known if kind.neighbours else None)
        if data.stream is not None:
            train = data.stream.scaled(scaler, target, rows.device)
        spec = _sized(kind.network, split.train, rows, atoms, target, data.inputs)
        stages = tuple(recipe.stages(rows))
        _check_precision(spec, stages)
        group = Group(
            network=spec,
            seeds=_seeds(recipe, data.seed, i),
            rows=rows,
            train=train,
            validation=validation,
            stages=stages,
        )
        groups.append(group)
    return Plan(
        name=name,
        recipe=recipe,
        sample=split.train,
        held_out=split.held_out,
        folds=split.folds,
        features=features,
        target=target,
        atoms=atoms,
        groups=tuple(groups),
        trend=trend,
        bounds=bounds,
        verbose=verbose,
    )


def _check_precision(spec: NetworkSpec | DeepGPSpec, stages: Sequence[Stage]) -> None:
    exact = isinstance(spec, DeepGPSpec) or spec.body in ("lstm", "gru")
    if exact and any(stage.precision != "float32" for stage in stages):
        raise ParameterError(
            "training__precision='bfloat16' is for perceptrons and your own modules; recurrent "
            "networks and deep Gaussian processes train in 'float32'."
        )


class Split(NamedTuple):
    """Rows to train on, and rows held out from all networks, or folds instead."""

    train: Sample
    held_out: Sample | None
    folds: tuple[Fold, ...] = ()


def _split(recipe: Recipe, data: FitData, fraction: float) -> Split:
    sample = data.sample
    if data.validation is not None:
        return Split(sample, data.validation)
    n_rows = len(sample.y)
    if data.cv is None and recipe.folds >= 2 and n_rows >= LEAST_ROWS_PER_FOLD * recipe.folds:
        # Every member has its own folds: the networks that predict a row out of fold must differ
        # as much as any other networks of the ensemble, including in their training rows.
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


def _fit_scaler(sample: Sample, scaling: Scaling, inputs: InputShapes) -> Scaler:
    """Scaling of inputs, from training rows alone."""
    x, weight = sample.x, sample.weight
    if isinstance(x, Windows):
        x, weight = x.seen_rows(weight)
    if inputs:
        return fit_scaler_of_several(x, weight, scaling, inputs)
    return fit_scaler(x, weight, scaling)


def _may_have_trend(data: FitData, atoms: Atoms) -> bool:
    """Whether all rows are one table in memory, and most targets are not atoms.

    The residual of a discrete target is not discrete, and the components of spikes are fixed.
    """
    table = not (data.inputs or isinstance(data.sample.x, Windows) or data.n_elsewhere)
    discrete = np.isin(data.sample.y, atoms.cells[:, 0]).mean() > _MOST_ON_ATOMS
    return table and not discrete and not len(atoms.spikes)


def _without_trend(split: Split, target: Scaler, seed: int) -> tuple[LinearTrend | None, Split]:
    """The linear trend of the target if it helps, and the split with the trend of each row."""
    train, held_out, folds = split
    assert not isinstance(train.x, Windows)
    y = target.loc + target.scale * scaled_target(target, train.y)  # outliers are clipped
    found = find_linear_trend(train.x, y, train.weight, train.groups, seed)
    if found is None:
        return None, split
    if held_out is not None:
        held_out = held_out._replace(trend=found.trend.predict(np.asarray(held_out.x)))
    return found.trend, Split(train._replace(trend=found.unseen), held_out, folds)


def _rescaled(target: Scaler, sample: Sample, scaling: Scaling) -> Scaler:
    """Scaling of the residual of a trend, of which rounding errors may be all that is left."""
    scaler = fit_target_scaler(sample.residual, sample.weight, scaling)
    return Scaler(scaler.loc, np.maximum(scaler.scale, _LEAST_RESIDUAL * target.scale))


def _group_rows(
    split: Split, scaled: Sequence[Rows], known: KnownTargets | None
) -> tuple[Rows, BatchSource, Rows | MemberRows]:
    """All rows of a group of networks, their training rows, and the rows for early stopping.

    Parameters
    ----------
    scaled : sequence of Rows
        Rows to train on, and those held out from all networks.
    known : KnownTargets or None
        Makes further features, for networks that read them.
    """
    plain, *held_out = scaled
    rows = plain if known is None else plain.with_inputs(known.features())
    if held_out:
        (validation,) = held_out
        if known is not None:
            validation = validation.with_inputs(known.transform(to_numpy(validation.x)))
        return rows, rows, validation
    inner, outer = ([fold[side] for fold in split.folds] for side in (0, 1))
    if known is None:
        train = MemberRows.of(rows, inner)
    else:  # with features from the rows that each network is trained on
        own = [
            plain.take(torch.as_tensor(part, device=plain.device)).with_inputs(known.features(part))
            for part in inner
        ]
        train = MemberRows.join(own, 1)
    return rows, train, MemberRows.of(rows, outer)


def _atoms(recipe: Recipe, y: NDArray[np.float64], target: Scaler) -> Atoms:
    if not recipe.atoms:
        return Atoms()
    in_mixture = isinstance(recipe.network.head, MixtureHead)
    return Atoms.find(y, float(target.scale), as_components=in_mixture)


def _sized(
    network: NetworkSpec | DeepGPSpec,
    sample: Sample,
    rows: Rows,
    atoms: Atoms,
    target: Scaler,
    inputs: InputShapes,
) -> NetworkSpec | DeepGPSpec:
    """Complete the description of the network with what depends on the data."""
    if isinstance(sample.x, Windows):
        _, steps, n_inputs = sample.x.shape
        sized = network.sized(n_inputs, steps, rows)
    else:
        sized = network.sized(rows.x.shape[1], None, rows)
    if not isinstance(sized, NetworkSpec):
        return sized
    if inputs:
        sized = replace(sized, inputs=inputs)
    if len(atoms.spikes) and isinstance(sized.head, MixtureHead):
        head = replace(sized.head, spikes=len(atoms.spikes))
        sized = replace(sized, head=head, fixed=atoms.fixed_outputs(target))
    if sized.periodic and sized.steps is None:
        sized = replace(sized, embedded=_with_many_values(rows.x))
    return sized


def _with_many_values(x: Tensor) -> tuple[int, ...]:
    """Columns of more than two values: an embedding adds nothing to two values."""
    low, high = x.amin(dim=0), x.amax(dim=0)
    between = ((x > low) & (x < high)).any(dim=0)
    return tuple(between.nonzero()[:, 0].tolist())


def _known_targets(
    recipe: Recipe, data: FitData, sample: Sample, scaler: Scaler, target: Scaler
) -> KnownTargets | None:
    least, most = _NEIGHBOURS_ROWS
    if (
        not (any(kind.neighbours for kind in recipe.more_kinds) and data.chooses_rows)
        or isinstance(sample.x, Windows)
        or (sample.groups is not None and len(np.unique(sample.groups)) < 2)
        or not least <= len(sample.y) <= most
    ):
        return None
    x, y = scaler.transform(sample.x), scaled_target(target, sample.residual)
    return KnownTargets.fit(x, y, sample.weight, sample.groups, data.seed)


def _seeds(recipe: Recipe, seed: int, kind: int) -> tuple[int, ...]:
    """Different seeds for the networks of a kind; a single network would have the first one."""
    per_kind = recipe.members * max(1, recipe.folds)
    end = (kind + 1) * per_kind
    more = np.random.default_rng(seed).integers(np.iinfo(np.int32).max, size=end - 1)
    return (seed, *(int(value) for value in more))[-per_kind:]

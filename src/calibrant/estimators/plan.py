"""The plan of a fit: everything that will be trained, fixed before training starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibrant.estimators.atoms import Atoms
from calibrant.estimators.bounds import Bounds
from calibrant.estimators.combine import Combine, SingleNetwork
from calibrant.estimators.features import Features
from calibrant.estimators.fit_data import Sample
from calibrant.estimators.linear_trend import LinearTrend
from calibrant.estimators.predictor import Predictor
from calibrant.estimators.scaling import Scaler, Scaling
from calibrant.estimators.splits import Fold
from calibrant.networks import DeepGPSpec, Head, MixtureHead, Networks, NetworkSpec
from calibrant.training import BatchSource, MemberRows, Rows, Stage

_KIND_NAMES = ("networks", "2nd kind", "3rd kind")


@dataclass(frozen=True)
class Kind:
    """A kind of network, and whether it reads features from the targets of other training rows."""

    network: NetworkSpec | DeepGPSpec
    neighbours: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a method trains and how it predicts, independent of the scaled rows.

    Parameters
    ----------
    network : NetworkSpec or DeepGPSpec
        Without the number of inputs, which the plan adds.
    more_kinds : tuple of Kind
        Further kinds of networks, with the same head and the same number of each.
    stages : callable
        Returns the stages of training for the scaled training rows.
    combine : Combine
        How the outputs of the networks become one distribution.
    calibrate : callable or None
        Returns the final predictor for the plan and the predictor of the trained networks.
    members, folds : int
        Number of networks of a kind; with folds, `members` networks for each fold, trained on the
        others.
    atoms : bool
        Give values that the target takes again and again a probability of their own.
    linear_trend : bool
        Let networks learn the residual of a linear trend where that is easier to learn.
    scaling : Scaling
        Scaling of inputs and target unless the user chooses one.
    """

    network: NetworkSpec | DeepGPSpec
    more_kinds: tuple[Kind, ...] = ()
    stages: Callable[[Rows], Sequence[Stage]]
    combine: Combine = field(default_factory=SingleNetwork)
    calibrate: Callable[[Plan, Predictor], Predictor] | None = None
    members: int = 1
    folds: int = 0
    atoms: bool = False
    linear_trend: bool = False
    scaling: Scaling = "standard"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Networks of one kind, which are trained as one batch.

    Parameters
    ----------
    network : NetworkSpec or DeepGPSpec
    seeds : tuple of int
        One for each network.
    rows : Rows
        Scaled rows of the sample, by which networks are initialised.
    train : BatchSource
        Rows for training the networks: `Rows`, `MemberRows` or a stream.
    validation : Rows or MemberRows
        Rows for early stopping.
    stages : tuple of Stage
    """

    network: NetworkSpec | DeepGPSpec
    seeds: tuple[int, ...]
    rows: Rows
    train: BatchSource
    validation: Rows | MemberRows
    stages: tuple[Stage, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Features, networks, rows and stages of one model; ``print(plan)`` describes them.

    Parameters
    ----------
    name : str
        Class of the model.
    recipe : Recipe
    sample : Sample
        Rows to train on, in the units of the user; with folds, all rows; of a stream, a sample.
    held_out : Sample or None
        Rows held out from all networks; None with folds.
    folds : tuple of (train, held out) positions
        One for each network of a kind; empty with a hold-out.
    features : Features
    target : Scaler
        Scaling of the target, or of its residual if there is a trend.
    atoms : Atoms
    groups : tuple of Group
        The networks, one group for each kind.
    trend : LinearTrend or None
    bounds : (low, high) or None
    verbose : bool or str
    """

    name: str
    recipe: Recipe
    sample: Sample
    held_out: Sample | None
    folds: tuple[Fold, ...]
    features: Features
    target: Scaler
    atoms: Atoms
    groups: tuple[Group, ...]
    trend: LinearTrend | None = None
    bounds: Bounds | None = None
    verbose: bool | str = False

    @property
    def head(self) -> Head:
        """Head of all networks."""
        return self.groups[0].network.head

    @property
    def n_networks(self) -> int:
        """Number of networks of all kinds."""
        return sum(len(group.seeds) for group in self.groups)

    @property
    def n_held_out(self) -> int:
        """Number of rows that the calibration is learned from."""
        return len(self.sample.y if self.held_out is None else self.held_out.y)

    def predictor(self, networks: Networks) -> Predictor:
        """Return the predictor of trained networks, not yet calibrated."""
        return Predictor(
            features=self.features,
            target=self.target,
            specs=tuple(group.network for group in self.groups),
            networks=networks,
            combine=self.recipe.combine,
            trend=self.trend,
            atoms=self.atoms,
            bounds=self.bounds,
        )

    def in_words(self) -> dict[str, str]:
        """Describe rows, networks, features, hold-out and stages, by heading."""
        n_rows = len(self.sample.y) if self.folds else self.groups[0].train.n_rows
        if self.folds:
            count = self.recipe.folds
            held_out = f"{count} folds, rows split {len(self.folds) // count} times"
        else:
            held_out = f"{self.n_held_out:,} rows"
        return {
            "rows": f"{n_rows:,} rows to train on",
            **dict(zip(_KIND_NAMES, map(_networks_in_words, self.groups), strict=False)),
            "features": _features_in_words(self),
            **({} if self.trend is None else {"target": _trend_in_words(self)}),
            "held out": held_out,
            **{f"stage {s.number}": _stage_in_words(s) for s in self.groups[0].stages},
        }

    def __str__(self) -> str:
        (_, rows), *lines = self.in_words().items()
        return "\n".join([f"{self.name}: {rows}", *(f"  {name:<9} {text}" for name, text in lines)])


def _networks_in_words(group: Group) -> str:
    network, head = group.network, group.network.head
    if isinstance(head, MixtureHead):
        output = f"{head.components + head.spikes} Gaussians"
    else:
        output = f"{type(head).__name__.removesuffix('Head').lower()} output"
    return f"{len(group.seeds)} x {network}, {output}"


def _features_in_words(plan: Plan) -> str:
    inputs, length = len(plan.features.scaler.loc), plan.groups[0].network.steps
    steps = "" if length is None else f" in each of {length} steps"
    words = f"{inputs} scaled inputs{steps}"
    if not plan.features.more:
        return words
    kind, more = _KIND_NAMES[len(plan.groups) - 1], plan.features.n_inputs - inputs
    return f"{words}, for the {kind} also {more} of nearest rows and a forest"


def _trend_in_words(plan: Plan) -> str:
    rows = [plan.sample] if plan.held_out is None else [plan.sample, plan.held_out]
    y = np.concatenate([each.y for each in rows])
    residual = np.concatenate([each.residual for each in rows])
    return f"what a linear trend leaves, {residual.var() / y.var():.2g} of the variance"


def _stage_in_words(stage: Stage) -> str:
    kept = f"best held-out {stage.score_name}" if stage.keep_best else "last epoch"
    budget = f"{stage.epochs} epochs, batch {stage.batch_size}, lr {stage.lr:g}"
    return f"{stage.name}: {budget}, {kept}"

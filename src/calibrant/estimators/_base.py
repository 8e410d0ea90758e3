"""The base of all network methods: it validates, scales, splits, trains and predicts."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from torch import nn

from calibrant import errors
from calibrant.distributions import (
    Clipped,
    Distribution,
    DistributionPredictor,
    MonotoneMap,
    Recalibrated,
    concatenate,
)
from calibrant.errors import ParameterError
from calibrant.estimators._neighbours import Neighbours
from calibrant.estimators._parameters import check_common
from calibrant.estimators._rows import scaled_rows
from calibrant.estimators._saving import restore_estimator, save_estimator
from calibrant.estimators._scaling import Scaler, Scaling, fit_scaler, fit_target_scaler
from calibrant.estimators._splits import Fold, inner_split
from calibrant.estimators._together import Lot, train_together
from calibrant.estimators._validation import (
    Sample,
    check_enough,
    check_groups,
    check_inputs,
    check_sample,
)
from calibrant.estimators._windows import Windows
from calibrant.metrics import pit
from calibrant.networks import (
    DistributionNetwork,
    GaussianHead,
    Head,
    MemberNetworks,
    build_network,
    own_dropout,
)
from calibrant.persistence import read_model
from calibrant.recalibration import fit_pit_map
from calibrant.tables import TableEncoder, to_local
from calibrant.training import (
    MemberRows,
    Objective,
    Record,
    Rows,
    Stage,
    resolve_device,
)

Inputs = NDArray[np.float64] | Windows

LEAST_HELD_OUT = 10  # fewer PIT values say less about the shape than the network does
_PERIODIC = 0.1  # scale of the frequencies where the user does not choose one
_PREDICT_ROWS = 1 << 16  # at a time: memory stays bounded; steps of sequences count as rows


@dataclass(kw_only=True, repr=False, eq=False)
class NetworkRegressor(DistributionPredictor, RegressorMixin, BaseEstimator):
    """Base of the network methods; see `HeteroscedasticRegressor` for the parameters.

    A subclass adds its parameters as fields and writes `_stages`: what to minimise, in which
    order. The other hooks have defaults for one network with a Gaussian head.

    Notes
    -----
    The path of a row: frame or array > validated float64 matrix > scaled float32 tensor >
    network > distribution in target units. Predictions run in float64, so that a row's answer
    does not depend on the rows beside it.
    """

    network: str | nn.Module = "mlp"
    hidden: Sequence[int] | None = None
    epochs: int = 200
    batch_size: int | Literal["auto"] = "auto"
    lr: float = 1e-3
    weight_decay: float = 1e-5
    patience: int = 20
    validation_fraction: float = 0.2
    dropout: float | None = None
    periodic: float | Literal["auto"] | None = None
    scaling: Scaling = "standard"
    bounds: tuple[float | None, float | None] | None = None
    missing: Literal["error", "impute"] = "error"
    device: str = "auto"
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    if TYPE_CHECKING:  # fitted state, which must not become fields: fields are parameters
        module_: MemberNetworks
        history_: list[Record]
        input_scaler_: Scaler
        target_scaler_: Scaler
        monotone_: MonotoneMap | None
        neighbours_: Neighbours | None
        encoder_: TableEncoder | None
        n_features_in_: int
        n_steps_: int | None
        feature_names_in_: NDArray[Any]
        target_name_: str | None
        n_held_out_: int

    # Fitted numbers and arrays of a subclass that are saved beside these.
    _numbers: ClassVar[tuple[str, ...]] = ()
    # Whether the network takes (n, steps, d); otherwise all steps are one row of inputs.
    _reads_sequences: ClassVar[bool] = True
    # Whether several networks can train as one.
    _batched: ClassVar[bool] = True

    # ---- what a subclass writes -------------------------------------------------------------

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        """Return the stages of training, in order, for models with these training rows."""
        raise NotImplementedError(f"{type(self).__name__} must say what it minimises.")

    def _one_stage(
        self,
        lots: Sequence[Rows],
        loss: Objective,
        score: Objective,
        *,
        together: bool = False,
        name: str = "likelihood",
        score_name: str = "NLL",
        pit: Objective | None = None,
    ) -> Stage:
        """Stage 1 with the budget that the parameters give."""
        return Stage(
            number=1,
            loss=loss,
            score=score,
            epochs=self._setting("epochs"),
            batch_size=self._batch_size(lots),
            lr=self.lr,
            weight_decay=self.weight_decay,
            patience=self.patience,
            together=together,
            name=name,
            score_name=score_name,
            pit=pit,
        )

    def _setting(self, name: str) -> Any:
        """Value of a parameter, or what its None stands for; subclasses may know more of these."""
        return self._dropout() if name == "dropout" else getattr(self, name)

    def _look_ahead(self, models: Sequence[Self], lots: Sequence[Lot]) -> None:
        """Decide what depends on the data before the networks of these models are built."""

    def _n_members(self) -> int:
        """Return how many networks train as one."""
        return 1

    def _n_answers(self) -> int:
        """Return how many answers `_forward` gives to a row."""
        return self._n_members()

    def _make_head(self) -> Head:
        """Return what turns outputs into distributions."""
        return GaussianHead()

    def _forward(self, network: MemberNetworks, x: torch.Tensor) -> torch.Tensor:
        """Outputs of all members, or Monte-Carlo passes, for rows to predict: (M, n, n_outputs)."""
        return network.outputs(x)

    def _answer(self, outputs: torch.Tensor) -> Distribution:
        """Turn the outputs of all members, (M, n, n_outputs), into one distribution a row."""
        return self._make_head().distribution(outputs[0])

    def _learn(self, train: Sample, held_out: Sample) -> None:
        """Learn what comes on top of the trained network: a map, a noise level, or nothing."""

    def _folds(self, sample: Sample, seed: int) -> list[Fold]:
        """Return folds to cross-fit on, none where rows are held out instead."""
        return []

    def _learn_from_folds(self, sample: Sample, rows: Rows, folds: list[Fold]) -> None:
        """Learn the same from rows that are held out fold by fold."""

    def _learn_map(self, held_out: Sample) -> None:
        """Learn the monotone map of the distribution functions that makes them calibrated."""
        if len(held_out.y) >= LEAST_HELD_OUT:
            dist = self._predict_matrix(held_out.x)
            self.monotone_ = fit_pit_map(pit(dist, held_out.y), held_out.weight)

    # ---- fit --------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        validation_data: tuple[Any, ...] | None = None,
        groups: ArrayLike | None = None,
        cv: Any = None,
    ) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : array, frame or tensor of shape (n, d), or sequences of shape (n, steps, d)
            NumPy, pandas, polars or torch; categorical columns of frames become one-hot.
            Sequences are a 3-D array or tensor, or `Windows` into a series, which are never
            copied as a whole.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Rows of weight 0 are left out.
        validation_data : tuple (X, y) or (X, y, sample_weight), optional
            Rows for early stopping and recalibration; without it some of the training rows are
            held out.
        groups : array of shape (n,), optional
            Rows of one group are held out together.
        cv : int, splitter or iterable of (train, test), optional
            How rows are held out, for example ``TimeSeriesSplit()``; its last split is used.
            Without it `validation_fraction` of the rows (or groups) are, at random.

        Returns
        -------
        self
        """
        lot = self._prepare(
            X, y, sample_weight, validation_data=validation_data, groups=groups, cv=cv
        )
        train_together([self], [lot])
        return self

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        validation_data: tuple[Any, ...] | None = None,
        groups: ArrayLike | None = None,
        cv: Any = None,
    ) -> Lot:
        """Check, split and scale what `fit` is given."""
        self._check_parameters()
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        sample = check_sample(self, X, y, sample_weight, reset=True)
        check_enough(sample.y[sample.weight > 0])
        if groups is not None:
            sample = sample._replace(groups=check_groups(to_local(groups), len(sample.y)))
        self.monotone_ = None
        self.target_name_ = _name_of(y)
        if cv is None or validation_data is not None:  # a splitter of one's own counts all rows
            sample = sample.take(sample.weight > 0)
        if validation_data is not None:
            valid = self._check_validation(validation_data)
            return self._lot(sample, valid, seed, shuffled=False)
        if cv is None and (folds := self._folds(sample, seed)):
            return self._lot_of_folds(sample, folds, seed)
        inner, held_out = inner_split(
            sample.weight,
            fraction=self.validation_fraction,
            groups=sample.groups,
            cv=cv,
            random_state=seed,
        )
        return self._lot(sample.take(inner), sample.take(held_out), seed, shuffled=cv is None)

    def _lot(self, train: Sample, valid: Sample, seed: int, *, shuffled: bool) -> Lot:
        """Every member learns from the same rows and is judged on those held out."""
        rows, held_out = self._scaled([train, valid], shuffled=shuffled)
        self.n_held_out_ = len(valid.y)
        return Lot(rows, rows, held_out, seed, partial(self._learn, train, valid))

    def _lot_of_folds(self, sample: Sample, folds: list[Fold], seed: int) -> Lot:
        """Each member learns from all rows but those of its fold, and is judged on these."""
        (rows,) = self._scaled([sample])
        kinds = self._n_members() // len(folds)
        train = self._of_members(rows, [inner for inner, _ in folds]).repeated(kinds)
        held_out = MemberRows.of(rows, [part for _, part in folds]).repeated(kinds)
        self.n_held_out_ = len(sample.y)
        learn = partial(self._learn_from_folds, sample, rows, folds)
        return Lot(rows, train, held_out, seed, learn)

    def _of_members(self, rows: Rows, parts: Sequence[NDArray[np.intp]]) -> MemberRows:
        """Rows that the members learn from, each from a part of its own."""
        return MemberRows.of(rows, parts)

    def _scaled(self, samples: Sequence[Sample], *, shuffled: bool = True) -> list[Rows]:
        """Rows of samples on the device, scaled by what the first of them shows.

        Parameters
        ----------
        shuffled : bool
            Whether rows are held out at random, not at the user's wish, as in time.
        """
        train = samples[0]
        x, weight = train.x, train.weight
        if isinstance(x, Windows):
            x, weight = x.seen_rows(weight)
        self.neighbours_ = None
        self.input_scaler_ = fit_scaler(x, weight, self.scaling)
        self.target_scaler_ = fit_target_scaler(train.y, train.weight, self.scaling)
        device = resolve_device(self.device)
        return scaled_rows(samples, self.input_scaler_, self.target_scaler_, device)

    def _seeds(self, seed: int) -> list[int]:
        """Seeds of the members; the first is that of a network alone."""
        more = np.random.default_rng(seed).integers(
            np.iinfo(np.int32).max, size=self._n_members() - 1
        )
        return [seed, *(int(each) for each in more)]

    def _build(self, seeds: Sequence[int]) -> list[DistributionNetwork]:
        """Networks before training, each initialised by its own seed."""
        networks, head = [], self._make_head()
        dropout = self._dropout()
        for seed in seeds:
            torch.manual_seed(seed)
            networks.append(
                build_network(
                    self.network,
                    self._n_inputs(),
                    self.hidden,
                    head,
                    dropout=dropout,
                    steps=self.n_steps_,
                    periodic=self._periodic(),
                    gated=self.neighbours_ is not None,
                    given=self._given(),
                )
            )
        return networks

    def _given(self) -> torch.Tensor | None:
        """Outputs of a network that are not learned, none where all are."""
        return None

    def _n_inputs(self) -> int:
        """Return how many numbers a network sees of a row, or of a step of it."""
        return len(self.input_scaler_.loc)

    def _periodic(self) -> float:
        scale = self._setting("periodic")
        return _PERIODIC if scale == "auto" else scale or 0.0

    def _as_one(self, networks: Sequence[DistributionNetwork]) -> MemberNetworks:
        return MemberNetworks(networks, sequences=self.n_steps_ is not None)

    def _initialise(self, networks: Sequence[DistributionNetwork], rows: Rows) -> None:
        """Start at the mean of the scaled target: 0, or somewhere in [0, 1]."""
        bias = networks[0].head.initial_bias(*rows.target_moments())
        for network in networks:
            network.output.bias.detach()[:] = bias

    def _dropout(self) -> float:
        return own_dropout(self.network) if self.dropout is None else self.dropout

    def _batch_size(self, lots: Sequence[Rows]) -> int:
        if self.batch_size == "auto":
            # Eight steps an epoch on small data, so that epochs and patience keep their meaning.
            return min(256, max(16, len(lots[0].y) // 8))
        return self.batch_size

    # ---- predict ----------------------------------------------------------------------------

    def predict_dist(self, X: Any) -> Distribution:
        """Predictive distribution of every row, in target units."""
        self._check_fitted()
        return self._predict_matrix(check_inputs(self, X, reset=False))

    def _predict_matrix(self, x: Inputs) -> Distribution:
        return self._bounded(self._calibrated(self._raw_distribution(x)))

    def _calibrated(self, dist: Distribution) -> Distribution:
        return dist if self.monotone_ is None else Recalibrated(dist, self.monotone_)

    def _bounded(self, dist: Distribution) -> Distribution:
        if self.bounds is None:
            return dist
        low, high = self.bounds
        return Clipped(dist, -np.inf if low is None else low, np.inf if high is None else high)

    @torch.no_grad()
    def _raw_distribution(self, x: Inputs) -> Distribution:
        """What the networks say, in target units, before recalibration and bounds."""
        network = self._for_prediction()
        chunks = self._chunks(x, next(network.parameters()))
        parts = [self._answer(self._forward(network, inputs)) for _, inputs in chunks]
        scaler = self.target_scaler_
        return concatenate(parts).affine(float(scaler.loc), float(scaler.scale))

    def _for_prediction(self, members: slice = slice(None)) -> MemberNetworks:
        """Copy of these members in float64, or what their device has."""
        device = next(self.module_.parameters()).device
        return copy.deepcopy(self.module_.part(members)).to(
            torch.float32 if device.type == "mps" else torch.float64
        )

    def _chunks(self, x: Inputs, like: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
        """Rows few enough for the memory, and their scaled inputs as tensors like `like`."""
        size = self._rows_at_once(self._n_answers())
        for start in range(0, len(x), size):
            rows = slice(start, start + size)
            yield rows, torch.as_tensor(self._inputs_of(np.asarray(x[rows]))).to(like)

    def _rows_at_once(self, answers: int) -> int:
        """Rows to predict at a time where each has so many answers."""
        return max(1, _PREDICT_ROWS // (answers * (self.n_steps_ or 1)))

    def _inputs_of(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the network sees of rows that it was not trained on."""
        return self.input_scaler_.transform(x)

    # ---- save and load ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder: safetensors and JSON, no pickle.

        The folder appears whole or not at all. ``overwrite=True`` replaces an older model. An
        `MMDRegressor` that looks up neighbours (``quality="best"``) writes its training rows, too.
        """
        self._check_fitted()
        save_estimator(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, network: nn.Module | None = None) -> Self:
        """Load a model that `save` wrote; its predictions are the same to the last bit.

        No code from the files is run. A model that was fitted with a module of the user's own
        needs an instance of it as `network`: weights are stored, classes are not.
        """
        return cls._from_folder(Path(path), *read_model(path), network=network)

    @classmethod
    def _from_folder(
        cls,
        path: Path,
        manifest: dict[str, Any],
        tensors: dict[str, NDArray[Any]],
        *,
        network: nn.Module | None = None,
    ) -> Self:
        return restore_estimator(cls, path, manifest, tensors, network=network)

    # ---- checks -----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_common(self)

    def _check_fitted(self) -> None:
        if not hasattr(self, "module_"):
            raise errors.NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call fit(X, y) first."
            )

    def _check_validation(self, data: tuple[Any, ...]) -> Sample:
        if not 2 <= len(data) <= 3:
            raise ParameterError(
                f"validation_data must be (X, y) or (X, y, sample_weight), got {len(data)} items."
            )
        X, y, weights = data if len(data) == 3 else (*data, None)
        sample = check_sample(self, X, y, weights, reset=False)
        return sample.take(sample.weight > 0)


def _name_of(y: Any) -> str | None:
    name = getattr(y, "name", None)  # of a pandas or polars series
    return name if isinstance(name, str) and name else None

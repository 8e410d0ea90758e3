"""The base of all network methods: fit = check > plan > train > calibrate."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions
from torch import nn

from calibrant import errors
from calibrant.checks import name_of, package_of
from calibrant.distributions import Distribution, DistributionPredictor
from calibrant.errors import ParameterError
from calibrant.estimators.bounds import check_bounds
from calibrant.estimators.fit_data import FitData, check_fit_data, may_fall_below_zero
from calibrant.estimators.fitted_model import FittedModel
from calibrant.estimators.html import fit_summary_html
from calibrant.estimators.inputs import check_inputs
from calibrant.estimators.objectives import mean_crps, mean_nll, pit_values
from calibrant.estimators.parameters import (
    Constraints,
    GroupedParameters,
    ParameterGroup,
    Training,
    check_parameters,
    count,
    positive,
    share,
)
from calibrant.estimators.plan import Plan, Recipe
from calibrant.estimators.planning import make_plan
from calibrant.estimators.predictor import Predictor
from calibrant.estimators.saving import restore_estimator, save_estimator
from calibrant.estimators.streamed_data import check_source, read_whole
from calibrant.estimators.train import Trained, train
from calibrant.networks import GaussianHead, Head, InputShapes, Networks, NetworkSpec
from calibrant.tables import ArrowSource, ParquetSource, TableEncoder
from calibrant.training import Objective, Record, Rows, Stage


@dataclass(kw_only=True, repr=False, eq=False)
class NetworkRegressor(FittedModel, DistributionPredictor, RegressorMixin, GroupedParameters):
    """Base of all network methods; see `HeteroscedasticRegressor` for the parameters.

    A method declares its parameters as fields and implements `_recipe`: which networks it trains,
    what they minimise, how their outputs are combined, and what is learned afterwards.

    Notes
    -----
    The path of a row: frame or array > validated float64 matrix > scaled float32 tensor >
    network > distribution in target units.
    """

    epochs: int = 200
    batch_size: int | Literal["auto"] = "auto"
    lr: float = 1e-3
    training: Training | None = None
    bounds: tuple[float | None, float | None] | None = None
    device: str = "auto"
    random_state: int | np.random.RandomState | None = None
    verbose: bool | str = False

    # Fitted state: not arguments of the constructor, so not parameters.
    predictor_: Predictor = field(init=False)
    history_: list[Record] = field(init=False)
    encoder_: TableEncoder | None = field(init=False)
    n_features_in_: int = field(init=False)
    n_steps_: int | None = field(init=False)
    input_shapes_: InputShapes = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)
    target_name_: str | None = field(init=False)
    n_held_out_: int = field(init=False)
    plan_: dict[str, str] = field(init=False)  # in words

    _fitted_attribute: ClassVar[str] = "predictor_"
    # Whether the network reads (n, steps, d); otherwise the steps are flattened.
    _reads_sequences: ClassVar[bool] = True
    # Whether training rows may come as a stream; otherwise the method needs all of them at once.
    _reads_streams: ClassVar[bool] = True
    _groups: ClassVar[Mapping[str, type[ParameterGroup]]] = {"training": Training}
    _parameter_constraints: ClassVar[Constraints] = {
        "epochs": [count()],
        "batch_size": [count(), StrOptions({"auto"})],
        "lr": [positive()],
        "training": [Training, None],
        "bounds": [tuple, None],
        "verbose": ["boolean", str],
    }

    # ---- what a method implements -----------------------------------------------------------

    def _recipe(self, data: FitData) -> Recipe:
        """Return what the method trains and how it predicts."""
        raise NotImplementedError(f"{type(self).__name__} must say what it trains.")

    # ---- fit --------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        validation_data: tuple[Any, ...] | None = None,
        groups: ArrayLike | None = None,
        cv: Any = None,
        **on_ray: Any,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, frame or tensor of shape (n, d), or sequences of shape (n, steps, d)
            NumPy, pandas, polars, Arrow, scipy.sparse or torch. Columns of a frame may hold
            numbers, text, booleans, dates, durations and gaps; row numbers and identifiers are
            left out. ``model.encoder_.describe()`` says what was done to each column.
            Sequences are a 3-D array or tensor, or `Windows` into a series, which are never
            copied as a whole. A network of your own may have several inputs: a dict of arrays
            (n, ...), such as images and a table, is passed to it by name. A `ParquetSource` or
            `ArrowSource`, which has the targets as well, is read part by part, and may be larger
            than memory; a `ray.data.Dataset` is fitted to by the workers of its cluster.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Rows of weight 0 are left out.
        validation_data : tuple (X, y) or (X, y, sample_weight), optional
            Rows for early stopping and calibration; without it some of the training rows are held
            out.
        groups : array of shape (n,), optional
            Rows of one group are held out together.
        cv : int, splitter or iterable of (train, test), optional
            How rows are held out, for example ``TimeSeriesSplit()``; its last split is used.
            Without it a random fraction of the rows (or groups) is held out.
        **on_ray
            For a Ray dataset: `label_column`, `scaling_config` and other options of
            `calibrant.engines.fit_on_ray`.

        Returns
        -------
        self
        """
        options = {"validation_data": validation_data, "groups": groups, "cv": cv}
        if package_of(X) == "ray":
            return self._fit_on_ray(X, on_ray, y=y, sample_weight=sample_weight, **options)
        if on_ray:
            raise TypeError(
                f"fit() got an unexpected keyword argument {next(iter(on_ray))!r}: these are for "
                f"Ray datasets, but X is {type(X).__name__}."
            )
        plan = self._plan(X, y, sample_weight, **options)
        if y is not None:  # the command line speaks of the targets of a source
            self._offer_bound(plan)
        (trained,) = train([plan])
        return self._finish(plan, trained)

    def _fit_on_ray(self, dataset: Any, on_ray: dict[str, Any], **others: Any) -> Self:
        from calibrant.engines import fit_on_ray

        given = [name for name, value in others.items() if value is not None]
        if given:
            raise ParameterError(
                f"{given[0]} can't be passed with a Ray dataset, whose label_column is the target "
                "and whose rows are held out at random."
            )
        return fit_on_ray(self, dataset, **on_ray)

    def plan(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, **options: Any
    ) -> Plan:
        """Return the plan of `fit` with these arguments, without training; ``print`` shows it."""
        model = copy.copy(self)
        # `fit` draws its seed from a generator of the user's; a plan must not.
        model.random_state = copy.deepcopy(self.random_state)
        return model._plan(X, y, sample_weight, **options)

    def _plan(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **options: Any) -> Plan:
        """Check the arguments of `fit` and make the plan."""
        check_parameters(self)
        check_bounds(self.bounds)
        if isinstance(X, ArrowSource | ParquetSource):
            self._check_source(X, y=y, sample_weight=sample_weight, **options)
            if X.n_rows <= X.in_memory_rows:
                return self._plan(*read_whole(X))
            data = check_source(self, X, self._training.validation_fraction)
            self.target_name_ = X.target
        else:
            data = check_fit_data(self, X, y, sample_weight, **options)
            self.target_name_ = name_of(y)
        return self._plan_for(data)

    @property
    def _training(self) -> Training:
        return self.training or Training()

    def _plan_for(self, data: FitData) -> Plan:
        """Make the plan for checked data."""
        return make_plan(
            type(self).__name__,
            self._recipe(data),
            data,
            self._training,
            bounds=self.bounds,
            device=self.device,
            verbose=self.verbose,
        )

    def _finish(self, plan: Plan, trained: Trained) -> Self:
        """Calibrate the trained networks and keep the predictor."""
        predictor = plan.predictor(trained.networks)
        calibrate = plan.recipe.calibrate
        self.predictor_ = predictor if calibrate is None else calibrate(plan, predictor)
        self.history_ = trained.history
        self.n_held_out_ = plan.n_held_out
        self.plan_ = plan.in_words()
        return self

    def _likelihood_stage(self, rows: Rows, **options: Any) -> Stage:
        """Stage 1 of methods that predict normals or mixtures of them."""
        loss = partial(mean_nll, beta=self._training.beta)
        return self._stage(rows, loss, mean_nll, pit=pit_values, crps=mean_crps, **options)

    def _stage(
        self,
        rows: Rows,
        loss: Objective,
        score: Objective,
        *,
        epochs: int | None = None,
        weight_decay: float = 1e-5,
        most_rows: int = 256,
        **options: Any,
    ) -> Stage:
        """Stage 1 with the budget that the parameters set, for these scaled training rows.

        `most_rows` limits the batch size where the user leaves it open.
        """
        decay = self._training.weight_decay
        return Stage(
            number=1,
            loss=loss,
            score=score,
            epochs=self.epochs if epochs is None else epochs,
            batch_size=self._batch_size(rows, most_rows),
            lr=self.lr,
            weight_decay=weight_decay if decay is None else decay,
            patience=self._training.patience,
            precision=self._training.precision,
            **options,
        )

    def _batch_size(self, rows: Rows, most: int) -> int:
        if self.batch_size == "auto":
            # Eight steps per epoch on small data, so that epochs and patience keep their meaning.
            return min(most, max(16, len(rows.y) // 8))
        return self.batch_size

    # ---- predict ----------------------------------------------------------------------------

    def predict_dist(self, X: Any) -> Distribution:
        """Return the predictive distribution of every row, in target units."""
        self._check_fitted()
        return self.predictor_.predict(check_inputs(self, X, reset=False))

    @property
    def module_(self) -> Networks:
        """The trained networks; of a single one, ``module_.single`` is the plain nn.Module."""
        self._check_fitted()
        return self.predictor_.networks

    # ---- notebooks --------------------------------------------------------------------------

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + fit_summary_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += fit_summary_html(self)
        return bundle

    # ---- save and load ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder: safetensors and JSON, no pickle.

        The folder is written whole or not at all. ``overwrite=True`` replaces an older model. An
        `MMDRegressor` that looks up neighbours (``quality="best"``) also writes its training rows.
        """
        self._check_fitted()
        save_estimator(self, path, overwrite=overwrite)

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        levels: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
        *,
        encoded: bool = False,
        overwrite: bool = False,
        recalibrator: Any = None,
    ) -> None:
        """Write the fitted model as one ONNX graph, from features to calibrated quantiles.

        Inputs: ``features``, the columns of numbers as (n, p) or sequences (n, steps, d), float64,
        NaN for gaps; and, where the table had categories, ``texts``, (n, q). The metadata of the
        file names the columns in their order. Outputs, float64: ``mean`` and ``stddev``, (n,), and
        ``quantiles``, (n, L). They equal those of `predict_dist` to 1e-5 of the spread.

        A model that looks up neighbours writes its training rows into the file; where several of
        them are equally near, another of them may count as the nearest.

        Parameters
        ----------
        path : path
            File to write, whole or not at all.
        levels : sequence of float
            Levels of the quantiles.
        encoded : bool, default False
            Let the graph begin after the encoding: its input is what
            ``model.encoder_.transform(frame)`` returns. For tables with dates and durations.
        overwrite : bool, default False
            Replace an existing file.
        recalibrator : recalibrator around this model, optional
            The graph goes on with its map. ``recalibrator.to_onnx(path)`` passes it.
        """
        from calibrant.estimators.to_onnx import write_onnx

        self._check_fitted()
        models = {"": self if recalibrator is None else recalibrator}
        about = {"target": self.target_name_}
        write_onnx(models, path, levels, about=about, encoded=encoded, overwrite=overwrite)

    @classmethod
    def _from_folder(
        cls, path: Path, manifest: dict[str, Any], tensors: dict[str, NDArray[Any]], **options: Any
    ) -> Self:
        return restore_estimator(cls, path, manifest, tensors, **options)

    # ---- checks -----------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.three_d_array = True
        return tags

    def _check_source(self, source: ArrowSource | ParquetSource, **others: Any) -> None:
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise ParameterError(
                f"{given[0]} can't be passed with a {type(source).__name__}, which has the targets "
                "and whose rows are held out at random. Read the table into memory for it."
            )
        if not self._reads_streams and source.n_rows > source.in_memory_rows:
            raise ParameterError(
                f"{type(self).__name__} needs all rows in memory, but the source has "
                f"{source.n_rows:,} rows. Raise its in_memory_rows, or use MMDRegressor."
            )

    def _offer_bound(self, plan: Plan) -> None:
        """Warn if the target of a table, which has a name, is never negative but near zero."""
        if self.target_name_ is None or (self.bounds or (None,))[0] is not None:
            return
        held_out = [] if plan.held_out is None else [plan.held_out.y]
        if may_fall_below_zero(np.concatenate([plan.sample.y, *held_out])):
            warnings.warn(
                f"{self.target_name_} is never negative. bounds=(0, None) keeps the predictions "
                "there as well.",
                errors.ColumnWarning,
                stacklevel=3,
            )


@dataclass(kw_only=True, repr=False, eq=False)
class BodyParameters:
    """Parameters of methods that put a head on a network, as a mixin."""

    network: str | nn.Module = "mlp"
    hidden: Sequence[int] | None = None
    dropout: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "network": [StrOptions({"mlp", "lstm", "gru"}), nn.Module],
        "hidden": ["array-like", None],
        "dropout": [share(), None],
    }

    def resolved_params(self) -> dict[str, Any]:
        """As in `GroupedParameters`, with the dropout of the network."""
        parameters: dict[str, Any] = super().resolved_params()  # type: ignore[misc]
        return parameters | {"dropout": self._spec(GaussianHead()).dropped}

    def _spec(self, head: Head) -> NetworkSpec:
        """Description of the network that the parameters set."""
        return NetworkSpec(
            body=self.network,
            head=head,
            hidden=None if self.hidden is None else tuple(self.hidden),
            dropout=self.dropout,
        )

"""`MMDRegressor`: likelihood, then a kernel score, then a calibration map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.utils._param_validation import StrOptions

from calibrant.errors import ParameterError
from calibrant.estimators.base import BodyParameters, NetworkRegressor
from calibrant.estimators.budget import choose_within, training_seconds
from calibrant.estimators.combine import WeightedMixture
from calibrant.estimators.ensemble_calibration import EnsembleCalibration
from calibrant.estimators.fit_data import FitData
from calibrant.estimators.matching_objective import matching_objective
from calibrant.estimators.objectives import mean_crps
from calibrant.estimators.parameters import (
    Constraints,
    Ensemble,
    Matching,
    ParameterGroup,
    Training,
    count,
    positive,
)
from calibrant.estimators.plan import Kind, Recipe
from calibrant.estimators.planning import make_plan
from calibrant.estimators.presets import (
    PRESET_PARAMETERS,
    PRESETS,
    SUBMODELS_WITHOUT_FOLDS,
    NetworkKind,
    Preset,
    Quality,
    ladder,
    preset,
)
from calibrant.networks import Head, gaussian_head
from calibrant.persistence import savable_model
from calibrant.training import Rows, Stage


@savable_model
@dataclass(kw_only=True, repr=False, eq=False)
class MMDRegressor(BodyParameters, NetworkRegressor):
    """Calibrated regression by maximum mean discrepancy.

    1. Stage 1 fits a distribution per row, a mixture of normals, by likelihood.
    2. Stage 2 minimises a kernel score, the squared MMD between the distribution of a row and its
       own observation. It is a proper score; with the energy kernel it is twice the CRPS. On
       request pairs of rows are matched as well (`matching`). The epoch with the best CRPS on
       held-out rows is kept; if none improves on the start, the stage is rolled back.
    3. A monotone map of the predictive distribution functions, learned from held-out rows, removes
       the remaining miscalibration at every level. It depends on the predicted mean if 2,400 or
       more held-out rows show that one map is not enough.

    `quality` and the number of rows determine how many networks are trained, and whether one part
    of the rows is held out from all of them or each fold from its own networks. Each network is an
    ensemble of submodels that share its weights. The distribution functions of all are averaged,
    ``F(y) = sum_i w_i F_i(y)``, before the map.

    Where the target is nearly a weighted sum of the inputs, a ridge regression is subtracted first
    and added to the predictions; ``print(model.plan(X, y))`` says so.

    `as_published` is Algorithm 1 of the paper to the letter.

    Parameters
    ----------
    quality : {"fast", "default", "best"}, default "default"
        Training effort. It sets `components`, `epochs`, `hidden` and the fields of `matching` and
        `ensemble` where they are None. "fast" is one Gaussian network with five
        epochs of matching given the input. "default" trains by the kernel score: networks of
        two submodels, one of each kind (``ensemble.kinds``) for each fold of two different splits
        into five folds, above 4,000 rows into three; above 25,000 rows one wider network of each
        kind, with four submodels. "best" trains three kinds of deeper networks of eight submodels
        on five folds, twice as long; up to 2,000 rows, where that gains nothing, of two submodels.
    time_budget : float or None
        Seconds for training. A few steps are timed, and the most thorough setting that fits, from
        one small network to "best", replaces `quality`; training ends when the time is over.
        Predictions then depend on the speed of the machine. Only for the "mlp".
    components : int or None
        Gaussians per row; 1 is a mean and a variance. None is 5, and 1 for "fast".
    epochs : int or None
        Largest number of epochs of stage 1.
    matching : Matching
        Objective and budget of stage 2.
    ensemble : Ensemble
        Number of networks, folds and kinds of networks.
    atoms : bool, default True
        Give values that many training rows share (counts, grades, zeros) a probability: the mass
        that the networks predict around them. These are all values if most of them appear at
        least 20 times, otherwise those of at least 1% of the rows. If other values vary, one of at
        least 5% of the rows becomes a component of the mixture; without a mixture it is left out.
    recalibrate : bool or "common", default True
        Learn the monotone map from the held-out rows, given the predicted mean where they show
        that one map is not enough. "common" learns one map for all rows, False none.

    Notes
    -----
    All other parameters and attributes are those of `HeteroscedasticRegressor`.

    Out of fold, a row is predicted by `members` networks of each kind; new rows are predicted by
    all networks. The mean square of ``F(y) - 1/2`` of a mixture of r networks is ``a + b / r``,
    which is extrapolated to the whole ensemble before the map is learned.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import MMDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (300, 1))
    >>> y = X[:, 0] + (0.1 + 0.2 * (X[:, 0] > 0)) * rng.standard_normal(300)
    >>> model = MMDRegressor(random_state=0).fit(X, y)
    >>> model.predict_quantiles(X, alpha=[0.1, 0.5, 0.9]).shape
    (300, 3)
    """

    quality: Quality = "default"
    time_budget: float | None = None
    components: int | None = None
    epochs: int | None = None  # type: ignore[assignment]
    matching: Matching | None = None
    ensemble: Ensemble | None = None
    atoms: bool = True
    recalibrate: bool | Literal["common"] = True

    _groups: ClassVar[Mapping[str, type[ParameterGroup]]] = {
        **NetworkRegressor._groups,
        "matching": Matching,
        "ensemble": Ensemble,
    }
    _parameter_constraints: ClassVar[Constraints] = {
        "quality": [StrOptions(set(PRESETS))],
        "time_budget": [positive(), None],
        "components": [count(), None],
        "epochs": [count(), None],
        "matching": [Matching, None],
        "ensemble": [Ensemble, None],
        "atoms": ["boolean"],
        "recalibrate": ["boolean", StrOptions({"common"})],
    }

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """Return Algorithm 1 with the hyper-parameters of the paper.

        Data scaled to [0, 1]; 256-256 ReLU, or LSTM 128-64 with ``network="lstm"``; Adam, lr
        1e-4, weight decay 1e-3; stage 1 by plain likelihood; stage 2 by the biased (V) statistic
        of one draw per row against the targets, six kernels, all weights, no score, no roll-back,
        no map. Where the paper is silent: batches of 1024, stage 1 up to 1000 epochs with
        patience 50, stage 2 up to 200 epochs.

        Parameters
        ----------
        **changes
            Other parameters, such as ``random_state``, or fields of the groups by their nested
            names: ``matching__epochs=5``.

        Notes
        -----
        Kept for comparison. On real data stage 2 damages the model: on [0, 1] these bandwidths
        leave a signal below the noise of a batch, and the marginal does not determine the mean.
        """
        published = cls(
            quality="fast",
            lr=1e-4,
            batch_size=1024,
            epochs=1000,
            dropout=0.0,
            training=Training(scaling="minmax", weight_decay=1e-3, patience=50, beta=0.0),
            matching=Matching(
                match="marginal",
                score_weight=0.0,
                statistic="v",
                expectation="sampled",
                bandwidths="published",
                rollback=False,
                epochs=200,
                batch_size=1024,
                lr=1e-4,
                patience=200,
            ),
            atoms=False,
            recalibrate=False,
        )
        return published.set_params(**changes)

    def settings(self, n_rows: int | None = None) -> Preset:
        """Return the preset of `quality` for a table, with the parameters that the user has set."""
        return self._with_own(preset(self.quality, self.network, n_rows))

    def _with_own(self, settings: Preset) -> Preset:
        """A preset with the parameters that the user has set."""
        own = self.get_params()
        left_open = {"match": "auto"}  # where None means something else
        chosen = {
            name: own[parameter]
            for name, parameter in PRESET_PARAMETERS.items()
            if own[parameter] != left_open.get(name)
        }
        return replace(settings, **chosen)

    def resolved_params(self) -> dict[str, Any]:
        """As in `GroupedParameters`, with None replaced by the preset of `quality`."""
        settings = self.settings()
        resolved = {
            parameter: getattr(settings, name) for name, parameter in PRESET_PARAMETERS.items()
        }
        return super().resolved_params() | resolved

    def _recipe(self, data: FitData) -> Recipe:
        settings = self.settings(data.n_rows)
        if settings.folds == 1:
            raise ParameterError("ensemble.folds must be 0 or at least 2, got 1.")
        matching = self.matching or Matching()
        if settings.match is None and matching.score_weight == 0:
            raise ParameterError(
                "matching.match=None leaves the kernel score alone: matching.score_weight must be "
                "above 0."
            )
        settings = self._fitted_to(settings, data)
        if self.time_budget is not None:
            if self.network != "mlp":
                raise ParameterError(
                    f'time_budget needs network="mlp", got network={self.network!r}: set quality, '
                    "epochs and matching__epochs instead."
                )
            settings = self._within_budget(self.time_budget, data)
        return self._recipe_of(settings, data)

    def _within_budget(self, seconds: float, data: FitData) -> Preset:
        """The most that can be trained in this time, after timing a few steps."""
        rungs = ladder(data.n_rows)

        def duration(rung: Preset) -> float:
            """Seconds of training: those of the first kind of networks, times the kinds."""
            kinds = tuple(kind for kind in rung.kinds if kind != "neighbours")[:1] or rung.kinds
            plan = make_plan(
                type(self).__name__,
                replace(self._recipe_of(replace(rung, kinds=kinds), data), linear_trend=False),
                data,
                self._training,
                bounds=None,
                device=self.device,
                verbose=False,
            )
            return len(rung.kinds) * training_seconds(plan)

        own = [self._fitted_to(self._with_own(rung), data) for rung in rungs]
        return choose_within(seconds, own, duration)

    def _recipe_of(self, settings: Preset, data: FitData) -> Recipe:
        head = gaussian_head(settings.components, settings.submodels)
        first, *others = self._kinds(settings, head)
        return Recipe(
            network=first.network,
            more_kinds=tuple(others),
            stages=partial(self._stages, settings, data.n_elsewhere),
            combine=WeightedMixture(),
            calibrate=EnsembleCalibration(self.recalibrate),
            members=settings.members,
            folds=settings.folds,
            atoms=self.atoms,
            linear_trend=settings.submodels > 1,
            scaling=settings.scaling,
        )

    def _kinds(self, settings: Preset, head: Head) -> list[Kind]:
        """Kinds of networks; the first never reads neighbours, as that kind may be left out."""
        unknown = set(settings.kinds) - set(get_args(NetworkKind))
        if unknown or set(settings.kinds) <= {"neighbours"}:
            raise ParameterError(
                'ensemble.kinds must be "relu", "silu" or both, and may add "neighbours"; got '
                f"{tuple(settings.kinds)}."
            )
        spec = replace(self._spec(head), hidden=settings.hidden and tuple(settings.hidden))
        if self.network != "mlp":
            return [Kind(spec)]
        relu = replace(spec, periodic=settings.periodic, submodels=settings.submodels)
        kinds = {
            "relu": Kind(relu),
            "silu": Kind(replace(relu, periodic=0.0, activation="silu")),
            "neighbours": Kind(relu, neighbours=True),
        }
        return [kind for name, kind in kinds.items() if name in settings.kinds]

    def _fitted_to(self, settings: Preset, data: FitData) -> Preset:
        """Folds and networks that the rows allow, where the user leaves them open.

        With folds every row has two networks or more that never saw it: how much these differ
        tells how the whole ensemble, which the calibration map will be applied to, differs from
        them.
        """
        own = self.ensemble or Ensemble()
        if own.folds is None and data.sample.groups is not None:
            groups = len(np.unique(data.sample.groups))
            settings = replace(settings, folds=min(settings.folds, groups))
        if not data.chooses_rows and own.folds is None:
            if settings.folds >= 2 and settings.submodels > 1 and own.submodels is None:
                settings = replace(settings, submodels=SUBMODELS_WITHOUT_FOLDS)
            settings = replace(settings, folds=0)
        if own.members is None and settings.folds >= 2:
            settings = replace(settings, members=max(2, settings.members))
        return settings

    def _stages(self, settings: Preset, n_streamed: int | None, rows: Rows) -> Sequence[Stage]:
        matching = self.matching or Matching()
        first = self._likelihood_stage(
            rows,
            epochs=settings.epochs,
            weight_decay=settings.weight_decay,
            most_rows=settings.batch_size,
            beta2=settings.beta2,
        )
        epochs = settings.matching_epochs
        if matching.epochs is None:
            epochs = settings.epochs_for(n_streamed or len(rows.y))
        size = matching.batch_size
        second = replace(
            first,
            number=2,
            loss=matching_objective(matching, settings.match, rows),
            score=mean_crps,
            epochs=epochs,
            batch_size=first.batch_size if size == "auto" else size,
            lr=settings.matching_lr,
            patience=settings.matching_patience,
            average=settings.average,
            decay=settings.decay,
            seconds=self.time_budget and self.time_budget / len(settings.kinds),
            keep_best=matching.rollback,
            name="kernel score" if settings.match is None else "matching",
            score_name="CRPS",
            crps=None,
        )
        return [first, second]

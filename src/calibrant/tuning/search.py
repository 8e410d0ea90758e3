"""Search for settings with a low cross-validated CRPS, within a budget of time."""

from __future__ import annotations

import hashlib
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from calibrant.engines import Run, run_serial
from calibrant.errors import CalibrantError, MissingDependencyError, ParameterError
from calibrant.estimators import NetworkRegressor
from calibrant.experiments.estimates import paired_difference
from calibrant.experiments.own_table import OwnTable, own_table
from calibrant.experiments.time_plan import network_seconds
from calibrant.tuning.result import TuningResult
from calibrant.tuning.space import own_settings, search_space, single_changes

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

    Space = Callable[[optuna.Trial, NetworkRegressor], dict[str, Any]]

_HOPELESS = 1.01  # times the CRPS of the best trial on the same folds


@dataclass(frozen=True)
class Progress:
    """One finished trial, for whoever shows the search.

    Attributes
    ----------
    number : int
        Of the trial, from 0, the settings that the search started from.
    crps : float
        Mean over the folds that ran.
    folds : int
        How many ran.
    best : float
        CRPS of the best trial so far, over all folds.
    seconds : float
        That the trial took.
    left : float
        Seconds of the budget that are left.
    """

    number: int
    crps: float
    folds: int
    best: float
    seconds: float
    left: float


def tune(
    model: NetworkRegressor,
    X: Any,
    y: Any,
    *,
    minutes: float = 10.0,
    folds: int = 5,
    groups: ArrayLike | None = None,
    storage: str | None = None,
    run: Run = run_serial,
    space: Space = search_space,
    seed: int = 0,
    refit: bool = True,
    on_plan: Callable[[float], None] = lambda seconds: None,
    on_trial: Callable[[Progress], None] = lambda progress: None,
) -> TuningResult:
    """Search for settings of a method that lower the CRPS of held-out rows.

    1. The model's own settings are cross-validated first, so that the result is never worse on
       these folds.
    2. Other settings follow while time is left: first each parameter changed alone, then what
       Optuna suggests. A trial is given up as soon as it is more than 1% worse than the best one
       on the folds that it has.
    3. The model with the best settings is fitted to all rows.

    Parameters
    ----------
    model : network method
        Left as it is.
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    minutes : float
        Budget of the search; the first trial and the last fit are not cut off by it.
    folds : int
    groups : array of shape (n,), optional
        Rows with the same label stay in one fold; by default those with equal inputs do.
    storage : str, optional
        Such as ``"sqlite:///study.db"``: the same call goes on with the trials stored there.
    run : callable
        An engine that trials run on side by side, such as
        ``calibrant.engines.make_engine("ray")``. Which trials follow then depends on which end
        first.
    space : callable
        From a trial of Optuna and the model to parameters for ``set_params``; one of your own has
        to return {} for the first trial, whose number is 0.
    seed : int
    refit : bool
    on_plan : callable
        Called with the estimated seconds of a trial before the first one.
    on_trial : callable
        Called after every trial.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import HeteroscedasticRegressor
    >>> from calibrant.tuning import tune
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (100, 1))
    >>> model = HeteroscedasticRegressor(epochs=3, device="cpu")
    >>> found = tune(model, X, X[:, 0] + rng.normal(size=100), minutes=0.01, folds=2)
    >>> found.crps <= found.default_crps
    True
    """
    try:
        import optuna
    except ImportError as cause:
        raise MissingDependencyError(
            "Tuning needs Optuna: pip install 'calibrant[tune]'."
        ) from cause
    if not (math.isfinite(minutes) and minutes > 0):
        raise ParameterError(f"minutes must be above 0, got {minutes:g}.")
    if not isinstance(model, NetworkRegressor):
        raise ParameterError(
            "tune needs a network method of calibrant, such as MMDRegressor(), got "
            f"{type(model).__name__}."
        )
    table = own_table(X, y, folds=folds, groups=groups, seed=seed)
    study = _open_study(optuna, table, model, storage)
    search = _Search(optuna, study, table, model, space)
    deadline = time.monotonic() + 60.0 * minutes
    if not search.finished:
        first = table.split(0)
        labels = first.hold_out["groups"]
        on_plan(
            len(table.folds) * network_seconds(clone(model), first.X_train, first.y_train, labels)
        )
        if space is search_space:
            study.enqueue_trial(own_settings(model))
        for progress in search.trials(run, deadline, most=1):
            on_trial(progress)
    if space is search_space:
        for suggested in single_changes(model):
            study.enqueue_trial(suggested, skip_if_exists=True)
    for progress in search.trials(run, deadline):
        on_trial(progress)
    found = search.result()
    if not refit:
        return found
    fitted = clone(model).set_params(**found.params).fit(X, y, groups=table.groups)
    return replace(found, model=fitted)


@dataclass(frozen=True, eq=False)
class _Item:
    """A trial to run: its settings, and the CRPS of the best one so far on each fold."""

    number: int
    params: dict[str, Any]
    best: tuple[float, ...] | None


class _Found(NamedTuple):
    """What a trial found: the CRPS of its folds, all of them or as far as it was worth it."""

    scores: list[float]
    complete: bool
    seconds: float


def _cross_validate(table: OwnTable, model: NetworkRegressor, item: _Item) -> _Found:
    """Mean CRPS of each fold, as far as the trial is worth it."""
    start = time.monotonic()
    scores: list[float] = []
    for fold in range(len(table.folds)):
        split = table.split(fold)
        candidate = clone(model).set_params(**item.params, random_state=table.seed + fold)
        candidate.fit(split.X_train, split.y_train, **split.hold_out)
        crps = candidate.predict_dist(split.X_test).crps(split.y_test)
        scores.append(float(np.mean(crps)))
        last = fold == len(table.folds) - 1
        good = item.best is None or np.mean(scores) <= _HOPELESS * np.mean(item.best[: fold + 1])
        if not good and not (last and np.isfinite(scores[-1])):
            return _Found(scores, False, time.monotonic() - start)
    return _Found(scores, True, time.monotonic() - start)


class _Search:
    """The trials of a study: run one more, and what they found."""

    def __init__(
        self, optuna: Any, study: Any, table: OwnTable, model: NetworkRegressor, space: Space
    ) -> None:
        self._optuna, self._study, self._space = optuna, study, space
        self._table, self._model = table, model
        self._states = optuna.trial.TrialState

    @property
    def finished(self) -> list[FrozenTrial]:
        """Trials with all folds; the first has the model's own settings."""
        found: list[FrozenTrial] = self._study.get_trials(states=(self._states.COMPLETE,))
        return found

    def usual_seconds(self) -> float:
        """How long a trial takes that is not given up."""
        return statistics.median(_seconds(trial) for trial in self.finished)

    def trials(self, run: Run, deadline: float, most: int | None = None) -> Iterator[Progress]:
        """Run trials while there is time for one more, or as many as are asked for."""
        asked: dict[int, Any] = {}

        def items() -> Iterator[_Item]:
            for _ in count() if most is None else range(most):
                if most is None and self.usual_seconds() > deadline - time.monotonic():
                    return
                trial = self._ask()
                asked[trial.number] = trial
                yield self._item(trial)

        try:
            for item, found in run(partial(_cross_validate, self._table, self._model), items()):
                if found is None:
                    raise CalibrantError("A worker was killed twice: is memory too small?")
                yield self._tell(asked.pop(item.number), found, deadline)
        except BaseException:  # an interrupt, too: a trial must not stay unfinished in the storage
            for trial in asked.values():
                self._study.tell(trial, state=self._states.FAIL)
            raise

    def _ask(self) -> Any:
        # A seed per trial, so that a search that was interrupted does not suggest the same again.
        self._study.sampler = self._optuna.samplers.TPESampler(
            seed=self._table.seed + len(self._study.trials), n_startup_trials=5
        )
        return self._study.ask()

    def _item(self, trial: Any) -> _Item:
        before = self.finished
        params = self._space(trial, self._model)
        if not before and params:
            raise ParameterError(
                "The first trial must be the model itself: space has to return {} for "
                f"trial.number == 0, got {params}."
            )
        trial.set_user_attr("params", _as_json(params))
        best = tuple(min(before, key=_crps).user_attrs["crps"]) if before else None
        return _Item(trial.number, params, best)

    def _tell(self, trial: Any, found: _Found, deadline: float) -> Progress:
        trial.set_user_attr("crps", found.scores)
        trial.set_user_attr("seconds", found.seconds)
        for fold in range(len(found.scores)):
            trial.report(float(np.mean(found.scores[: fold + 1])), fold)
        mean = float(np.mean(found.scores))
        state = self._states.COMPLETE if found.complete else self._states.PRUNED
        self._study.tell(trial, mean if found.complete else None, state=state)
        return Progress(
            number=trial.number,
            crps=mean,
            folds=len(found.scores),
            best=min(map(_crps, self.finished)),
            seconds=found.seconds,
            left=max(0.0, deadline - time.monotonic()),
        )

    def result(self) -> TuningResult:
        """Compare the best trial with the first one."""
        first, best = self.finished[0], min(self.finished, key=_crps)
        train, test = (len(rows) for rows in self._table.folds[0])
        mine, its = (dict(enumerate(trial.user_attrs["crps"])) for trial in (best, first))
        difference = paired_difference(mine, its, test_ratio=test / train)
        assert difference is not None  # every fold is shared
        pruned = self._study.get_trials(states=(self._states.PRUNED,))
        return TuningResult(
            params=_from_json(best.user_attrs["params"]),
            crps=_crps(best),
            default_crps=_crps(first),
            difference=difference,
            trials=len(self.finished),
            pruned=len(pruned),
            seconds=sum(_seconds(trial) for trial in [*self.finished, *pruned]),
            study=self._study,
        )


def _open_study(optuna: Any, table: OwnTable, model: NetworkRegressor, storage: str | None) -> Any:
    """Study of this very table, model and folds: trials of another would not be comparable."""
    settings = {
        name: repr(value)
        for name, value in sorted(model.get_params().items())
        if name not in ("random_state", "verbose", "device")
    }
    described = f"{type(model).__name__} {settings} {len(table.folds)} {table.seed}"
    digest = hashlib.sha256(described.encode()).hexdigest()[:12]
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # the search is told by `on_trial`
    try:
        return optuna.create_study(
            storage=storage,
            study_name=f"{table.name}-{digest}",
            direction="minimize",
            load_if_exists=True,
        )
    finally:
        optuna.logging.set_verbosity(before)


def _crps(trial: FrozenTrial) -> float:
    assert trial.value is not None  # of a complete trial
    return float(trial.value)


def _seconds(trial: FrozenTrial) -> float:
    return float(trial.user_attrs["seconds"])


def _as_json(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in params.items()
    }


def _from_json(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in params.items()
    }

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calibrant import evaluate
from calibrant.errors import CalibrantError, DataError, ParameterError
from calibrant.estimators import HeteroscedasticRegressor, MMDRegressor, Training
from calibrant.experiments.estimates import Estimate
from calibrant.tuning import TuningResult, search, tune
from calibrant.tuning.search import Progress

MODEL = HeteroscedasticRegressor(hidden=(8,), epochs=10, device="cpu", random_state=0)


def table(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second whenever it is read: a busy machine changes nothing."""
    ticks = count()
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))


def test_a_bad_setting_is_found_and_clearly_better(ticking: None) -> None:
    """A learning rate of 1e-6 hardly learns: ten times of it is better on every fold."""
    X, y = table(300)
    bad = HeteroscedasticRegressor(
        hidden=(8,), lr=1e-6, epochs=8, device="cpu", random_state=0, training=Training(patience=99)
    )

    def rates(trial: Any, model: Any) -> dict[str, Any]:
        return {} if trial.number == 0 else {"lr": trial.suggest_float("lr", 1e-2, 3e-2)}

    seen: list[Progress] = []
    found = tune(bad, X, y, minutes=0.5, folds=4, space=rates, on_trial=seen.append)
    assert found.crps < 0.8 * found.default_crps
    assert found.clearly_better
    assert "more than the best of so many trials" in str(found)
    assert seen[0].number == 0
    assert seen[0].crps == found.default_crps
    assert min(each.best for each in seen) == found.crps
    assert found.model is not None
    assert found.model.get_params()["lr"] == found.params["lr"]
    assert evaluate(found.model.predict_dist(X), y).r2 > 0.5
    assert bad.lr == 1e-6  # the model itself is left as it is
    assert not hasattr(bad, "predictor_")


def test_trials_run_side_by_side(ticking: None) -> None:
    X, y = table()
    waiting: list[int] = []

    def in_pairs(function: Any, items: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
        while pair := list(islice(items, 2)):
            waiting.append(len(pair))
            yield from [(item, function(item)) for item in reversed(pair)]

    found = tune(MODEL, X, y, minutes=0.3, folds=2, run=in_pairs, refit=False)
    assert waiting[0] == 1  # all others are compared with the first
    assert 2 in waiting
    assert found.trials + found.pruned == sum(waiting)
    assert found.crps <= found.default_crps


def test_a_trial_whose_worker_dies_is_told(ticking: None, tmp_path: Path) -> None:
    def dying(function: Any, items: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
        yield from ((item, None) for item in items)

    storage = f"sqlite:///{tmp_path / 'study.db'}"
    with pytest.raises(CalibrantError, match="A worker was killed twice"):
        tune(MODEL, *table(), minutes=0.3, folds=2, run=dying, storage=storage)
    found = tune(MODEL, *table(), minutes=1e-3, folds=2, storage=storage, refit=False)
    assert [each.state.name for each in found.study.trials[:2]] == ["FAIL", "COMPLETE"]


def test_what_is_no_better_changes_nothing(ticking: None) -> None:
    X, y = table()

    def worse(trial: Any, model: Any) -> dict[str, Any]:
        return {} if trial.number == 0 else {"lr": 1e-9 * trial.suggest_float("x", 1.0, 2.0)}

    seen: list[Progress] = []
    found = tune(MODEL, X, y, minutes=0.3, folds=3, space=worse, on_trial=seen.append)
    assert found.params == {}
    assert found.crps == found.default_crps
    assert not found.clearly_better
    assert "keep them" in found.verdict
    assert found.pruned == len(seen) - 1 > 0
    assert {each.folds for each in seen[1:]} == {1}  # given up after the first fold


@pytest.mark.slow
def test_goes_on_after_an_interrupt(tmp_path: Path, ticking: None) -> None:
    X, y = table()
    storage = f"sqlite:///{tmp_path / 'study.db'}"

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(MODEL, X, y, minutes=5.0, folds=2, storage=storage, on_trial=stop)
    plans: list[float] = []
    seen: list[Progress] = []
    found = tune(
        MODEL, X, y, minutes=0.12, folds=2, storage=storage, on_plan=plans.append,
        on_trial=seen.append, refit=False,
    )  # fmt: skip
    assert plans == []  # the first trial was kept
    assert seen[0].number == 1
    assert found.model is None
    assert len(found.study.trials) >= len(seen) + 1
    # Other folds, rows or settings are another study in the same file.
    other = tune(MODEL, X, y, minutes=1e-3, folds=3, storage=storage, refit=False)
    assert other.trials == 1


def test_interrupted_within_the_first_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table()
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    fit, calls = HeteroscedasticRegressor.fit, []

    def interrupted(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(self, *args, **options)

    monkeypatch.setattr(HeteroscedasticRegressor, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tune(MODEL, X, y, folds=3, storage=storage)
    found = tune(MODEL, X, y, minutes=1e-3, folds=3, storage=storage, refit=False)
    states = [trial.state.name for trial in found.study.trials[:2]]
    assert states == ["FAIL", "COMPLETE"]
    assert found.params == {}


def test_the_same_seed_gives_the_same_first_trial() -> None:
    X, y = table()
    runs = [tune(MODEL, X, y, minutes=1e-3, folds=2, refit=False).default_crps for _ in range(2)]
    assert runs[0] == runs[1]


def test_the_best_of_many_needs_a_larger_gain() -> None:
    """t(4) at 5% is 2.13 for one comparison and 5.0 at 5% / 13.5."""

    def result(tried: int) -> TuningResult:
        return TuningResult(
            params={"lr": 0.1},
            crps=0.97,
            default_crps=1.0,
            difference=Estimate(-0.03, 0.01, 5),
            trials=tried + 1,
            pruned=0,
            seconds=1.0,
            study=None,
        )

    assert result(1).clearly_better
    assert not result(40).clearly_better
    assert "within the noise of the folds" in result(40).verdict
    assert result(40).to_dict()["clearly_better"] is False


@pytest.mark.slow
def test_the_default_method_with_its_own_space() -> None:
    X, y = table(200)
    found = tune(MMDRegressor(quality="fast", device="cpu"), X, y, minutes=0.2, folds=2)
    assert found.trials + found.pruned >= 2
    assert found.crps <= found.default_crps


def test_bad_input() -> None:
    X, y = table()
    with pytest.raises(ParameterError, match="minutes must be above 0, got -1"):
        tune(MODEL, X, y, minutes=-1)
    with pytest.raises(ParameterError, match=r"such as MMDRegressor\(\), got str"):
        tune("mmd", X, y)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="nothing to predict"):
        tune(MODEL, X, np.ones(len(X)))
    with pytest.raises(ParameterError, match=r"space has to return \{\} for trial.number == 0"):
        tune(MODEL, X, y, space=lambda trial, model: {"lr": 0.1})

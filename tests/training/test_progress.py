"""What people see who wait."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from rich.console import Console

from calibrant import HeteroscedasticRegressor, LaplaceRegressor, QuantileNetworkRegressor
from calibrant.distributions import Normal
from calibrant.training import ProgressBar, Record, Rows, Stage
from calibrant.training.loop import take_snapshot
from calibrant.training.progress import Snapshot


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system=None, width=80)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def stage(**changes) -> Stage:
    settings = {
        "number": 2, "loss": None, "score": None, "epochs": 40, "batch_size": 32, "lr": 1e-2,
        "weight_decay": 0.0, "patience": 50, "name": "matching", "score_name": "CRPS",
    }  # fmt: skip
    return Stage(**(settings | changes))


def record(epoch: int) -> Record:
    return Record(stage=2, epoch=epoch, train_loss=0.25, validation_score=0.5, best=False)


def test_figures_of_the_last_epoch_stand_below_the_bar(console) -> None:
    u = torch.linspace(0.5, 1.0, 50)[None]  # all targets in the upper half
    with ProgressBar(console) as progress:
        progress.start(stage())
        progress.advance(stage(), record(10), 0.4321, lambda: Snapshot(u, None))
    text = shown(console)
    assert "Stage 2, matching" in text
    assert "10/40 epochs" in text
    assert "loss 0.2500   held out: CRPS 0.5000, best 0.4321" in text
    levels = np.arange(1, 100) / 100
    folded = np.abs(2 * u[0].numpy() - 1)
    ecpe = np.mean([abs(p - np.mean(folded <= p + 1e-9)) for p in levels])
    # The floor is about 0.316 / sqrt(50) = 0.0447.
    assert f"ECPE {ecpe:.3f}, floor 0.045" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_one_of_several_trainings_has_a_heading_and_vanishes(console) -> None:
    with ProgressBar(console, heading="Step 2 of 24, about 3 min left") as progress:
        progress.start(stage())
        progress.advance(stage(), record(10), 0.4321, None)
    text = shown(console)
    assert text.index("Step 2 of 24, about 3 min left") < text.index("10/40 epochs")
    assert text.endswith("\x1b[1A\x1b[2K")  # the lines are taken back


def test_crps_stands_beside_another_score_and_goes_with_its_stage(console) -> None:
    first = stage(number=1, name="likelihood", score_name="NLL")
    seen = iter(
        [Snapshot(torch.full((1, 50), 0.5), 0.1234), Snapshot(torch.full((1, 50), 0.5), None)]
    )
    with ProgressBar(console) as progress:
        for each in (first, stage()):
            progress.start(each)
            progress.advance(each, record(10), 0.4321, lambda: next(seen))
            progress._bars.refresh()
            assert len(progress._bars.figures) <= 80
    text = shown(console)
    assert "held out: NLL 0.5000, CRPS 0.1234   ECPE 0.5" in text
    assert "held out: CRPS 0.5000, best 0.4321   ECPE 0.5" in text


def test_calibration_is_looked_at_now_and_then_only(console) -> None:
    looks = []

    def look() -> Snapshot:
        looks.append(1)
        return Snapshot(torch.rand(1, 20), None)

    with ProgressBar(console) as progress:
        progress.start(stage())
        for epoch in range(1, 20):
            progress.advance(stage(), record(epoch), 0.4, look)
    assert len(looks) == 1


def test_an_early_end_fills_the_bar_and_takes_the_figures_away(console) -> None:
    with ProgressBar(console) as progress:
        progress.start(stage())
        progress.advance(stage(), record(7), 0.4, None)
        progress.finish(stage())
    last = shown(console).split("Stage 2")[-1]
    assert "7/7 epochs" in last
    assert "left" not in last
    assert "loss" not in last


@pytest.mark.parametrize(
    ("method", "name", "score"),
    [
        (LaplaceRegressor, "likelihood", "NLL"),
        (QuantileNetworkRegressor, "quantiles", "CRPS"),
    ],
)
def test_peers_say_what_they_do_and_show_calibration(method, name: str, score: str) -> None:
    rng = np.random.default_rng(0)
    model = method(epochs=2, hidden=(8,), random_state=0, device="cpu")
    model.fit(rng.normal(size=(60, 2)), rng.normal(size=60))
    rows = Rows(torch.zeros(5, 2), torch.linspace(-1, 1, 5), torch.ones(5))
    (stage,) = model._stages(rows)
    assert (stage.name, stage.score_name) == (name, score)
    with torch.no_grad():
        u = stage.pit(model.module_, rows)
        shown = take_snapshot(stage.pit, stage.crps, model.module_, rows)
        said = model.module_(rows.x)
    assert u.shape == (1, 5)
    torch.testing.assert_close(shown.pit, u.double())
    if score == "NLL":
        normal = Normal(said.mean[0].numpy(), said.stddev[0].numpy())
        assert shown.crps == pytest.approx(normal.crps(rows.y.numpy()).mean(), rel=1e-5)
    else:
        assert shown.crps is None
    assert torch.all((u > 0) & (u < 1) & (u.diff(prepend=u[:, :1] - 1) > 0))


def test_watching_does_not_change_the_model(capsys) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    settings = {"epochs": 3, "hidden": (8,), "random_state": 0}
    silent = HeteroscedasticRegressor(**settings).fit(X, y)
    watched = HeteroscedasticRegressor(**settings, verbose=True).fit(X, y)
    np.testing.assert_array_equal(silent.predict(X), watched.predict(X))
    assert "3/3 epochs" in capsys.readouterr().err

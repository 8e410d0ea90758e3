"""Training a copy of a network further, before its predictions are calibrated."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor, nn
from torch.distributions import Normal

from calibrant import calibrate, load_model
from calibrant.calibration import refine as refine_module
from calibrant.calibration.networks import NetworkSource
from calibrant.calibration.refine import best_spread, quantile_score, refine_network
from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.distributions import Normal as NormalRows
from calibrant.errors import ParameterError

LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]
OUTPUTS = {
    "mean": lambda m, s: m,
    "mean_scale": lambda m, s: (m, s),
    "quantiles": lambda m, s: Normal(m[:, None], s[:, None]).icdf(torch.tensor(LEVELS)),
}


class OneHead(nn.Module):
    """Says ``Normal(slope x0 + bias, scale)``; the truth is 2 x0, spread 0.2, or 1 for x1 > 0."""

    def __init__(self, output: str, slope: float = 1.7, bias: float = 0.2) -> None:
        super().__init__()
        self.body = nn.Linear(3, 2)
        self.head = nn.Linear(2, 2)
        with torch.no_grad():
            self.body.weight.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
            self.body.bias.zero_()
            self.head.weight.copy_(torch.tensor([[slope, 0.0], [0.0, 0.0]]))
            self.head.bias.copy_(torch.tensor([bias, np.log(0.3)]))
        self.output = output

    def forward(self, x: Tensor):
        mean, log_scale = self.head(self.body(x)).unbind(dim=1)
        return OUTPUTS[self.output](mean, log_scale.exp())


class Truth(nn.Module):
    """Returns the true quantiles, through layers that could learn something else."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2, 2)
        with torch.no_grad():
            self.head.weight.copy_(torch.eye(2))
            self.head.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.where(x[:, 1] > 0, 1.0, 0.2)
        mean, log_scale = self.head(torch.stack([2 * x[:, 0], scale.log()], dim=1)).unbind(dim=1)
        return OUTPUTS["quantiles"](mean, log_scale.exp())


def levels_of(output: str) -> list[float] | None:
    return LEVELS if output == "quantiles" else None


def refined(module: nn.Module, X: Array, y: Array, weights="head", output="quantiles"):
    """The source before and after."""
    source = NetworkSource.of(module, X, y, output=output, levels=levels_of(output), collate=None)
    return source, refine_network(source, X, y, np.arange(len(y)), weights, 0)


def error(source: NetworkSource, X: Array, y: Array) -> float:
    """CRPS, or the squared error of points."""
    made = source.predict(X)
    score = made.crps(y) if isinstance(made, Distribution) else (made - y) ** 2
    return float(np.mean(score))


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("weights", ["head", "all"])
def test_a_network_that_is_off_gets_better_on_fresh_rows(output, weights, rows, fresh) -> None:
    before, after = refined(OneHead(output), *rows[:2], weights, output)
    assert error(after, *fresh[:2]) < error(before, *fresh[:2])
    moved = not torch.equal(before.module.body.weight, after.module.body.weight)
    assert moved == (weights == "all")


def test_points_that_are_off_cost_less_crps_once_they_are_refined(rows, fresh, quick) -> None:
    crps = {}
    for refine in (None, "head"):
        model = calibrate(OneHead("mean"), *rows[:2], refine=refine, learner=quick)
        crps[refine] = model.predict_dist(fresh[0]).crps(fresh[1]).mean()
    truth = NormalRows(2 * fresh[0][:, 0], fresh[2]).crps(fresh[1]).mean()
    assert truth < crps["head"] < 0.98 * crps[None]


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_makes_held_out_rows_worse_is_rolled_back(output, rows, monkeypatch) -> None:
    monkeypatch.setattr(refine_module, "_LR", {"head": 10.0, "all": 10.0})
    before, after = refined(OneHead(output, 2.0, 0.0), *rows[:2], "all", output)
    for old, new in zip(before.module.parameters(), after.module.parameters(), strict=True):
        assert torch.equal(old, new)


def test_the_truth_stays_nearly_as_good(rows, fresh) -> None:
    for n_rows in (120, 600):
        before, after = refined(Truth(), rows[0][:n_rows], rows[1][:n_rows])
        # Ten other draws of 120 rows lose 0.03% on average, and 0.3% at most.
        assert error(after, *fresh[:2]) < 1.005 * error(before, *fresh[:2])


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("refine", ["head", "all"])
def test_the_users_module_stays_bit_identical(output, refine, rows) -> None:
    module = OneHead(output).train()
    before = copy.deepcopy(module.state_dict())
    X, y = (part[:150] for part in rows[:2])
    calibrate(module, X, y, output=output, levels=levels_of(output), refine=refine)
    assert module.training
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert all(parameter.grad is None for parameter in module.parameters())
    for name, weight in module.state_dict().items():
        assert torch.equal(weight, before[name])


@pytest.mark.parametrize("refine", ["head", "all"])
def test_refined_weights_are_saved(refine, rows, tmp_path) -> None:
    module = OneHead("quantiles").double()
    X, y = (part[:150] for part in rows[:2])
    model = calibrate(module, X, y, levels=LEVELS, refine=refine)
    for name in ("once", "twice"):
        model.save(tmp_path / name)
        again = load_model(tmp_path / name, model=module)
        np.testing.assert_array_equal(again.predict_quantiles(X), model.predict_quantiles(X))
        model = again
    for other in (nn.Linear(3, 5), nn.ModuleDict({"head": nn.Linear(3, 5)})):
        with pytest.raises(ParameterError, match="Pass the network that was calibrated"):
            load_model(tmp_path / "once", model=other)


def test_quantiles_that_cross_after_the_training_are_sorted() -> None:
    source = NetworkSource(nn.Flatten(), "quantiles", [0.1, 0.5], refined=("weight",))
    assert source.predict(np.array([[3.0, 1.0]])).ppf([0.1, 0.5]).round(6).tolist() == [[1.0, 3.0]]


def test_the_spread_of_points_has_the_least_crps() -> None:
    residuals = np.random.default_rng(0).standard_t(3, size=400)

    def crps(spread: float) -> float:
        return float(NormalRows(np.zeros(400), np.full(400, spread)).crps(residuals).mean())

    best = minimize_scalar(crps, bounds=(0.1, 10.0), method="bounded").x
    assert best_spread(residuals) == pytest.approx(best, rel=1e-4)
    assert best_spread(1e-9 * residuals) == pytest.approx(1e-9 * best, rel=1e-4)
    assert best_spread(np.zeros(3)) == 1.0
    assert best_spread(np.append(np.zeros(9), 5.0)) == pytest.approx(0.005)  # most points are exact


def test_the_score_of_many_quantiles_is_the_crps() -> None:
    level = np.arange(1, 1000) / 1000
    dist = NormalRows(np.zeros(5), np.ones(5))
    y = np.linspace(-2, 2, 5)
    score = quantile_score(torch.as_tensor(dist.ppf(level)), torch.as_tensor(y), level)
    assert float(score) == pytest.approx(dist.crps(y).mean(), rel=1e-3)


class Unused(OneHead):
    """Registers a layer after the head that its output does not use."""

    def __init__(self) -> None:
        super().__init__("mean")
        self.later = nn.Linear(2, 2)


class HeavyTails(OneHead):
    """Returns a distribution whose CRPS has no closed form in torch."""

    def forward(self, x: Tensor):
        return torch.distributions.StudentT(4.0, *super().forward(x))


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (
            OneHead("mean_scale"),
            {"refine": "tail", "output": "mean_scale"},
            'refine must be "head", "all" or None',
        ),
        (Unused(), {"refine": "head"}, 'does not depend on .* Use refine="all"'),
        (
            HeavyTails("mean_scale"),
            {"refine": "all"},
            "a StudentT has none. Return a Normal, a mixture",
        ),
        (nn.Flatten(), {"refine": "all", "levels": [0.1, 0.5, 0.9]}, "no parameters that refine"),
    ],
)
def test_what_cannot_be_refined(module, options, message, rows) -> None:
    with pytest.raises(ParameterError, match=message):
        calibrate(module, np.sort(rows[0], axis=1), rows[1], **options)

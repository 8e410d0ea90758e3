"""Trained torch modules: every kind of output, refused where it makes no sense."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import (
    Categorical,
    Independent,
    Laplace,
    MixtureSameFamily,
    Normal,
    Poisson,
    StudentT,
)

from calibrant import calibrate
from calibrant.calibration.torch_distributions import from_torch
from calibrant.distributions import Mixture
from calibrant.distributions import Normal as NormalRows
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import coverage

LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]


class Truth(nn.Module):
    """Knows the mean, 2 x0, and claims a standard deviation that is four times too small."""

    def __init__(self, answer, scale: float = 0.15) -> None:
        super().__init__()
        self.line = nn.Linear(3, 1, bias=False)
        self.spread = nn.Linear(3, 1)
        with torch.no_grad():
            self.line.weight.copy_(torch.tensor([[2.0, 0.0, 0.0]]))
            self.spread.weight.zero_()
            self.spread.bias.fill_(float(np.log(scale)))
        self.answer = answer

    def forward(self, x: torch.Tensor):
        return self.answer(self.line(x)[:, 0], self.spread(x)[:, 0].exp())


def quantiles(mean, scale):
    return Normal(mean[:, None], scale[:, None]).icdf(torch.tensor(LEVELS))


def two(mean, scale):
    parts = torch.stack([mean, mean], dim=1), torch.stack([scale, 2 * scale], dim=1)
    return torch.full_like(parts[0], 0.5), *parts


OUTPUTS = {
    "mean": lambda m, s: m[:, None],
    "mean_logvar": lambda m, s: torch.stack([m, 2 * s.log()], dim=1),
    "mean_scale": lambda m, s: (m, s),
    "distribution": Normal,
    "mixture": two,
    "mixture_logits": lambda m, s: (two(m, s)[0].log(), two(m, s)[1], two(m, s)[2].log()),
    "quantiles": quantiles,
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("named", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_output_is_read_and_calibrated(output, named, rows, fresh, quick) -> None:
    X, y, _ = rows
    model = calibrate(
        # Detected only if the targets speak for it.
        Truth(OUTPUTS[output], scale=0.15 if named else 0.6),
        X[:400],
        y[:400],
        output=output if named else None,
        levels=LEVELS if output == "quantiles" else None,
        learner=quick,
    )
    assert model.source.output == output
    dist = model.predict_dist(fresh[0])
    assert abs(coverage(dist, fresh[1], coverage=0.8) - 0.8) < 0.08
    assert np.corrcoef(model.predict(fresh[0]), 2 * fresh[0][:, 0])[0, 1] > 0.98


def test_training_the_module_later_does_not_change_the_model(rows, fresh, quick) -> None:
    X, y, _ = rows
    module = Truth(OUTPUTS["mean"])
    model = calibrate(module, X, y, learner=quick)
    before = model.predict(fresh[0])
    with torch.no_grad():
        module.line.weight.zero_()
    np.testing.assert_array_equal(model.predict(fresh[0]), before)


class TwoInputs(nn.Module):
    """Reads an image, (n, 1, 2, 2), and a table, (n, 2)."""

    def forward(self, image: torch.Tensor, table: torch.Tensor):
        return 2 * table[:, 0] + 0 * image.mean(dim=(1, 2, 3))


@pytest.mark.slow
def test_several_inputs(rows, quick) -> None:
    X, y = (part[:500] for part in rows[:2])
    as_dict = {"image": np.zeros((500, 1, 2, 2)), "table": X}
    by_name = calibrate(TwoInputs(), as_dict, y, learner=quick)
    assert list(by_name.features(as_dict)) == ["table x0", "table x1", "table x2"]
    assert by_name.chosen == "given features and prediction"
    as_tuple = (as_dict["image"], as_dict["table"])
    by_position = calibrate(TwoInputs(), as_tuple, y, learner=quick)
    hooked = calibrate(
        TwoInputs(),
        X,
        y,
        collate=lambda table: {"image": torch.zeros(len(table), 1, 2, 2), "table": table},
        learner=quick,
    )
    samples = [{"image": np.zeros((1, 2, 2)), "table": row} for row in X]
    from_set = calibrate(TwoInputs(), samples, y, learner=quick)
    for model, inputs in (
        (by_name, as_dict), (by_position, as_tuple), (hooked, X), (from_set, samples),
    ):  # fmt: skip
        np.testing.assert_allclose(model.predict(inputs), 2 * X[:, 0], rtol=1e-6)
        assert len(model.predict_dist(inputs)) == 500


def test_samples_of_inputs_of_different_shapes(rows, quick) -> None:
    X, y = (part[:100] for part in rows[:2])
    samples = [(torch.zeros(1, 2, 2), torch.as_tensor(row)) for row in X]
    model = calibrate(TwoInputs(), samples, y, learner=quick)
    assert model.features(samples) is None
    np.testing.assert_allclose(model.predict(samples), 2 * X[:, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (lambda m, s: (m, -s), {"output": "mean_scale"}, "scales above 0, but 1024 of 1024"),
        (lambda m, s: (m, 1e4 * s), {"output": "mean_scale"}, "no matter of calibration"),
        (lambda m, s: (m, s - 30), {"output": "mean_logvar"}, "no matter of calibration"),
        (lambda m, s: 1e3 + m, {}, "predicts another quantity"),
        (lambda m, s: m / 0, {}, "predicts NaN or infinity"),
        (lambda m, s: (m, s / 0), {"output": "mean_scale"}, "predicts NaN or infinity"),
        (lambda m, s: quantiles(m, s).flip(1), {"levels": LEVELS}, "Quantiles must not cross"),
        (lambda m, s: m[:7], {}, "predicts 14 rows for 1200"),
        (lambda m, s: two(m, s)[::-1], {"output": "mixture"}, "sum to 1 in every row"),
    ],
)
def test_nonsense_is_refused(answer, options, message, rows) -> None:
    with pytest.raises(DataError, match=message):
        calibrate(Truth(answer), rows[0], rows[1], **options)


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (OUTPUTS["mean"], {"output": "variance"}, "output must be one of mean, mean_logvar"),
        (quantiles, {}, "Can't tell what the network's output is: a tensor"),
        (quantiles, {"output": "quantiles"}, "needs levels="),
        (quantiles, {"levels": [0, 0.3, 0.5, 0.7, 1]}, r"inside \(0, 1\)"),
        (OUTPUTS["mean"], {"output": "mean_scale"}, "needs a tuple of two"),
        (OUTPUTS["mean"], {"output": "mixture"}, r"needs a tuple \(weights, means, scales\)"),
        (OUTPUTS["mean_scale"], {"output": "mean"}, "needs one tensor"),
        (OUTPUTS["mean"], {"output": "distribution"}, "needs a torch.distributions object"),
        (lambda m, s: m + torch.rand(len(m)), {}, "something else when it is asked again"),
    ],
)
def test_wrong_arguments_are_refused(answer, options, message, rows) -> None:
    with pytest.raises(ParameterError, match=message):
        calibrate(Truth(answer), rows[0], rows[1], **options)


@pytest.mark.parametrize("output", ["mean_scale", "mixture"])
def test_overconfident_scales_are_not_taken_for_logarithms(output, rows) -> None:
    X, y, _ = rows  # with a log-variance of 0.15, the targets would be more likely
    with pytest.raises(ParameterError, match=f"could be '{output}' or"):
        calibrate(Truth(OUTPUTS[output]), X, y)


@pytest.mark.parametrize("unit", [0.1, 10.0])
def test_variances_are_not_taken_for_scales(unit, rows) -> None:
    X, y, _ = rows

    def variances(mean, scale):
        return unit * mean, (unit * scale) ** 2

    with pytest.raises(ParameterError, match="could be 'mean_scale'"):
        calibrate(Truth(variances, scale=0.6), X, unit * y)


def test_tables_that_are_no_numbers(rows) -> None:
    X = rows[0].astype(object)
    X[0, 0] = "text"
    with pytest.raises(DataError, match="or a collate function"):
        calibrate(Truth(OUTPUTS["mean"]), X, rows[1])


def test_torch_distributions_become_ours() -> None:
    torch.manual_seed(0)
    loc, scale = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0])
    level = np.array([0.05, 0.5, 0.9])
    nested = Independent(Normal(loc[:, None], scale[:, None]), 1)
    assert isinstance(from_torch(nested), NormalRows)
    mixed = MixtureSameFamily(
        Categorical(probs=torch.full((2, 2), 0.5)),
        Normal(torch.stack([loc, loc + 3], 1), torch.stack([scale, scale], 1)),
    )
    assert isinstance(from_torch(mixed), Mixture)
    for dist in (StudentT(torch.tensor([4.0, 5.0]), loc, scale), Laplace(loc, scale)):
        ours = from_torch(dist)
        drawn = dist.sample((200_000,)).numpy()
        np.testing.assert_allclose(ours.ppf(level), np.quantile(drawn, level, axis=0).T, atol=0.06)
    with pytest.raises(ParameterError, match="Poisson has no quantile function"):
        from_torch(Poisson(scale))

"""The deep Gaussian process: against the truth, against GPyTorch, and its own rules."""

from __future__ import annotations

import builtins
import copy
import subprocess
import sys
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch

from calibrant.distributions import Mixture
from calibrant.errors import MissingDependencyError, ParameterError
from calibrant.estimators import DeepGPRegressor, Training
from calibrant.networks.deep_gp import DeepGaussianProcess, _unchecked_cholesky

QUICK: dict[str, Any] = {"epochs": 4, "inducing": 8, "random_state": 0, "device": "cpu"}
NOISE = 0.2


def truth(X: np.ndarray) -> np.ndarray:
    return np.sin(2 * X[:, 0]) + 5.0


def smooth_data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, truth(X) + NOISE * rng.normal(size=n)


def table(n: int = 60, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def smooth_model() -> DeepGPRegressor:
    return DeepGPRegressor(
        inducing=16, epochs=75, batch_size=80, lr=2e-2, random_state=0, device="cpu"
    ).fit(*smooth_data(500, seed=0))


@pytest.fixture(scope="module")
def quick_model() -> DeepGPRegressor:
    return DeepGPRegressor(**QUICK).fit(*table())


def random_process(n_inputs: int, widths: list[int], inducing: int) -> DeepGaussianProcess:
    torch.manual_seed(0)
    process = DeepGaussianProcess(n_inputs, widths, inducing).double()
    points, x = torch.randn(inducing, n_inputs).double(), torch.randn(50, n_inputs).double()
    process.start_at(points, x, mean=0.3, spread=1.2)
    for layer in (*process.hidden, process.output):
        q = layer.variational_strategy._variational_distribution
        q.variational_mean.data.normal_()
        q.chol_variational_covar.data.normal_().mul_(0.3).diagonal(dim1=-2, dim2=-1).add_(0.5)
    return process


# ---- the truth ------------------------------------------------------------------------------


@pytest.mark.slow
def test_recovers_mean_spread_and_coverage(smooth_model) -> None:
    X, y = smooth_data(2000, seed=1)
    dist = smooth_model.predict_dist(X)
    assert isinstance(dist.base if hasattr(dist, "base") else dist, Mixture)
    assert np.sqrt(np.mean((dist.mean - truth(X)) ** 2)) < 0.4 * NOISE
    assert np.mean(dist.stddev) == pytest.approx(NOISE, rel=0.2)
    low, high = dist.interval(0.9).T
    assert np.mean((low < y) & (y < high)) == pytest.approx(0.9, abs=0.05)
    # At best the NLL is the entropy of the noise, here -0.19.
    assert -dist.log_prob(y).mean() < 0.5 * np.log(2 * np.pi * np.e * NOISE**2) + 0.05


def test_parts_of_the_variance(smooth_model) -> None:
    dist = smooth_model.predict_dist(smooth_data(50, seed=2)[0])
    unit = float(smooth_model.predictor_.target.scale) ** 2
    noise = smooth_model.module_.single.noise.item() * unit
    np.testing.assert_allclose(dist.aleatoric, noise, rtol=1e-6)
    np.testing.assert_allclose(dist.aleatoric + dist.epistemic, dist.variance)
    far = smooth_model.predict_dist(np.array([[30.0]]))
    assert far.epistemic[0] > 3 * dist.epistemic.mean()


# ---- GPyTorch -------------------------------------------------------------------------------


class ExactGP(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def exact_posterior(x, y, at, *, steps: int, start=None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the target by the exact GP, fitted or at given values."""
    x, y, at = (torch.as_tensor(each) for each in (x, y, at))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = ExactGP(x, y, likelihood).double()
    if start is not None:
        model.mean_module.constant = start.output.mean_module.constant[0].item()
        model.covar_module.base_kernel.lengthscale = (
            start.output.covar_module.base_kernel.lengthscale.item()
        )
        model.covar_module.outputscale = start.output.covar_module.outputscale.item()
        likelihood.noise = start.noise.item()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    model.train()
    for _ in range(steps):
        optimiser.zero_grad()
        (-objective(model(x), y)).backward()
        optimiser.step()
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        answer = likelihood(model(at))
    return answer.mean.numpy(), answer.stddev.numpy()


@pytest.mark.slow
def test_agrees_with_the_exact_gp_on_a_tiny_set() -> None:
    X, y = smooth_data(60, seed=0)
    at = np.linspace(-2.8, 2.8, 40)[:, None]
    model = DeepGPRegressor(
        inducing=30,
        epochs=250,
        training=Training(patience=250),
        batch_size=60,
        lr=3e-2,
        random_state=0,
        device="cpu",
    ).fit(X, y, validation_data=(X, y))
    mean, stddev = exact_posterior(X, y - 5.0, at, steps=60)
    dist = model.predict_dist(at)
    assert np.sqrt(np.mean((dist.mean - (mean + 5.0)) ** 2)) < 0.5 * NOISE
    assert np.mean(dist.stddev) == pytest.approx(np.mean(stddev), rel=0.25)


def test_without_hidden_layers_it_is_the_exact_gp_of_its_own_kernel() -> None:
    # Inducing points at all rows lose nothing: the best q(u) is the exact posterior.
    X, y = smooth_data(30, seed=0)
    model = DeepGPRegressor(
        hidden_layers=0,
        epochs=300,
        training=Training(patience=300),
        batch_size=30,
        lr=3e-2,
        random_state=0,
        device="cpu",
    ).fit(X, y, validation_data=(X, y))
    assert model.predictor_.specs[0].inducing == 30
    at = np.linspace(-2.8, 2.8, 40)[:, None]
    scale_x, scale_y = model.predictor_.features.scaler, model.predictor_.target
    mean, stddev = exact_posterior(
        scale_x.transform(X),
        scale_y.transform(y),
        scale_x.transform(at),
        steps=0,
        start=model.module_.single,
    )
    dist = model.predict_dist(at)
    np.testing.assert_allclose((dist.mean - scale_y.loc) / scale_y.scale, mean, atol=0.06)
    np.testing.assert_allclose(dist.stddev / scale_y.scale, stddev, rtol=0.06)


def test_moments_are_those_of_gpytorch() -> None:
    layer = random_process(3, [2], 10).hidden[0].eval()
    x = torch.randn(20, 3).double()
    q = layer(x)
    mean, variance = layer.moments(x)
    torch.testing.assert_close(mean, q.mean.mT, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(variance, q.variance.mT, rtol=1e-6, atol=1e-8)


def test_bound_and_gradient_are_those_of_gpytorch() -> None:
    process = random_process(3, [], 10).train()
    x, y = torch.randn(40, 3).double(), torch.randn(40).double()
    ours = process.elbo(x, y, torch.ones(40).double(), samples=1, n_rows=200)
    objective = gpytorch.mlls.VariationalELBO(process.likelihood, process.output, num_data=200)
    theirs = objective(process.output(x), y)
    torch.testing.assert_close(ours, theirs.sum(), rtol=1e-8, atol=1e-8)
    parameters = list(process.parameters())
    for a, b in zip(
        torch.autograd.grad(ours, parameters),
        torch.autograd.grad(theirs.sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-8)


def test_divergence_of_all_layers_is_that_of_gpytorch() -> None:
    process = random_process(3, [2, 2], 10)
    ours = sum(layer.divergence() for layer in (*process.hidden, process.output))
    torch.testing.assert_close(ours, process.variational_strategy.kl_divergence())


# ---- the rules of an estimator --------------------------------------------------------------


def test_rows_do_not_depend_on_their_neighbours(quick_model) -> None:
    X = np.random.default_rng(1).normal(size=(700, 3))  # more than one evaluation holds
    whole = quick_model.predict_dist(X)
    some = quick_model.predict_dist(X[[650, 3]])
    np.testing.assert_allclose(some.mean, whole.mean[[650, 3]], rtol=1e-10)
    np.testing.assert_allclose(some.stddev, whole.stddev[[650, 3]], rtol=1e-10)


def test_same_seed_same_result_and_predictions_repeat(quick_model) -> None:
    X, y = table()
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    again = DeepGPRegressor(**QUICK).fit(X, y)
    first = again.predict_dist(X).ppf(0.9)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(quick_model.predict_dist(X).ppf(0.9), first)
    np.testing.assert_array_equal(again.predict_dist(X).ppf(0.9), first)
    other = DeepGPRegressor(**(QUICK | {"random_state": 1})).fit(X, y)
    assert not np.array_equal(other.predict(X), again.predict(X))


def test_save_and_load_are_bit_identical(quick_model, tmp_path) -> None:
    X, _ = table()
    quick_model.save(tmp_path / "model")
    loaded = DeepGPRegressor.load(tmp_path / "model")
    assert loaded.predictor_.specs == quick_model.predictor_.specs
    assert repr(loaded.get_params()) == repr(quick_model.get_params())
    before, after = quick_model.predict_dist(X), loaded.predict_dist(X)
    for name in ("mean", "stddev", "epistemic"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    np.testing.assert_array_equal(after.ppf([0.1, 0.9]), before.ppf([0.1, 0.9]))


def test_weights_move_the_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    upper = np.arange(200) % 2 == 0
    y = np.where(upper, 1.0, -1.0) + 0.1 * rng.normal(size=200)
    means = [
        DeepGPRegressor(**QUICK | {"epochs": 25, "batch_size": 40, "lr": 3e-2})
        .fit(X, y, sample_weight=np.where(upper, high, low))
        .predict(X)
        .mean()
        for high, low in ((9.0, 1.0), (1.0, 9.0))
    ]
    assert means[0] == pytest.approx(0.8, abs=0.15)
    assert means[1] == pytest.approx(-0.8, abs=0.15)


def test_a_weight_of_two_is_the_row_twice_in_the_bound() -> None:
    process = random_process(2, [], 6)
    x, y = torch.randn(10, 2).double(), torch.randn(10).double()
    weight = torch.tensor([2.0, 1.0] * 5).double()
    twice = torch.arange(10).repeat_interleave(weight.long())
    ones = torch.ones(15).double()
    # Weights have mean 1, as the base class scales them; the divergence is per row.
    weighted = process.elbo(x, y, weight / 1.5, samples=1, n_rows=30)
    repeated = process.elbo(x[twice], y[twice], ones, samples=1, n_rows=30)
    torch.testing.assert_close(weighted, repeated)


def test_widths_and_inducing_points() -> None:
    X, y = table(d=12)
    model = DeepGPRegressor(**QUICK).fit(X, y)
    assert model.module_.single.widths == (10, 10)
    wide = DeepGPRegressor(**QUICK, hidden_dims=14, hidden_layers=1, training_samples=3).fit(X, y)
    assert wide.module_.single.widths == (14,)
    assert np.isfinite(wide.predict(X)).all()
    repeated = np.repeat(X[:10], 5, axis=0)
    few = DeepGPRegressor(**(QUICK | {"inducing": 50})).fit(repeated, np.repeat(y[:10], 5))
    assert few.predictor_.specs[0].inducing <= 10


def test_learns_from_nearly_collinear_inputs() -> None:
    # Twelve readings of one quantity that differ by little, and the little is the target.
    rng = np.random.default_rng(0)
    small = 0.02 * rng.normal(size=(400, 9))
    X = rng.normal(size=(400, 1)) + small @ rng.normal(size=(9, 12)) / 3
    y = small[:, 0] / 0.02
    settings = QUICK | {"inducing": 32, "epochs": 40, "batch_size": 50}
    model = DeepGPRegressor(**settings).fit(X[:300], y[:300])
    assert np.sqrt(np.mean((model.predict(X[300:]) - y[300:]) ** 2)) < 0.6


def test_principal_components_start_at_unit_variance() -> None:
    torch.manual_seed(0)
    x = torch.randn(200, 1).double() + 0.02 * torch.randn(200, 12).double()
    x[:, 3:] = x[:, :1]  # three components, the others are constant
    process = DeepGaussianProcess(12, [10, 10], 8)
    process.start_at(x[:8], x, mean=0.0, spread=1.0)
    spread = process.hidden[0].mean_module(x).std(dim=1)
    expected = torch.tensor([1.0] * 3 + [0.0] * 7).double()
    torch.testing.assert_close(spread, expected, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(
        process.hidden[1].mean_module.weights[..., 0], torch.eye(10).double()
    )


def test_fitted_models_can_be_copied(quick_model) -> None:
    X, _ = table()
    np.testing.assert_array_equal(copy.deepcopy(quick_model).predict(X), quick_model.predict(X))


# ---- errors ---------------------------------------------------------------------------------


def test_says_what_to_install_without_gpytorch(monkeypatch) -> None:
    real_import = builtins.__import__

    def without_gpytorch(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "gpytorch":
            raise ModuleNotFoundError("No module named 'gpytorch'", name="gpytorch")
        return real_import(name, *args, **kwargs)

    import calibrant.networks

    monkeypatch.delitem(sys.modules, "calibrant.networks.deep_gp")
    monkeypatch.delattr(calibrant.networks, "deep_gp")
    monkeypatch.setattr(builtins, "__import__", without_gpytorch)
    with pytest.raises(MissingDependencyError, match=r"pip install calibrant\[gp\]"):
        DeepGPRegressor(**QUICK).fit(*table())


@pytest.mark.slow
def test_importing_the_estimator_does_not_import_gpytorch() -> None:
    code = "import sys, calibrant.estimators.deep_gp; sys.exit('gpytorch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inducing": 0}, "'inducing' parameter of DeepGPRegressor must be .* Got 0"),
        ({"training_samples": 0}, "'training_samples' parameter .* Got 0"),
        ({"prediction_samples": 0}, "'prediction_samples' parameter .* Got 0"),
        ({"hidden_layers": -1}, "'hidden_layers' parameter .* Got -1"),
        ({"hidden_dims": 0}, "'hidden_dims' parameter .* Got 0"),
        ({"hidden_dims": "wide"}, "Got 'wide'"),
        ({"lr": 0.0}, "'lr' parameter .* Got 0.0"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        DeepGPRegressor(**(QUICK | parameters)).fit(*table())


def test_it_has_no_parameters_of_networks() -> None:
    parameters = DeepGPRegressor().get_params()
    assert not parameters.keys() & {"network", "hidden", "dropout", "periodic"}


def test_a_broken_kernel_says_what_to_change() -> None:
    process = random_process(2, [2], 6)
    process.output.covar_module.raw_outputscale.data.fill_(torch.nan)
    with pytest.raises(ParameterError, match=r"Training diverged.*Lower lr"):
        process.outputs(torch.randn(3, 2).double(), samples=2)


def test_a_factor_that_nobody_looks_at_is_the_factor_or_no_number() -> None:
    good = torch.tensor([[2.0, 1.0], [1.0, 2.0]])
    torch.testing.assert_close(_unchecked_cholesky(good), torch.linalg.cholesky(good))
    bad = torch.tensor([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert _unchecked_cholesky(bad).isnan().all()

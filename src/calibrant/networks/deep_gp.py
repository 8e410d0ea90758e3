"""Deep Gaussian process on GPyTorch (extra `gp`), which this module imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from gpytorch.constraints import GreaterThan
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, Mean
from gpytorch.models import ApproximateGP
from gpytorch.models.deep_gps import DeepGP
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy
from linear_operator.utils.cholesky import psd_safe_cholesky
from linear_operator.utils.errors import NanError, NotPSDError
from torch import Tensor, nn

from calibrant.errors import ParameterError
from calibrant.networks.heads import GaussianHead

# The same for training and prediction: inducing values are whitened with it, so another value would
# give another function.
_JITTER = 1e-4
_LEAST_NOISE = 1e-4  # variance of the likelihood, in units of the scaled target
# Initial values. The noise is large: with little, the spread shrinks before the mean has learned
# anything, and the first epochs do harm. q(u) is narrow, so that hidden layers start close to their
# mean functions and pass the inputs on to the layers above.
_FIRST_NOISE = 0.5  # as a share of the target's variance
_FIRST_SPREAD_HIDDEN, _FIRST_SPREAD_OUTPUT = 0.01, 0.1
_CONSTANT = 1e-3  # largest standard deviation of scaled inputs that count as constant
_ROWS_AT_ONCE = 1 << 13  # samples times rows of one prediction, to bound memory


class GPLayer(ApproximateGP):  # type: ignore[misc]
    """Independent sparse GPs with one kernel and one set of inducing points.

    One kernel per layer, as in Salimbeni and Deisenroth (2017), needs one Cholesky factor for all
    outputs; GPyTorch's ``DeepGPLayer`` needs one for each. Calling the layer gives GPyTorch's q(f)
    with the full covariance; `moments` and `divergence` are the fast twins for training, without
    lazy operators and without caches that outlive the weights.

    Parameters
    ----------
    n_inputs : int
    n_outputs : int
    inducing : int
    mean : gpytorch.means.Mean
        Mean function of batch shape (n_outputs,).
    """

    def __init__(self, n_inputs: int, n_outputs: int, inducing: int, mean: Mean) -> None:
        q = CholeskyVariationalDistribution(inducing, batch_shape=torch.Size([n_outputs]))
        start = torch.zeros(inducing, n_inputs)
        strategy = VariationalStrategy(self, start, q, jitter_val=_JITTER)
        strategy.variational_params_initialized.fill_(1)  # `start_at` initialises q(u)
        super().__init__(strategy)
        self.mean_module = mean
        self.covar_module = ScaleKernel(RBFKernel(ard_num_dims=n_inputs))

    def forward(self, x: Tensor) -> MultivariateNormal:
        """Prior at inputs (n, n_inputs), of batch shape (n_outputs,)."""
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of q(f), each (n, n_outputs), at inputs (n, n_inputs).

        With ``L L' = K_ZZ``, ``A = L^-1 K_Zx`` and ``q(u) = N(L m, L S S' L')``, the mean is
        ``prior + A' m`` and the variance ``k(x, x) - |A|^2 + |S' A|^2``.
        """
        points = self.variational_strategy.inducing_points
        mean, root = self._whitened()  # (n_outputs, m), (n_outputs, m, m)
        scale, lengths = self.covar_module.outputscale, self.covar_module.base_kernel.lengthscale
        points = points / lengths
        factor = _cholesky(scale * _correlations(points, points))
        across = scale * _correlations(points, x / lengths)
        a = torch.linalg.solve_triangular(factor, across, upper=False)  # (m, n)
        known = a.square().sum(dim=0)
        added = (root.mT @ a).square().sum(dim=1)  # (n_outputs, n)
        variance = (scale + _JITTER - known).clamp_min(_JITTER) + added
        return (self.mean_module(x) + mean @ a).mT, variance.mT

    def divergence(self) -> Tensor:
        """KL divergence of q(u) from the prior, summed over outputs, a scalar."""
        mean, root = self._whitened()
        log_det = 2.0 * root.diagonal(dim1=-2, dim2=-1).abs().log().sum()
        return 0.5 * (root.square().sum() + mean.square().sum() - log_det - mean.numel())

    def _whitened(self) -> tuple[Tensor, Tensor]:
        q = self.variational_strategy._variational_distribution
        return q.variational_mean, q.chol_variational_covar.tril()

    @torch.no_grad()
    def start_at(self, points: Tensor, spread: float, scale: float) -> None:
        """Initialise inducing points (m, n_inputs), the spread of q(u) and that of the function."""
        self.variational_strategy.inducing_points.copy_(points)
        q = self.variational_strategy._variational_distribution
        q.chol_variational_covar.copy_(spread * torch.eye(len(points), device=points.device))
        # Points of d dimensions are sqrt(2 d) standard deviations apart.
        width = points.std(dim=0) if len(points) > 1 else torch.ones_like(points[0])
        width = torch.where(width > _CONSTANT, width, 1.0) * points.shape[1] ** 0.5
        self.covar_module.base_kernel.lengthscale = width
        self.covar_module.outputscale = scale**2


class DeepGaussianProcess(DeepGP):  # type: ignore[misc]
    """Deep GP with Gaussian noise and doubly stochastic inference.

    A sample s passes through the layers by ``h_{l+1} = mean_l(h_l) + sqrt(var_l(h_l)) eps_{s,l}``
    (Salimbeni and Deisenroth 2017, equation 15), with the mean and variance of each row.

    Parameters
    ----------
    n_inputs : int
    widths : sequence of int
        Outputs of the hidden layers.
    inducing : int
        Inducing points of each layer.
    """

    def __init__(self, n_inputs: int, widths: Sequence[int], inducing: int) -> None:
        super().__init__()
        self.head = GaussianHead()
        self.widths = tuple(widths)
        ins = [n_inputs, *widths]
        self.hidden = nn.ModuleList(
            GPLayer(d, k, inducing, LinearMean(d, batch_shape=torch.Size([k])))
            for d, k in zip(ins[:-1], widths, strict=True)
        )
        top = ConstantMean(batch_shape=torch.Size([1]))
        self.output = GPLayer(ins[-1], 1, inducing, top)
        self.likelihood = GaussianLikelihood(noise_constraint=GreaterThan(_LEAST_NOISE))
        # In float32, solves lose all digits where inducing points come close to each other, and
        # training ends in NaN.
        self.double()

    @property
    def noise(self) -> Tensor:
        """Variance of the likelihood, a scalar."""
        noise: Tensor = self.likelihood.noise[0]
        return noise

    @torch.no_grad()
    def start_at(self, points: Tensor, x: Tensor, mean: float, spread: float) -> None:
        """Initialise everything that is trained.

        Mean functions of hidden layers start as the identity, or as the leading principal
        components, scaled to unit variance, where a layer is narrower than its input.

        Parameters
        ----------
        points : tensor of shape (m, n_inputs)
            Inducing points of the first layer; those of other layers are their images.
        x : tensor of shape (n, n_inputs)
            Scaled inputs.
        mean, spread : float
            Mean and standard deviation of the scaled target.
        """
        for layer in self._hidden_layers():
            weights = _linear_start(x, len(layer.mean_module.weights))  # (n_inputs, n_outputs)
            layer.mean_module.weights.copy_(weights.T[..., None])
            layer.mean_module.bias.zero_()
            layer.start_at(points, _FIRST_SPREAD_HIDDEN, 1.0)
            points, x = points @ weights, x @ weights
        self.output.start_at(points, _FIRST_SPREAD_OUTPUT, spread)
        self.output.mean_module.constant = torch.full((1,), mean, dtype=torch.float64)
        self.likelihood.noise = max(_FIRST_NOISE * spread**2, 2 * _LEAST_NOISE)

    def forward(self, x: Tensor, noise: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Mean and variance of the last layer for every sample, each (S, n).

        Parameters
        ----------
        x : tensor of shape (n, n_inputs)
        noise : sequence of tensors of shape (S, n, width) or (S, 1, width)
            Standard normal numbers for each hidden layer.
        """
        rows = x[None].double()  # (1, n, n_inputs), then (S, n, width)
        for layer, eps in zip(self._hidden_layers(), noise, strict=True):
            mean, variance = _of_samples(layer, rows)
            rows = mean + variance.sqrt() * eps
        mean, variance = _of_samples(self.output, rows)
        return mean[..., 0], variance[..., 0]

    def elbo(self, x: Tensor, y: Tensor, weight: Tensor, *, samples: int, n_rows: int) -> Tensor:
        """Evidence lower bound divided by the number of rows, a scalar.

        The weighted expected log-likelihood of a batch, averaged over samples with independent
        noise per row, minus the divergence of all layers over `n_rows`.

        Parameters
        ----------
        x, y, weight : tensors of shapes (b, n_inputs), (b,), (b,)
        samples : int
        n_rows : int
            Number of rows of the whole training set.
        """
        noise = [self.noise.new_empty(samples, len(x), k).normal_() for k in self.widths]
        mean, variance = self(x, noise)
        squared = (y - mean).square() + variance
        log_prob = -0.5 * (squared / self.noise + torch.log(2 * torch.pi * self.noise))
        divergence = sum(layer.divergence() for layer in (*self._hidden_layers(), self.output))
        result: Tensor = (weight * log_prob.mean(dim=0)).mean() - divergence / n_rows
        return result

    @torch.no_grad()
    def outputs(self, x: Tensor, samples: int) -> Tensor:
        """Mean and log-variance of the target for every sample, (samples, n, 2).

        Sample s uses the same noise in all rows and calls, so that the prediction of a row depends
        neither on other rows nor on earlier calls.
        """
        noise = [each.to(self.noise)[:, None] for each in _fixed_noise(samples, self.widths)]
        parts = []
        for chunk in x.split(max(1, _ROWS_AT_ONCE // samples)):
            mean, variance = self(chunk, noise)
            mean, variance = (each.expand(samples, -1) for each in (mean, variance))
            parts.append(torch.stack([mean, torch.log(variance + self.noise)], dim=-1))
        return torch.cat(parts, dim=1)

    def _hidden_layers(self) -> list[GPLayer]:
        return [cast(GPLayer, layer) for layer in self.hidden]


def _correlations(a: Tensor, b: Tensor) -> Tensor:
    """``exp(-|a_i - b_j|^2 / 2)`` of rows in units of the length scales, (m, n).

    GPyTorch's function checks whether both are equal, for which the host waits for the GPU.
    """
    squared = a.square().sum(dim=1)[:, None] - 2.0 * a @ b.mT + b.square().sum(dim=1)
    return torch.exp(-0.5 * squared.clamp_min(0.0))


def _cholesky(covariance: Tensor) -> Tensor:
    """Cholesky factor of a kernel matrix (m, m)."""
    covariance = covariance + _JITTER * torch.eye(len(covariance), device=covariance.device)
    if covariance.is_cuda:
        return _unchecked_cholesky(covariance)
    try:
        factor: Tensor = psd_safe_cholesky(covariance)
    except (NanError, NotPSDError) as error:
        raise ParameterError(
            f"Training diverged: a kernel matrix has no Cholesky factor ({error}). Lower lr."
        ) from error
    return factor


def _unchecked_cholesky(covariance: Tensor) -> Tensor:
    """Cholesky factor without a check on the host, so that a CUDA graph can capture the step.

    A matrix without one gives NaN, and such an epoch is never kept.
    """
    factor, info = torch.linalg.cholesky_ex(covariance)
    filled: Tensor = factor.masked_fill(info != 0, torch.nan)
    return filled


def _of_samples(layer: GPLayer, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Moments (S, n, n_outputs) at inputs (S, n, n_inputs).

    Samples are treated as rows, so that all of them share the Cholesky factor of the layer.
    """
    mean, variance = layer.moments(rows.flatten(0, 1))
    shape = (*rows.shape[:2], -1)
    return mean.reshape(shape), variance.reshape(shape)


def _linear_start(x: Tensor, n_outputs: int) -> Tensor:
    """Weights (n_inputs, n_outputs): the identity, padded with zeros, or principal components.

    Components are scaled to unit variance, that of the kernel. The last components of nearly
    collinear inputs would otherwise be so narrow that the spread of the layer takes them many
    length scales away from all inducing points of the next one, where gradients vanish.
    """
    n_inputs = x.shape[1]
    if n_outputs >= n_inputs:
        return torch.eye(n_inputs, n_outputs).to(x)
    centred = (x - x.mean(dim=0)).double().cpu()
    _, vectors = torch.linalg.eigh(centred.T @ centred)  # eigenvalues ascend
    leading = vectors[:, -n_outputs:].flip(1)
    # The sign of an eigenvector is arbitrary: fix it, so that all machines agree.
    signs = leading.gather(0, leading.abs().argmax(dim=0, keepdim=True)).sign()
    width = (centred @ leading).std(dim=0)
    weights: Tensor = leading * signs / torch.where(width > _CONSTANT, width, 1.0)
    return weights.to(x)


def _fixed_noise(samples: int, widths: Sequence[int]) -> list[Tensor]:
    """Standard normal numbers (samples, width) of each hidden layer, the same at every call.

    Quasi-random: few samples cover the distribution evenly, which matters because all rows share
    them.
    """
    if not widths:
        return []
    sobol = torch.quasirandom.SobolEngine(sum(widths), scramble=True, seed=0)
    uniform = sobol.draw(samples, dtype=torch.float64).clamp(1e-6, 1 - 1e-6)
    return list(torch.special.ndtri(uniform).split(list(widths), dim=1))

"""Description of a deep Gaussian process; building one needs GPyTorch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self, cast

import numpy as np
import torch
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor

from calibrant.errors import MissingDependencyError
from calibrant.networks.distribution_network import DistributionNetwork
from calibrant.networks.heads import GaussianHead, to_numpy
from calibrant.persistence import savable_part

if TYPE_CHECKING:
    from calibrant.networks.deep_gp import DeepGaussianProcess
    from calibrant.networks.spec import InitialRows

_WIDEST = 10  # largest default width of hidden layers


@savable_part
@dataclass(frozen=True, kw_only=True)
class DeepGPSpec:
    """Layers of Gaussian processes; see `DeepGPRegressor` for the parameters."""

    inducing: int
    hidden_layers: int
    hidden_dims: int | None = None
    n_inputs: int = 0
    steps: int | None = None

    head: ClassVar[GaussianHead] = GaussianHead()
    batchable: ClassVar[bool] = False
    is_custom: ClassVar[bool] = False
    submodels: ClassVar[int] = 1

    def sized(self, n_inputs: int, steps: int | None, rows: InitialRows) -> Self:
        """Return the spec for these inputs, with no more inducing points than distinct rows."""
        distinct = len(np.unique(rows.x.cpu().numpy(), axis=0))
        inducing = min(self.inducing, distinct)
        return replace(self, n_inputs=n_inputs, steps=steps, inducing=inducing)

    def build(self) -> DistributionNetwork:
        """Return a process whose inducing points are not yet set."""
        width = self.hidden_dims or min(self.n_inputs, _WIDEST)
        process = _deep_gaussian_process()
        network = process(self.n_inputs, [width] * self.hidden_layers, self.inducing)
        # It has all that `MemberNetworks` needs of a single network: head, output and weights.
        return cast(DistributionNetwork, network)

    def initialise(self, network: DistributionNetwork, rows: InitialRows) -> None:
        """Set inducing points, mean functions and noise."""
        process = cast("DeepGaussianProcess", network).to(rows.x.device)
        process.start_at(_inducing_points(rows, self.inducing), rows.x, *rows.target_moments())

    def __str__(self) -> str:
        return f"deep GP, {self.hidden_layers} hidden layers, {self.inducing} inducing points"


def _deep_gaussian_process() -> type[DeepGaussianProcess]:
    try:
        from calibrant.networks.deep_gp import DeepGaussianProcess
    except ImportError as error:
        raise MissingDependencyError(
            "DeepGPRegressor needs GPyTorch, which can't be imported here. Install it with: "
            "pip install calibrant[gp]"
        ) from error
    return DeepGaussianProcess


def _inducing_points(rows: InitialRows, count: int) -> Tensor:
    """K-means centres of the scaled inputs, (count, d), or the distinct rows if they are few."""
    x = rows.x.cpu().numpy()
    distinct = np.unique(x, axis=0)
    if len(distinct) <= count:
        points = distinct[np.arange(count) % len(distinct)]
    else:
        seed = int(torch.randint(np.iinfo(np.int32).max, ()))
        means = MiniBatchKMeans(count, n_init=1, random_state=seed)
        points = means.fit(x, sample_weight=to_numpy(rows.weight)).cluster_centers_
    return torch.as_tensor(points, dtype=rows.x.dtype, device=rows.x.device)

"""The quantile head: increasing whatever the network says, and the CRPS it is trained with."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.networks import MemberNetworks, NetworkSpec, QuantileHead

LEVELS = (0.05, 0.3, 0.5, 0.8, 0.9)


def outputs(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(*shape, len(LEVELS), generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("levels", [LEVELS, (0.2, 0.9), (0.1, 0.5, 0.9, 0.99)], ids=len)
def test_it_starts_as_a_logistic_distribution_of_the_target(levels) -> None:
    head = QuantileHead(levels)
    bias = head.initial_bias(3.0, 2.0)
    assert bias.shape == (head.n_outputs,)
    dist = head.distribution(bias[None].double())
    np.testing.assert_allclose(dist.mean, 3.0, rtol=1e-4)
    np.testing.assert_allclose(dist.stddev, 2.0, rtol=1e-4)


def test_the_loss_is_the_crps_of_the_distribution() -> None:
    head, raw = QuantileHead(LEVELS), outputs(40)
    dist = head.distribution(raw)
    y = torch.as_tensor(dist.ppf(np.linspace(1e-4, 0.9999, 40)[:, None])[:, 0])
    score = head.torch_distribution(raw).crps(y)
    np.testing.assert_allclose(score, dist.crps(y.numpy()), rtol=1e-9)
    single = head.torch_distribution(raw.float()).crps(y.float())
    np.testing.assert_allclose(single, score, rtol=1e-3, atol=1e-5)


def test_the_distribution_function_is_that_of_the_distribution() -> None:
    head, raw = QuantileHead(LEVELS), outputs(3, 40)
    y = torch.linspace(-20, 20, 40, dtype=torch.float64)
    cdf = head.torch_distribution(raw).cdf(y)
    assert cdf.shape == (3, 40)
    for member, said in zip(raw, cdf, strict=True):
        np.testing.assert_allclose(said, head.distribution(member).cdf(y.numpy()), atol=1e-12)


def test_the_first_output_is_the_quantile_in_the_middle() -> None:
    raw = outputs(6)
    dist = QuantileHead(LEVELS).distribution(raw)
    np.testing.assert_allclose(dist.ppf(0.5), raw[:, 0], rtol=1e-12)
    wild = torch.cat([raw[:, :1], 1e3 * raw[:, 1:]], dim=1)
    assert np.all(np.diff(QuantileHead(LEVELS).distribution(wild).values, axis=1) > 0)


def test_gradients() -> None:
    head, raw = QuantileHead(LEVELS), outputs(5).requires_grad_()
    y = torch.linspace(-3, 3, 5, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda o: head.torch_distribution(o).crps(y), raw)
    far = torch.tensor([1e6] * 5)
    head.torch_distribution(raw.float()).crps(far).sum().backward()
    assert torch.isfinite(raw.grad).all()


def test_members_stand_in_front() -> None:
    head = QuantileHead(LEVELS)
    members = MemberNetworks(
        [NetworkSpec(n_inputs=4, hidden=(8,), head=head).build() for _ in range(3)]
    )
    x, y = torch.randn(3, 7, 4), torch.randn(3, 7)
    dist = members(x)
    assert dist.batch_shape == dist.crps(y).shape == (3, 7)
    assert dist.values.shape == (3, 7, 5)
    alone = head.torch_distribution(members.outputs(x)[1])
    torch.testing.assert_close(dist.crps(y)[1], alone.crps(y[1]))

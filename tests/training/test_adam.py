"""Adam against torch's own class."""

from __future__ import annotations

import pytest
import torch

from calibrant.training.adam import Adam


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_same_weights_as_torchs_own(decay: float) -> None:
    torch.manual_seed(0)
    start = [torch.randn(4, 3), torch.randn(4), torch.randn(2)]
    ours, theirs = ([w.clone().requires_grad_() for w in start] for _ in range(2))
    mine = Adam(ours, rate=1e-2, decay=decay)
    reference = torch.optim.Adam(theirs, lr=1e-2, weight_decay=decay)
    for number in range(20):
        if number == 10:
            mine.set_rate(3e-3)
            reference.param_groups[0]["lr"] = 3e-3
        for own, other in zip(ours[:2], theirs[:2], strict=True):  # the third has no gradient
            own.grad = torch.randn_like(own)
            other.grad = own.grad.clone()
        mine.step()
        reference.step()
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(ours[2], start[2])


def test_without_gradients_nothing_moves() -> None:
    weight = torch.ones(3, requires_grad=True)
    Adam([weight], rate=1.0, decay=0.0).step()
    assert (weight == 1.0).all()

"""LSTM layers of all members against torch's own (Triton: see tests/conftest.py)."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from calibrant.networks import MemberNetworks, NetworkSpec
from calibrant.networks.fast import lstm
from calibrant.networks.fast.lstm import lstm_layer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PARTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


class Case(NamedTuple):
    """Layers in float64, their inputs (M or 1, n, steps, d) and what pulls at their states."""

    layers: list[nn.LSTM]
    x: Tensor
    pull: Tensor  # (M, n, steps, width), or (M, n, 1, width) at the last step alone

    def by_torch(self) -> list[Tensor]:
        """States (M, n, steps or 1, width); slopes by the inputs and by stacked weights."""
        members, x = len(self.layers), self.x.clone().requires_grad_()
        each = x.expand(members, *x.shape[1:])
        pairs = zip(self.layers, each, strict=True)
        states = torch.stack([layer(rows)[0] for layer, rows in pairs])
        states = states[:, :, -self.pull.shape[2] :]
        leaves = [x, *(getattr(layer, part) for part in PARTS for layer in self.layers)]
        by_x, *rest = torch.autograd.grad((states * self.pull).sum(), leaves)
        return [states, by_x, *(torch.stack(rest[i * members :][:members]) for i in range(4))]

    def as_one(self, dtype: torch.dtype) -> list[Tensor]:
        """The same by `lstm_layer`."""
        weights = [
            torch.stack([getattr(layer, part).detach().to(dtype) for layer in self.layers])
            for part in PARTS
        ]
        leaves = [self.x.to(dtype), *weights]
        x, *_ = (leaf.requires_grad_() for leaf in leaves)
        each = x.transpose(1, 2).expand(len(self.layers), -1, -1, -1)
        last = self.pull.shape[2] < x.shape[2]
        states = lstm_layer(each, *weights, last=last)
        states = states[:, :, None] if last else states.transpose(1, 2)
        return [states, *torch.autograd.grad((states * self.pull.to(dtype)).sum(), leaves)]


def make_case(
    members: int, n: int, steps: int, d: int, width: int, *, shared: bool, last: bool
) -> Case:
    torch.manual_seed(0)
    layers = [nn.LSTM(d, width, batch_first=True).double().to(DEVICE) for _ in range(members)]
    x = 2.0 * torch.randn(1 if shared else members, n, steps, d, dtype=torch.float64)
    pull = torch.randn(members, n, 1 if last else steps, width, dtype=torch.float64)
    return Case(layers, x.to(DEVICE), pull.to(DEVICE))


def assert_same(got: list[Tensor], wanted: list[Tensor], tolerance: float) -> None:
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape
        error = (a.double() - b).abs().max()
        assert error <= tolerance * b.abs().max().clamp(min=1.0)


@pytest.mark.parametrize(("shared", "last"), list(product([False, True], repeat=2)))
@pytest.mark.parametrize(("members", "n"), [(1, 3), (2, 1), (2, 127), (5, 3)])
@pytest.mark.parametrize(("steps", "d"), list(product([1, 2, 5], [1, 6])))
def test_values_and_slopes_are_torchs(members, n, steps, d, shared, last) -> None:
    case = make_case(members, n, steps, d, 7, shared=shared, last=last)
    wanted = case.by_torch()
    assert_same(case.as_one(torch.float64), wanted, 1e-12)
    assert_same(case.as_one(torch.float32), wanted, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("members", "n", "steps", "width"),
    [(1, 1, 1, 1), (2, 3, 2, 5), (2, 127, 3, 16), (3, 5, 5, 130)],
)
def test_triton_says_the_same(members, n, steps, width, last, monkeypatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed (Linux only)")
    case = make_case(members, n, steps, 3, width, shared=False, last=last)
    plain = case.as_one(torch.float32)
    monkeypatch.setattr(lstm, "triton_applies", lambda gates: True)
    got = case.as_one(torch.float32)
    assert_same(got, case.by_torch(), 1e-5)
    assert_same(got, plain, 1e-5)
    assert all(torch.equal(a, b) for a, b in zip(got, case.as_one(torch.float32), strict=True))


def test_far_gates_are_shut_or_open_in_triton(monkeypatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed (Linux only)")
    monkeypatch.setattr(lstm, "triton_applies", lambda gates: True)
    case = make_case(1, 4, 3, 2, 3, shared=False, last=False)
    case.x.mul_(30.0)
    assert_same(case.as_one(torch.float32), case.by_torch(), 1e-4)


def test_a_second_backward_finds_what_the_first_one_found() -> None:
    torch.manual_seed(0)
    sizes = (2, 4, 3, 5), (2, 28, 5), (2, 28, 7), (2, 28), (2, 28)
    leaves = [torch.randn(size, requires_grad=True) for size in sizes]
    loss = lstm_layer(*leaves).square().sum()
    loss.backward(retain_graph=True)
    first = [leaf.grad.clone() for leaf in leaves]
    loss.backward()
    for leaf, once in zip(leaves, first, strict=True):
        assert torch.equal(leaf.grad, 2.0 * once)
    # Gradients are clipped in place: the two biases must not share theirs.
    assert leaves[3].grad.data_ptr() != leaves[4].grad.data_ptr()


def test_every_member_and_row_drops_units_of_its_own() -> None:
    torch.manual_seed(0)
    one = NetworkSpec(body="lstm", n_inputs=2, hidden=(40, 30), dropout=0.5, steps=4).build()
    members = MemberNetworks([one, one], sequences=True)
    x = torch.randn(1, 4, 2).expand(3, 4, 2)  # three times the same row
    outputs = members.outputs(x).flatten(0, 1)
    assert len(outputs.unique(dim=0)) == 6
    members.eval()
    assert torch.allclose(members.outputs(x).flatten(0, 1), one.eval()(x).repeat(2, 1), atol=1e-6)

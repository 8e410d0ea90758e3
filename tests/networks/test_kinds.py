from __future__ import annotations

import pytest
import torch

from calibrant.networks import MemberNetworks, NetworkKinds, NetworkSpec, join_kinds


def kind(n_inputs: int, seed: int, hidden: tuple[int, ...] = (6,)) -> MemberNetworks:
    torch.manual_seed(seed)
    return MemberNetworks([NetworkSpec(n_inputs=n_inputs, hidden=hidden).build() for _ in range(2)])


def test_outputs_follow_each_other_and_each_kind_reads_its_inputs() -> None:
    first, second = kind(2, 0), kind(5, 1, hidden=(7, 3))
    both = join_kinds([first, second], [2, 5])
    assert isinstance(both, NetworkKinds)
    assert both.size == 4
    x = torch.randn(9, 5)
    expected = torch.cat([first.outputs(x[:, :2]), second.outputs(x)])
    torch.testing.assert_close(both.outputs(x), expected)
    for i in range(4):
        width = 2 if i < 2 else 5
        part = both.part(slice(i, i + 1))
        torch.testing.assert_close(part.outputs(x[:, :width])[0], expected[i])
    with pytest.raises(IndexError, match="There are 4 networks"):
        both.part(slice(4, 5))


def test_weights_come_back_by_name() -> None:
    both = join_kinds([kind(2, 0), kind(3, 1)], [2, 3])
    again = join_kinds([kind(2, 5), kind(3, 6)], [2, 3])
    x = torch.randn(4, 3)
    assert not torch.equal(both.outputs(x), again.outputs(x))
    again.load_by_name(both.by_name())
    assert torch.equal(both.outputs(x), again.outputs(x))


def test_one_kind_stays_as_it_is() -> None:
    alone = kind(2, 0)
    assert join_kinds([alone], [2]) is alone

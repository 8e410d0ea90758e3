"""LSTM layers of M members as one, with a manual backward pass.

Under vmap and autograd a step of a layer is dozens of small operations; here it is one product and
one pass over its units, and products that all steps share are computed once per layer.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from calibrant.networks.fast.switch import triton_applies

_sigmoid_grad = torch.ops.aten.sigmoid_backward.grad_input
_tanh_grad = torch.ops.aten.tanh_backward.grad_input


def lstm_layer(
    x: Tensor,
    w_input: Tensor,
    w_state: Tensor,
    b_input: Tensor,
    b_state: Tensor,
    *,
    last: bool = False,
) -> Tensor:
    """Output of a one-layer ``nn.LSTM`` for every member, (M, steps, n, width).

    With gates ``i, f, o`` and candidate ``g`` from ``W_ih x_t + b_ih + W_hh h + b_hh``::

        c = sigmoid(f) c + sigmoid(i) tanh(g)        h = sigmoid(o) tanh(c)

    Parameters
    ----------
    x : tensor of shape (M, steps, n, d)
        Time comes before the rows, so that a step is contiguous, and so are all steps but one.
    w_input, w_state : tensors of shape (M, 4 width, d) and (M, 4 width, width)
    b_input, b_state : tensors of shape (M, 4 width)
    last : bool
        Return only the state after the last step, (M, n, width).
    """
    states = _Layer.apply(x, w_input, w_state, b_input, b_state, last)  # type: ignore[no-untyped-call]
    return cast(Tensor, states)


class _Layer(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        w_input: Tensor,
        w_state: Tensor,
        b_input: Tensor,
        b_state: Tensor,
        last: bool,
    ) -> Tensor:
        members, steps, n, d = x.shape
        width = w_state.shape[2]
        rows = x.reshape(members, steps * n, d)
        gates = torch.bmm(rows, w_input.mT).view(members, steps, n, 4 * width)
        memory, states = (gates.new_empty(members, steps, n, width) for _ in range(2))
        for t in range(steps):
            if t > 0:  # the first state is 0
                gates[:, t].baddbmm_(states[:, t - 1], w_state.mT)
            forward_step(gates, b_input, b_state, memory, states, t)
        ctx.save_for_backward(rows, w_input, w_state, gates, memory, states)
        ctx.last = last
        return states[:, -1] if last else states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, w_input, w_state, gates, memory, states = ctx.saved_tensors
        members, steps, n, width = states.shape
        given = grad[:, None] if ctx.last else grad  # of the last step alone, or of every one
        given = given.contiguous()
        by_gates, by_memory = torch.empty_like(gates), gates.new_empty(members, n, width)
        later: Tensor | None = None  # gradient of the state from the next step
        for t in reversed(range(steps)):
            if t < steps - 1:
                later = torch.bmm(by_gates[:, t + 1], w_state)
            backward_step(gates, memory, given, later, by_memory, by_gates, t)
        flat = by_gates.view(members, steps * n, 4 * width)
        after, before = by_gates[:, 1:].flatten(1, 2), states[:, :-1].flatten(1, 2)
        by_bias = flat.sum(dim=1)
        by_x = None
        if ctx.needs_input_grad[0]:
            by_x = torch.bmm(flat, w_input).view(members, steps, n, -1)
        by_weights = torch.bmm(flat.mT, rows), torch.bmm(after.mT, before)
        return by_x, *by_weights, by_bias, by_bias, None


def forward_step(
    gates: Tensor, b_input: Tensor, b_state: Tensor, memory: Tensor, states: Tensor, t: int
) -> None:
    """Compute gates, memory and states of step t, in place.

    Parameters
    ----------
    gates : tensor of shape (M, steps, n, 4 width)
        In: products of step t, without the biases. Out: activations i, f, g and o.
    b_input, b_state : tensors of shape (M, 4 width)
    memory, states : tensors of shape (M, steps, n, width)
    """
    if triton_applies(gates):
        from calibrant.networks.fast import triton_lstm

        return triton_lstm.forward_step(gates, b_input, b_state, memory, states, t)
    width = states.shape[-1]
    now = gates[:, t].add_((b_input + b_state)[:, None])
    now[..., : 2 * width].sigmoid_()
    now[..., 2 * width : 3 * width].tanh_()
    now[..., 3 * width :].sigmoid_()
    enter, keep, candidate, out = now.chunk(4, dim=-1)
    held = torch.mul(enter, candidate, out=memory[:, t])
    if t > 0:
        held.addcmul_(keep, memory[:, t - 1])
    torch.tanh(held, out=states[:, t]).mul_(out)


def backward_step(
    gates: Tensor,
    memory: Tensor,
    given: Tensor,
    later: Tensor | None,
    by_memory: Tensor,
    by_gates: Tensor,
    t: int,
) -> None:
    """Write the gradient of the gates of step t, before their activation, into `by_gates`.

    Parameters
    ----------
    gates, memory : as `forward_step` leaves them
    given : tensor of shape (M, steps, n, width), or (M, 1, n, width) for the last step alone
        Gradient of the states from outside the layer.
    later : tensor of shape (M, n, width), or None for the last step
        Gradient of the states of step t from the next step.
    by_memory : tensor of shape (M, n, width)
        In: gradient of the memory of step t from the next step. Out: that of step t - 1.
    by_gates : tensor of shape (M, steps, n, 4 width)
    """
    if triton_applies(gates):
        from calibrant.networks.fast import triton_lstm

        return triton_lstm.backward_step(gates, memory, given, later, by_memory, by_gates, t)
    width = memory.shape[-1]
    enter, keep, candidate, out = gates[:, t].chunk(4, dim=-1)
    by_enter, by_keep, by_candidate, by_out = by_gates[:, t].chunk(4, dim=-1)
    if later is None:
        grad = given[:, -1]
    else:
        grad = later if given.shape[1] < memory.shape[1] else later + given[:, t]
    squashed = memory[:, t].tanh()
    torch.mul(grad, squashed, out=by_out)
    by_held = grad * out
    _tanh_grad(by_held, squashed, grad_input=by_held)
    if later is not None:
        by_held += by_memory
    torch.mul(by_held, candidate, out=by_enter)
    torch.mul(by_held, enter, out=by_candidate)
    if t > 0:
        torch.mul(by_held, memory[:, t - 1], out=by_keep)
        torch.mul(by_held, keep, out=by_memory)
    else:  # the first step has no memory to keep
        by_keep.zero_()
    for squash_grad, part in (
        (_sigmoid_grad, slice(0, 2 * width)),
        (_tanh_grad, slice(2 * width, 3 * width)),
        (_sigmoid_grad, slice(3 * width, None)),
    ):
        by_part = by_gates[:, t, :, part]
        squash_grad(by_part, gates[:, t, :, part], grad_input=by_part)

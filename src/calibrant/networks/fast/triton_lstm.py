"""LSTM step in Triton: one launch forward, one backward; the GPU twin of `lstm`."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 512  # units per program
_COLUMNS = 128  # units of one row per program, at most


@triton.jit
def _tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def _position(step, steps, n, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Row among those of all steps and members, unit, and whether both exist."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    unit = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    first = (tl.program_id(2).to(tl.int64) * steps + step) * n
    return first + row, unit, (row < n) & (unit < WIDTH)


@triton.jit(do_not_specialize=["step", "steps", "n"])
def _forward(
    gates, b_input, b_state, memory, states, step, steps, n,
    FIRST: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row, unit, here = _position(step, steps, n, WIDTH, ROWS, COLUMNS)
    gates += row * (4 * WIDTH) + unit
    bias = tl.program_id(2) * (4 * WIDTH) + unit
    b_input += bias
    b_state += bias
    known = unit < WIDTH

    enter = tl.load(gates, mask=here, other=0.0)
    enter += tl.load(b_input, mask=known, other=0.0) + tl.load(b_state, mask=known, other=0.0)
    enter = tl.sigmoid(enter)
    candidate = tl.load(gates + 2 * WIDTH, mask=here, other=0.0)
    candidate += tl.load(b_input + 2 * WIDTH, mask=known, other=0.0)
    candidate += tl.load(b_state + 2 * WIDTH, mask=known, other=0.0)
    candidate = _tanh(candidate)
    keep = tl.load(gates + WIDTH, mask=here, other=0.0)
    keep += tl.load(b_input + WIDTH, mask=known, other=0.0)
    keep += tl.load(b_state + WIDTH, mask=known, other=0.0)
    keep = tl.sigmoid(keep)
    out = tl.load(gates + 3 * WIDTH, mask=here, other=0.0)
    out += tl.load(b_input + 3 * WIDTH, mask=known, other=0.0)
    out += tl.load(b_state + 3 * WIDTH, mask=known, other=0.0)
    out = tl.sigmoid(out)

    held = enter * candidate
    if not FIRST:
        held += keep * tl.load(memory + (row - n) * WIDTH + unit, mask=here, other=0.0)
    tl.store(gates, enter, mask=here)
    tl.store(gates + WIDTH, keep, mask=here)
    tl.store(gates + 2 * WIDTH, candidate, mask=here)
    tl.store(gates + 3 * WIDTH, out, mask=here)
    tl.store(memory + row * WIDTH + unit, held, mask=here)
    tl.store(states + row * WIDTH + unit, out * _tanh(held), mask=here)


@triton.jit(do_not_specialize=["step", "steps", "given_step", "given_steps", "n"])
def _backward(
    gates, memory, given, later, by_memory, by_gates, step, steps, given_step, given_steps, n,
    FIRST: tl.constexpr, LAST: tl.constexpr, GIVEN: tl.constexpr,
    WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row, unit, here = _position(step, steps, n, WIDTH, ROWS, COLUMNS)
    alone, _, _ = _position(0, 1, n, WIDTH, ROWS, COLUMNS)  # row in tensors of one step
    by_memory += alone * WIDTH + unit
    grad = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    by_held = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    if GIVEN:
        outer, _, _ = _position(given_step, given_steps, n, WIDTH, ROWS, COLUMNS)
        grad += tl.load(given + outer * WIDTH + unit, mask=here, other=0.0)
    if not LAST:
        grad += tl.load(later + alone * WIDTH + unit, mask=here, other=0.0)
        by_held += tl.load(by_memory, mask=here, other=0.0)

    gates += row * (4 * WIDTH) + unit
    by_gates += row * (4 * WIDTH) + unit
    enter = tl.load(gates, mask=here, other=0.0)
    keep = tl.load(gates + WIDTH, mask=here, other=0.0)
    candidate = tl.load(gates + 2 * WIDTH, mask=here, other=0.0)
    out = tl.load(gates + 3 * WIDTH, mask=here, other=0.0)
    squashed = _tanh(tl.load(memory + row * WIDTH + unit, mask=here, other=0.0))
    by_held += grad * out * (1.0 - squashed * squashed)

    by_keep = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    if not FIRST:
        before = tl.load(memory + (row - n) * WIDTH + unit, mask=here, other=0.0)
        by_keep += by_held * before * keep * (1.0 - keep)
        tl.store(by_memory, by_held * keep, mask=here)
    tl.store(by_gates, by_held * candidate * enter * (1.0 - enter), mask=here)
    tl.store(by_gates + WIDTH, by_keep, mask=here)
    tl.store(by_gates + 2 * WIDTH, by_held * enter * (1.0 - candidate * candidate), mask=here)
    tl.store(by_gates + 3 * WIDTH, grad * squashed * out * (1.0 - out), mask=here)


def forward_step(
    gates: Tensor, b_input: Tensor, b_state: Tensor, memory: Tensor, states: Tensor, t: int
) -> None:
    """`lstm.forward_step` in float32; all tensors but the biases are contiguous."""
    grid, tile = _tiles(states)
    _, steps, n, _ = states.shape
    _forward[grid](
        gates, b_input.contiguous(), b_state.contiguous(), memory, states, t, steps, n,
        FIRST=t == 0, **tile,
    )  # fmt: skip


def backward_step(
    gates: Tensor,
    memory: Tensor,
    given: Tensor,
    later: Tensor | None,
    by_memory: Tensor,
    by_gates: Tensor,
    t: int,
) -> None:
    """`lstm.backward_step` in float32; all tensors are contiguous."""
    grid, tile = _tiles(memory)
    _, steps, n, _ = memory.shape
    of_all = given.shape[1] == steps
    _backward[grid](
        gates, memory, given, by_memory if later is None else later, by_memory, by_gates,
        t, steps, t if of_all else 0, given.shape[1], n,
        FIRST=t == 0, LAST=later is None, GIVEN=of_all or later is None, **tile,
    )  # fmt: skip


def _tiles(states: Tensor) -> tuple[tuple[int, int, int], dict[str, int]]:
    members, _, n, width = states.shape
    columns = min(_COLUMNS, triton.next_power_of_2(width))
    rows = _BLOCK // columns
    grid = (triton.cdiv(n, rows), triton.cdiv(width, columns), members)
    return grid, {"WIDTH": width, "ROWS": rows, "COLUMNS": columns}

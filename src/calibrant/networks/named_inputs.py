"""Networks of several inputs, which come as the columns of one matrix."""

from __future__ import annotations

from math import prod

from torch import Tensor, nn

InputShapes = tuple[tuple[str, tuple[int, ...]], ...]  # names, and the shapes of one row


def widths(shapes: InputShapes) -> list[int]:
    """Return the number of columns of every input."""
    return [prod(shape) for _, shape in shapes]


class NamedInputs(nn.Module):
    """Calls a module with its inputs by name: ``body(image=..., table=...)``.

    Parameters
    ----------
    body : nn.Module
    shapes : tuple of (name, shape of one row)
        In the order of the columns.
    """

    def __init__(self, body: nn.Module, shapes: InputShapes) -> None:
        super().__init__()
        self.body, self.shapes = body, shapes

    def forward(self, x: Tensor) -> Tensor:
        """Output of the body for rows (n, d), whose columns are the inputs one after another."""
        parts = x.split(widths(self.shapes), dim=1)
        named = zip(self.shapes, parts, strict=True)
        result: Tensor = self.body(
            **{name: part.reshape(-1, *shape) for (name, shape), part in named}
        )
        return result

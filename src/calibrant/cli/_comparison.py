"""Several models on the same rows: their scores side by side, and which difference is real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

from calibrant.cli._grid import aligned, as_markdown

if TYPE_CHECKING:
    from calibrant.metrics import Evaluation, ScoreDifference

_WIDTH = 80
_LEFT = ("model",)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Evaluations of the same rows by the names of their models, and tests of their CRPS."""

    results: Mapping[str, Evaluation]
    pairs: Sequence[ScoreDifference]

    def __str__(self) -> str:
        rows = next(iter(self.results.values())).n
        return "\n".join(
            [
                f"Evaluation of {len(self.results)} models on {rows:,} rows",
                "",
                aligned(self._lines(), left=_LEFT),
                "",
                *(fill(f"{name}: {each.verdict}", _WIDTH) for name, each in self.results.items()),
                "",
                "Difference in CRPS row by row, with 95% confidence (paired t-test):",
                *(fill(_test(pair), _WIDTH) for pair in self.pairs),
            ]
        )

    def to_markdown(self) -> str:
        """Return a pipe table and lists of verdicts and tests."""
        return "\n".join(
            [
                as_markdown(self._lines(), left=_LEFT),
                "",
                *(f"- {name}: {each.verdict}" for name, each in self.results.items()),
                *(f"- CRPS: {_test(pair)}" for pair in self.pairs),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "models": {name: each.to_dict() for name, each in self.results.items()},
            "crps_differences": [asdict(pair) for pair in self.pairs],
        }

    def _lines(self) -> list[dict[str, str]]:
        from calibrant.metrics.formatting import format_number

        first = next(iter(self.results.values()))
        lines = [
            {
                "model": name,
                "ECPE": format_number(each.ecpe),
                f"{100 * first.level:.4g}% cover": f"{each.coverage:.1%}",
                "CRPS": format_number(each.crps),
                "NLL": format_number(each.nll),
                "RMSE": format_number(each.rmse),
                "EPIW": format_number(each.epiw),
            }
            for name, each in self.results.items()
        ]
        floor = {"model": "noise floor", "ECPE": format_number(first.floor.ecpe)}
        return [*lines, dict.fromkeys(lines[0], "") | floor]


def _test(pair: ScoreDifference) -> str:
    from calibrant.metrics.formatting import p_value_text

    # The lower score first, as the sentence names the better model first.
    sign = -1.0 if pair.difference > 0 else 1.0
    low, high = sorted([sign * pair.low, sign * pair.high])
    return (
        f"{pair.sentence}: {sign * pair.difference:.3g} ({low:.3g} to {high:.3g}), "
        f"{p_value_text(pair.p_value)}"
    )

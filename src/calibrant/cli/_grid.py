"""Small tables as lines of text: no box, so that nothing is cut in a pipe."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

Line = Mapping[str, str]


def aligned(lines: Sequence[Line], *, left: Collection[str]) -> str:
    """Columns under their names, those of `left` to the left and numbers to the right."""
    width = {name: max(len(name), *(len(line[name]) for line in lines)) for name in lines[0]}
    return "\n".join(
        "  ".join(
            text.ljust(width[name]) if name in left else text.rjust(width[name])
            for name, text in line.items()
        ).rstrip()
        for line in ({name: name for name in width}, *lines)
    )


def as_markdown(lines: Sequence[Line], *, left: Collection[str]) -> str:
    """Lines of a pipe table."""
    rule = {name: "---" if name in left else "--:" for name in lines[0]}
    rows = ({name: name for name in rule}, rule, *lines)
    return "\n".join(f"| {' | '.join(_cell(text) for text in row.values())} |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")

"""The part of a document that a program writes."""

from __future__ import annotations

from calibrant.errors import DataError


def between_marks(text: str, content: str, topic: str) -> str:
    r"""Replace the text between the begin and end marks of a document.

    Examples
    --------
    >>> print(between_marks("<!-- x: begin --> old <!-- x: end -->", "new\n", "x"))
    <!-- x: begin -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- x: end -->
    """
    begin, end = f"<!-- {topic}: begin -->", f"<!-- {topic}: end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise DataError(f"The document needs a line {begin} and below it a line {end}.")
    return f"{before}{begin}\n\n{content}\n{end}{after}"

from __future__ import annotations

import pytest
from benchmarks.quality_pages import between_marks

from calibrant.errors import DataError


def test_content_goes_between_the_marks() -> None:
    begin, end = "<!-- quality: begin -->", "<!-- quality: end -->"
    once = between_marks(f"before\n{begin}\nold\n{end}\nafter\n", "new\n", "quality")
    assert once == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"
    assert between_marks(once, "new\n", "quality") == once
    with pytest.raises(DataError, match="needs a line"):
        between_marks(once, "new", "another topic")

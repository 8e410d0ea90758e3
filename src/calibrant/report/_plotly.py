"""The plotly script of its Python package, changed so that browsers start it sooner."""

from __future__ import annotations

import re
from functools import lru_cache

# The whole library is one function passed to another that calls it: (function(...) {...}(..., f));
_LIBRARY = re.compile(r"(\? self : this, )(\(\) => \{.*\})(\)\);\s*)\Z", re.DOTALL)


@lru_cache(maxsize=1)
def plotly_script() -> str:
    """Return the script, ready to be embedded in a page.

    Browsers parse a function lazily and again when it is called, unless it is in parentheses. So
    the library, 4.8 MB long, is put in parentheses, and charts appear a quarter of a second
    earlier. A script with another structure is left unchanged.
    """
    from plotly.offline import get_plotlyjs

    return _LIBRARY.sub(r"\1(\2)\3", get_plotlyjs(), count=1)

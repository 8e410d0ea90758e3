"""`make test-sktime` runs the tests of skpro and sktime; without skpro they are not collected."""

import importlib.util

if importlib.util.find_spec("skpro") is None:
    collect_ignore_glob = ["test_skpro.py", "test_to_skpro.py", "test_sktime.py"]

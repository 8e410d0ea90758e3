"""What all tests share."""

from __future__ import annotations

import signal

# Workers that run tests side by side ignore Ctrl-C, and so would every process that a test starts
# to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)

"""What all tests share."""

from __future__ import annotations

import os
import signal

import torch

# Workers that run tests side by side ignore Ctrl-C, and so would every process that a test starts
# to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Triton kernels run in Triton's interpreter where there is no GPU. Triton decides so when it is
# first imported, before any test.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

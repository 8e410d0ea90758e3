"""Triton kernels run in Triton's interpreter where there is no GPU.

Triton decides so when it is first imported, before any test.
"""

from __future__ import annotations

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

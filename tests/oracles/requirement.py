"""PyTorch is an oracle of tests, never a dependency: a test skips without it, except in CI."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest


def torch_or_skip() -> Any:
    """The module; with MEMLAB_REQUIRE_TORCH=1 its absence is a failure instead of a skip."""
    if os.environ.get("MEMLAB_REQUIRE_TORCH"):
        return import_module("torch")
    return pytest.importorskip("torch", reason="PyTorch is the oracle, and is not installed")

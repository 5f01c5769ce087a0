"""A page shows what memlab shows natively, byte for byte: on 32 bits, with NumPy alone."""

from __future__ import annotations

import json
import os
from random import Random

import pytest

from tests import conformance
from web.node import run_code

pytestmark = pytest.mark.measures

CODE = """
import json, sys
from tests.conformance import shown
print(json.dumps(shown(json.loads(sys.argv[1]))))
"""
PART = 10
"""Of so many outputs one is drawn where time is short."""


def outputs() -> list[str]:
    """Names of the outputs that need no kernel: a tenth, or all under ``MEMLAB_WEB=full``."""
    names = [name for name in conformance.cases() if name not in conformance.MEASURED]
    if os.environ.get("MEMLAB_WEB") == "full":
        return names
    return Random("conformance").sample(names, len(names) // PART)


def test_outputs_are_the_same_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLAB_MACHINE", "recorded")
    names = outputs()
    wanted = conformance.shown(names)
    found = json.loads(run_code(CODE, arguments=[json.dumps(names)], seconds=900))
    assert [name for name in names if found[name] != wanted[name]] == []
    assert len(names) >= 79

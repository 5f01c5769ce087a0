"""Statistics of Numba's own allocator after a run: nothing is left, so no kernel keeps an array."""

from __future__ import annotations

import json
import os
import subprocess
import sys

CODE = """
import json
import memlab
from numba.core.runtime import rtsys

step = memlab.training_step(memlab.zoo.googlenet(image=64, classes=10))
memlab.run(step, 2)  # compiles
before = rtsys.get_allocation_stats()
memlab.run(step, 2)
after = rtsys.get_allocation_stats()
print(json.dumps([after.alloc - before.alloc, after.free - before.free,
                  after.mi_alloc - before.mi_alloc, after.mi_free - before.mi_free]))
"""


def test_numba_holds_no_more_after_a_run_than_before() -> None:
    """Each array argument gets a header of its own, so both counts rise, by the same number."""
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_NRT_STATS": "1"},
    )
    allocated, freed, headers, dropped = json.loads(done.stdout)
    assert allocated == freed > 0
    assert headers == dropped

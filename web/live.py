"""The folder `live/` of the site: all that the worker of a page loads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from web import bundle
from web.pyodide import Pair, chosen, prepare, wheel
from web.wasm.build import ready

LIVE = "live"
"""Name of the folder in the site."""
SIZES = "sizes.json"
"""File with the bytes of the others, by which a page tells how far loading is."""
KERNELS = ("kernels.wasm", "kernels.json")
ARCHIVE = "memlab.packed"
"""Name that no server takes for a compressed file, which it would let the browser unpack."""


def assemble(folder: Path, pair: Pair | None = None) -> None:
    """Write the files that the worker of a page loads.

    Args:
        folder: where to write; what it holds is replaced.
        pair: release of Pyodide; that of ``MEMLAB_PYODIDE`` unless given.
    """
    pair = pair or chosen()
    kernels = ready()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = prepare(pair)
    files = [source / name for name in (*pair.core, wheel(source, "numpy"))]
    for file in [*files, *(kernels.with_name(name) for name in KERNELS)]:
        shutil.copyfile(file, folder / file.name)
    bundle.write(folder / ARCHIVE)
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    (folder / SIZES).write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")

"""Checks of a built site before it is published: what it loads is what it should be.

The core of Pyodide equals the files of the package whose hash is pinned, each wheel has the hash of
a lock file, the kernels are as new as their sources, and a first visit loads little enough.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from memlab.errors import InputError
from web.lite.build import LOCK as LITE_LOCK
from web.live import KERNELS, LIVE, SIZES
from web.pyodide import LOCK, PUBLISHED, Pair, check, locked, prepare, wheel
from web.wasm.build import is_current

LARGEST = 11 * 10**6
"""Most bytes, compressed, that a page with live cells loads."""


def complaints(site: Path, pair: Pair = PUBLISHED) -> Iterator[str]:
    """Yield a sentence for each thing that keeps a site from being published.

    Args:
        site: folder of the built site, with JupyterLite.
        pair: Pyodide and NumPy that it should have.
    """
    yield from _core(site / LIVE, pair)
    yield from _kernels(site / LIVE)
    yield from _sizes(site / LIVE)
    yield from _wheels(site / LIVE)


def _core(live: Path, pair: Pair) -> Iterator[str]:
    """Compare Pyodide and NumPy with what was fetched and whose hashes were checked."""
    source = prepare(pair)
    for name in (*pair.core, wheel(source, "numpy")):
        if not (live / name).exists():
            yield f"{name} is missing."
        elif (live / name).read_bytes() != (source / name).read_bytes():
            yield f"{name} is not the one of Pyodide {pair.version}."


def _kernels(live: Path) -> Iterator[str]:
    """Ask if the compiled kernels are there, and as new as their sources."""
    missing = [name for name in KERNELS if not (live / name).exists()]
    if missing:
        yield f"{' and '.join(missing)} {'are' if missing[1:] else 'is'} missing; run `make wasm`."
    elif not is_current():
        yield "The compiled kernels are older than their sources; run `make wasm`."


def _sizes(live: Path) -> Iterator[str]:
    """Compare the list of what a page loads with the files, and their sum with the largest one."""
    if not (live / SIZES).exists():
        yield f"{SIZES} is missing."
        return
    sizes: dict[str, int] = json.loads((live / SIZES).read_text(encoding="utf-8"))
    for name, size in sizes.items():
        if not (live / name).exists() or (live / name).stat().st_size != size:
            yield f"{SIZES} has {size} B for {name}, which is not so."
            return
    loaded = sum(len(gzip.compress((live / name).read_bytes())) for name in sizes)
    if loaded > LARGEST:
        yield f"A page loads {loaded:,} B, compressed; at most {LARGEST:,} B are allowed."


def _wheels(live: Path) -> Iterator[str]:
    """Check the hashes of the files that lock files name: all of those of JupyterLite, and as many
    of Pyodide's as the site has."""
    for lock, is_whole in ((LITE_LOCK, True), (LOCK, False)):
        if not (live / lock).exists():
            yield f"{lock} is missing."
            continue
        for row in locked(live, lock).values():
            file = live / row["file_name"]
            if not file.exists():
                if is_whole:
                    yield f"{lock} names {file.name}, which is not there."
                continue
            try:
                check(file, row["sha256"])
            except InputError as error:
                yield str(error)

"""Python code in Pyodide under node: the same interpreter as in a page, without a browser.

>>> print(run_code("import sys; print(sys.platform)").strip())  # doctest: +SKIP
emscripten
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from memlab.errors import InputError
from web.carried import CARRIED, folder
from web.pyodide import ROOT, Pair, chosen, prepare

SCRIPT = Path(__file__).with_suffix(".mjs")
RECORDED = {"MEMLAB_MACHINE": "recorded"}
"""Environment under which texts are those of the recorded machine."""


def run_code(
    code: str,
    pair: Pair | None = None,
    *,
    mounts: Mapping[str, Path] | None = None,
    path: Sequence[str] = (),
    packages: Sequence[str] = ("numpy",),
    environment: Mapping[str, str] = RECORDED,
    arguments: Sequence[str] = (),
    seconds: float = 300,
) -> str:
    """Return what Python code prints in Pyodide.

    Args:
        code: Python; ``await`` is allowed at the top.
        pair: release of Pyodide; that of ``MEMLAB_PYODIDE`` unless given.
        mounts: folders of this machine by their place there, besides the project at ``/project``.
        path: folders that Python imports from there, before ``/project`` and its ``web/runtime``.
        packages: packages of Pyodide's lock file that are loaded.
        environment: environment variables of the process there.
        arguments: ``sys.argv`` after the name of the file.
        seconds: limit of the time that it may take.

    Raises:
        InputError: node is not installed.
        RuntimeError: the code failed; the message is what it wrote about that.
    """
    pair = pair or chosen()
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        raise InputError("node is not installed; Pyodide cannot run outside a browser without it.")
    order = {
        "pyodide": str(prepare(pair, tuple(packages))),
        "mounts": {"/project": str(ROOT)}
        | {f"/carried/{name}": str(folder(name)) for name in CARRIED}
        | {place: str(mounted) for place, mounted in (mounts or {}).items()},
        "path": [*path, "/project", "/project/web/runtime", "/carried"],
        "packages": list(packages),
        "environment": dict(environment),
        "arguments": list(arguments),
    }
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "code.py")
        file.write_text(code, encoding="utf-8")
        command = [node, str(SCRIPT), json.dumps(order), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout

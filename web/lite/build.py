"""Adding JupyterLite to a built site: ``python -m web.lite [SITE]``.

It shares Pyodide with the pages (``SITE/live``), and adds to that folder one file, its lock file.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memlab.classroom.release import cleared
from memlab.cli.lessons import copy_lessons
from memlab.lesson_folders import LESSONS
from web.lite import wheels
from web.lite.environment import FAILURE, download, environment
from web.live import KERNELS, LIVE
from web.pyodide import BUILD, ROOT, Pair, chosen, locked, run

APPS = ("notebooks", "tree")
"""Jupyter Notebook, in which a notebook is a page, and its list of files."""
PLUGIN = "@jupyterlite/pyodide-kernel-extension"
FOLDER, WHEELS = "lite", "wheels"
SCRIPT, LOCK = "pyodide.mjs", "jupyterlite-lock.json"
PYPI = f"extensions/{PLUGIN}/static/pypi"
"""Folder of the wheels that the kernel brings."""
OLD_WIDGETS = "widgetsnbextension-3"
SPOKEN = {"MEMLAB_MACHINE": "recorded", "MEMLAB_PROGRESS": "/drive/progress.json"}
"""Environment of the kernel: planned seconds are those of the texts, and progress lies beside the
notebooks, where the browser keeps it."""


def build(site: Path, pair: Pair | None = None) -> Path:
    """Add JupyterLite to a site, and return its folder.

    Args:
        site: folder of the site.
        pair: Pyodide and NumPy; those of ``MEMLAB_PYODIDE`` unless given.

    Raises:
        InputError: something that it needs cannot be had.
    """
    pair = pair or chosen()
    target = site / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        contents = Path(place, "files")
        copy_notebooks(contents)
        (Path(place) / "jupyter-lite.json").write_text(json.dumps(settings()), "utf-8")
        (Path(place) / "overrides.json").write_text(json.dumps(overrides()), "utf-8")
        apps = [f"--apps={app}" for app in APPS]
        command = [str(environment() / "jupyter-lite"), "build"]
        run([*command, *apps, "--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive",
             "--lite-dir", place, "--contents", str(contents), "--output-dir", str(target)],
            FAILURE, Path(place))  # fmt: skip
    lock = add_wheels(site, pair)
    add_packages(target / "jupyter-lite.json", lock)
    return target


def copy_notebooks(folder: Path) -> None:
    """Copy the learners' notebooks, without outputs, and what they link to: the copies that
    ``memlab lab`` makes, and those of all other languages."""
    copy_lessons(LESSONS, folder)
    for file in sorted(LESSONS.glob("[a-z][a-z]/*.ipynb")):
        target = folder / file.relative_to(LESSONS)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(cleared(file.read_bytes()))


def settings() -> dict[str, Any]:
    """Return the configuration of JupyterLite, seen from its folder."""
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": "memlab",
            "appUrl": f"./{APPS[-1]}",
            "litePluginSettings": {
                f"{PLUGIN}:kernel": {
                    "pyodideUrl": f"./../{LIVE}/{SCRIPT}",
                    "disablePyPIFallback": True,
                    "loadPyodideOptions": {
                        "lockFileURL": f"./../{LIVE}/{LOCK}",
                        "env": {"HOME": "/home/pyodide", **SPOKEN},
                    },
                }
            },
        },
    }


def overrides() -> dict[str, Any]:
    """Return the settings of JupyterLab that memlab's own lab has."""
    folder = ROOT / "memlab/jupyter/labconfig/default_setting_overrides.d"
    told: dict[str, Any] = {}
    for file in sorted(folder.glob("*.json")):
        told |= json.loads(file.read_text(encoding="utf-8"))
    return told


def add_wheels(site: Path, pair: Pair) -> dict[str, Any]:
    """Write the wheels and the lock file of the notebook's kernel; return what that file says."""
    live, folder = site / LIVE, site / FOLDER / WHEELS
    folder.mkdir()
    source, names = wheels.of_pyodide(pair)
    known = locked(source)
    shared = copy_pyodide(live, source, pair)
    for file in {known[name]["file_name"] for name in names} - shared:
        shutil.copyfile(source / file, folder / file)
    address = f"../{FOLDER}/{WHEELS}/"
    more = [wheels.entry(file, address) for file in download(wheels.beside(pair), folder)]
    more += [wheels.entry(wheels.memlab_wheel(folder, kernels()), address, wheels.NEEDED)]
    more += [
        wheels.entry(file, f"../{FOLDER}/{PYPI}/")
        for file in sorted((site / FOLDER / PYPI).glob("*.whl"))
        if not file.name.startswith(OLD_WIDGETS)
    ]
    near = {name for name in names if known[name]["file_name"] in shared}
    lock = wheels.lock(source, names, address, near, more)
    (live / LOCK).write_text(json.dumps(lock, indent=1), encoding="utf-8")
    return lock


def copy_pyodide(live: Path, source: Path, pair: Pair) -> set[str]:
    """Copy the core of Pyodide where pages did not bring it; return the names of what is there."""
    live.mkdir(exist_ok=True)
    for name in pair.core:
        if not (live / name).exists():
            shutil.copyfile(source / name, live / name)
    return {file.name for file in live.iterdir()}


def kernels() -> list[Path]:
    """Return the compiled kernels with their table, as far as they are built."""
    return [file for file in (BUILD / name for name in KERNELS) if file.exists()]


def add_packages(file: Path, lock: Mapping[str, Any]) -> None:
    """Let the kernel load all packages at once, before it starts: one after the other takes twice
    as long. IPython begins with the file that memlab's wheel has for it."""
    told = json.loads(file.read_text(encoding="utf-8"))
    options = told["jupyter-config-data"]["litePluginSettings"][f"{PLUGIN}:kernel"]
    loading = options["loadPyodideOptions"]
    python = ".".join(lock["info"]["python"].split(".")[:2])
    loading["env"]["IPYTHONDIR"] = f"/lib/python{python}/site-packages/{wheels.STARTUP}"
    loading["packages"] = list(lock["packages"])
    file.write_text(json.dumps(told, indent=1), encoding="utf-8")

"""Extensions of JupyterLab that draw live views: those of ipywidgets and of anywidget.

The package of an extension may be installed while its files are missing, or while somebody has
disabled it: then each view stays a line of text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memlab.setup_checks.setup_check import SetupCheck

NEEDED = {"@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets", "anywidget": "anywidget"}
"""Packages that bring the extensions, by the names of these."""


class LabExtensions(NamedTuple):
    """Extensions that JupyterLab finds, and those that are disabled, each with the level of the
    setting: ``"sys_prefix"``, ``"user"`` or ``"system"``."""

    installed: frozenset[str]
    disabled: dict[str, str]


def look() -> LabExtensions | None:
    """Return what JupyterLab of this environment finds; None where it is not installed."""
    try:
        from jupyter_core.paths import jupyter_config_dir, jupyter_config_path, jupyter_path
    except ImportError:  # the line of jupyterlab says so
        return None
    folders = [Path(path) for path in jupyter_path("labextensions")]
    installed = {name for name in NEEDED for folder in folders
                 if (folder / name / "package.json").is_file()}  # fmt: skip
    levels = {jupyter_config_dir(): "user", str(Path(sys.prefix, "etc", "jupyter")): "sys_prefix"}
    states: dict[str, tuple[bool, str]] = {}
    for folder in reversed(jupyter_config_path()):  # the first one has the last word
        for name, is_disabled in _switched(Path(folder) / "labconfig"):
            states[name] = is_disabled, levels.get(folder, "system")
    disabled = {name: level for name, (is_disabled, level) in states.items() if is_disabled}
    return LabExtensions(frozenset(installed), disabled)


def _switched(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the extensions that the files of a folder switch off, or on again."""
    for file in [*sorted(folder.glob("page_config.d/*.json")), folder / "page_config.json"]:
        try:
            named = json.loads(file.read_text(encoding="utf-8")).get("disabledExtensions", {})
            switched = dict(named) if isinstance(named, dict) else dict.fromkeys(named, True)
        except (OSError, ValueError, TypeError, AttributeError):
            continue  # JupyterLab leaves such a file out too
        yield from switched.items()


def check_extensions(seen: LabExtensions, python: str) -> SetupCheck:
    """Check that JupyterLab has the extensions of live views, and that none is disabled."""
    name = "live views"
    for extension, package in NEEDED.items():
        if extension not in seen.installed:
            text = f"JupyterLab lacks the extension {extension}, so it draws no live view"
            return SetupCheck(name, "problem", text, f'"{python}" -m pip install --force-reinstall '
                              f"--no-deps {package}")  # fmt: skip
        for disabled, level in seen.disabled.items():
            if disabled.partition(":")[0] == extension:
                text = f"the extension {disabled} of JupyterLab is disabled, so no view is drawn"
                fix = f'"{python}" -m jupyterlab.labextensions enable {disabled} --level={level}'
                return SetupCheck(name, "problem", text, fix)
    return SetupCheck(name, "ok", "JupyterLab has the extensions that draw them")

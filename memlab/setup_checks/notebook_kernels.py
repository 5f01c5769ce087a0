"""Kernels of the learner's notebooks: a copy of a lesson that was once run with another kernel asks
for it again, whatever Python memlab is installed for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memlab.lesson_folders import LESSONS
from memlab.setup_checks.setup_check import SetupCheck

USUAL = "python3"
COPIES = (".", "my", "memlab-lessons")
"""Folders below this one in which copies of lessons may lie."""


class AskedKernel(NamedTuple):
    """Kernel that a notebook asks for, and the executable that it starts; empty where Jupyter has
    no such kernel."""

    notebook: Path
    name: str
    executable: str


def look(folder: Path) -> list[AskedKernel]:
    """Return the kernels that copies of lessons ask for, but for the usual one."""
    names = [path.name for path in sorted(LESSONS.glob("[0-9]*.ipynb"))]
    files = [folder / copies / name for copies in COPIES for name in names]
    return list(_asked(file for file in files if file.is_file()))


def _asked(files: Iterator[Path]) -> Iterator[AskedKernel]:
    for file in files:
        try:
            name = json.loads(file.read_bytes())["metadata"]["kernelspec"]["name"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # JupyterLab asks which kernel to start
        if isinstance(name, str) and name != USUAL:
            yield AskedKernel(file, name, _executable(name))


def _executable(name: str) -> str:
    try:
        from jupyter_client.kernelspec import KernelSpecManager

        return str(KernelSpecManager().get_kernel_spec(name).argv[0])
    except Exception:  # no jupyter_client, no such kernel, or a file that cannot be read
        return ""


def check_notebooks(foreign: Sequence[AskedKernel], python: str) -> SetupCheck | None:
    """Check the kernels that copies of lessons ask for; None where there is nothing to say.

    Args:
        foreign: notebooks whose kernel starts another Python than this one.
        python: executable of this Python.
    """
    if not foreign:
        return None
    first = foreign[0]
    starts = f"which starts {first.executable}" if first.executable else "which Jupyter lacks"
    others = f" ({len(foreign)} notebooks ask for another kernel)" if foreign[1:] else ""
    text = f"{first.notebook} asks for the kernel {first.name}, {starts}, and not {python}{others}"
    fix = "open the notebook in JupyterLab, then Kernel > Change Kernel > Python 3"
    return SetupCheck("kernel of notebooks", "problem", text, fix)

"""Copy of the parts of memlab that the confined process has: none of them knows an answer."""

from __future__ import annotations

import shutil
from pathlib import Path

from memlab.lesson_folders import PACKAGE

PARTS = (
    "__init__.py", "__init__.pyi", "arrays.py", "axes.py", "errors.py", "formats.py",
    "free_memory.py", "moved.py", "notebook_hooks.py", "private_api.py", "units.py",
    "strings/__init__.py", "strings/en/exercise.toml",
    "step/__init__.py", "step/paused_gc.py", "step/storage.py",
    "kernels/__init__.py", "kernels/cpu/__init__.py", "kernels/cpu/compiled_table.py",
    "runtime/__init__.py", "runtime/metering/__init__.py", "runtime/metering/meter.py",
    "runtime/metering/numpy_hook.py", "runtime/metering/numpy_private_api.py",
    "lesson/cached_arrays.py", "lesson/function_answers.py", "lesson/guarded_call.py",
    "lesson/kernel_threads.py", "lesson/own.py", "lesson/returned_values.py",
    "classroom/__init__.py", "classroom/channel.py", "classroom/plain_values.py",
)  # fmt: skip
"""Files of memlab that go into the copy, besides those of ``classroom/worker``: units and formats,
how a function is asked, how arrays are measured. Every other part is inert there."""
START = "memlab/classroom/worker/start.py"
ANSWERS = (
    PACKAGE / "lesson" / "content",
    PACKAGE / "strings" / "en" / "tasks.toml",
    PACKAGE / "strings" / "en" / "cards.toml",
)
"""Files that hold answers."""


def write(folder: Path) -> None:
    """Write the copy into an empty folder, which everybody may read and nobody write to."""
    worker = sorted((PACKAGE / "classroom" / "worker").glob("*.py"))
    files = {PACKAGE / part: part for part in PARTS}
    files |= {file: f"classroom/worker/{file.name}" for file in worker}
    for source, part in files.items():
        target = folder / "memlab" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    (folder / "memlab" / "lesson" / "__init__.py").touch()  # ``lesson_tools`` fills it
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)

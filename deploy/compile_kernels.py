"""Compile the kernels of all lessons into a folder: `python deploy/compile_kernels.py FOLDER`.

Every solved lesson is run once, in a kernel of its own; what Numba compiled is left in the folder,
which learners then share with `MEMLAB_SHARED_CACHE=FOLDER`. Nobody but the administrator may write
to it: run this as root, with the Python and on the kind of processor that learners have. It takes
about two minutes of one processor.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from memlab.kernels import shared_cache
from memlab.lesson_folders import LESSONS

SECONDS = 600
"""A cell may take so long: a machine that builds an image may be slow."""


def main(arguments: list[str]) -> int:
    """Compile into the folder that the arguments name, say how much there is, and return an exit
    status: 1 where a lesson failed."""
    if len(arguments) != 1:
        print("usage: python deploy/compile_kernels.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    complaints = [run(notebook, folder) for notebook in solved_lessons()]
    close_to_others(folder)
    if refused := shared_cache.refusal(folder):
        complaints.append(f"Learners will not read {folder}: {refused}.")
    kept = [path.stat().st_size for path in folder.rglob("*.nbc")]
    print(f"{folder} holds {len(kept)} compiled kernels, {sum(kept) / 1e6:.1f} MB.")
    print(*filter(None, complaints), sep="\n", file=sys.stderr)
    return int(any(complaints))


def solved_lessons() -> list[Path]:
    """Return the solved lessons: what they run is what learners run."""
    return sorted((LESSONS / "solutions").glob("[0-9][0-9]_*.ipynb"))


def run(notebook: Path, folder: Path) -> str:
    """Run a notebook with the folder as Numba's cache, and return what went wrong in one sentence;
    empty where nothing did."""
    content = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        own = {"NUMBA_CACHE_DIR": str(folder), shared_cache.VARIABLE: "", "IPYTHONDIR": place}
        own |= {"MEMLAB_PROGRESS": "", "MEMLAB_LANGUAGE": "en", "MEMLAB_MACHINE": "recorded"}
        client = NotebookClient(
            content, timeout=SECONDS, resources={"metadata": {"path": str(notebook.parent)}}
        )
        try:
            client.execute(env=os.environ | own, stderr=subprocess.DEVNULL)
        except CellExecutionError as error:
            return f"{notebook.name} was not run to its end: {error.ename}: {error.evalue}"
        except (CellTimeoutError, DeadKernelError):
            return f"{notebook.name} was not run to its end: its kernel died, or took too long"
    return ""


def close_to_others(folder: Path) -> None:
    """Let everybody read the folder, and nobody but its owner write to it."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run the cells of a notebook, in a fresh kernel of the running Python."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from lessons.stored import LessonError

SECONDS = 120  # as long as nbval gives a cell
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
"""Of every notebook, whatever the kernel said of itself."""


class Kernel(AsyncKernelManager):
    """A kernel of the running Python, whichever kernels the user has installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(**get_kernel_dict())


def execute(
    made: NotebookNode, folder: Path, name: str, more: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Run every cell in a fresh kernel of this Python, with `folder` as its working folder and
    `more` variables of the environment; the seconds of each, by the id of the cell.

    Raises:
        LessonError: a cell fails or takes too long.
    """
    folder.mkdir(parents=True, exist_ok=True)
    client = NotebookClient(
        made,
        kernel_manager_class=Kernel,
        resources={"metadata": {"path": str(folder)}},
        timeout=SECONDS,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
    )
    seconds: dict[str, float] = {}
    client.on_cell_execute = lambda cell, **_: seconds.update({cell.id: -time.monotonic()})
    client.on_cell_executed = lambda cell, **_: seconds.update(
        {cell.id: seconds[cell.id] + time.monotonic()}
    )
    with tempfile.TemporaryDirectory() as own:  # no start-up files of the author's
        env = os.environ | {"IPYTHONDIR": own, "MEMLAB_LANGUAGE": "en", "MEMLAB_PROGRESS": "",
               "MEMLAB_MACHINE": "recorded", "MEMLAB_REQUIRE_CARDS": "1"}  # fmt: skip
        env |= more or {}
        try:
            client.execute(env=env, stderr=subprocess.DEVNULL)
        except CellExecutionError as error:
            print(error.traceback, file=sys.stderr)
            raise LessonError(f"{name}: a cell raised {error.ename}: {error.evalue}") from error
        except CellTimeoutError as error:
            raise LessonError(f"{name}: a cell took more than {SECONDS} s.") from error
        except DeadKernelError as error:
            raise LessonError(f"{name}: the kernel died; is there enough memory?") from error
    made.metadata = nbformat.from_dict(METADATA)
    return seconds

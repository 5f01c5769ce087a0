"""Open the lessons in JupyterLab, as working copies that belong to the learner.

`lessons/` is what a later pull updates; `my/`, which git ignores, is what a learner edits.
A file that `my/` already has is never written again: delete or rename it to get a fresh copy.
The glossary alone follows the lessons. A learner's progress is kept there too, unless the
environment names another file or, being empty, none.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from memlab import atomic
from memlab.lesson.progress import FILE

CHECKOUT = Path(__file__).resolve().parent.parent
BESIDE = ("data", "images")  # folders that a lesson links to
FIRST = "00_*.ipynb"

NO_LESSONS = (
    "There are no lessons in {folder}: `memlab lab` works in a checkout of memlab, "
    "so clone the repository and run `make lab` there."
)
NO_JUPYTERLAB = (
    "JupyterLab is not installed for this Python; in the folder {folder} run: "
    '"{python}" -m pip install -e ".[lab,lessons]" -c constraints.txt'
)
OPENED = "The lessons open from {folder}; what you change there is yours, and stays."


def lab(arguments: list[str]) -> int:
    """Copy what is new in `lessons/` to `my/`, start JupyterLab there, return its exit status.

    `arguments` go on to JupyterLab, for example `--no-browser`.
    """
    lessons, mine = CHECKOUT / "lessons", CHECKOUT / "my"
    if not any(lessons.glob("*.ipynb")):
        return _refuse(NO_LESSONS.format(folder=lessons))
    if importlib.util.find_spec("jupyterlab") is None:
        return _refuse(NO_JUPYTERLAB.format(folder=CHECKOUT, python=sys.executable))
    copy_lessons(lessons, mine)
    print(OPENED.format(folder=mine), flush=True)
    environment = {FILE: str(progress_file()), **os.environ}
    return _wait(subprocess.Popen(command(mine, arguments), cwd=mine, env=environment))


def progress_file() -> Path:
    """Where a learner's progress is kept where nothing else is said."""
    return CHECKOUT / "my" / "progress.json"


def copy_lessons(lessons: Path, mine: Path) -> list[Path]:
    """Copy each notebook, outputs cleared, and what it links to; return the files that are new."""
    sources = sorted(lessons.glob("*.ipynb"))
    for folder in BESIDE:
        sources += sorted(path for path in (lessons / folder).rglob("*") if path.is_file())
    sources += sorted(lessons.glob("*.md"))
    new = []
    for source in sources:
        target = mine / source.relative_to(lessons)
        if target.exists() and source.suffix != ".md":  # the glossary is nobody's to edit
            continue
        content = source.read_bytes()
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(target, cleared(content) if source.suffix == ".ipynb" else content)
        new.append(target)
    return new


def cleared(notebook: bytes) -> bytes:
    """Return the notebook without outputs, execution counts and saved widgets."""
    content = json.loads(notebook)
    content.get("metadata", {}).pop("widgets", None)
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def command(mine: Path, arguments: list[str]) -> list[str]:
    """Return the line that starts JupyterLab in `mine`, on the first lesson where there is one."""
    first = [f"--LabApp.default_url=/lab/tree/{path.name}" for path in sorted(mine.glob(FIRST))[:1]]
    # in a container everybody is root; the server listens here alone, and asks for its token
    root = ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    return [sys.executable, "-m", "jupyterlab", *first, *root, *arguments]


def _wait(server: subprocess.Popen[bytes]) -> int:
    """Wait until the server ends; Ctrl-C is the server's to answer."""
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            continue


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1

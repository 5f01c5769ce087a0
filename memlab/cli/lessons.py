"""Open the lessons in JupyterLab, as working copies that belong to the learner.

`lessons/` is what a later pull or release updates; the copies are what a learner edits. They lie in
`my/` of a checkout, which git ignores, and where memlab was installed from a wheel, in the folder
`memlab-lessons` of the folder that `memlab lab` is called in.
A file that is there already is never written again: delete or rename it to get a fresh copy.
The glossary alone follows the lessons. `AGENTS.md` beside the copies tells an AI assistant to be a
tutor there. A learner's progress is kept there too, unless the
environment names another file or, being empty, none. With `MEMLAB_LANGUAGE=zh` the lessons that are
translated are copied to the folder `zh` there.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from memlab import atomic_files, strings
from memlab.classroom.release import RULES, TUTOR, cleared
from memlab.clocks.measured_rates import PLACE, RECORDED
from memlab.lesson.progress import FILE
from memlab.lesson_folders import CHECKOUT, LESSONS, PACKAGE, requirement

BESIDE = ("appendix", "data", "images")  # folders that a lesson links to
FIRST = "00_*.ipynb"
OWN = "memlab-lessons"
"""A learner's folder, where there is no checkout."""
CONFIG_PATH = "JUPYTER_CONFIG_PATH"

NO_LESSONS = (
    "There are no lessons in {folder}: this memlab is incomplete, so install it again, "
    "or clone its repository and run `make lab` there."
)
NO_JUPYTERLAB = (
    'JupyterLab is not installed for this Python; run{where}: "{python}" -m pip install {what}'
)
OPENED = "The lessons open from {folder}; what you change there is yours, and stays."
TRANSLATED = "In {language} there are {names}; the others are in English."


def lab(arguments: list[str]) -> int:
    """Copy the lessons that the learner does not have yet, start JupyterLab there, and return its
    exit status.

    `arguments` go on to JupyterLab, for example `--no-browser`.
    """
    if not any(LESSONS.glob("*.ipynb")):
        return _refuse(NO_LESSONS.format(folder=LESSONS))
    if importlib.util.find_spec("jupyterlab") is None:
        where = f" in the folder {CHECKOUT}" if CHECKOUT else ""
        what = requirement("lab,lessons")
        return _refuse(NO_JUPYTERLAB.format(where=where, python=sys.executable, what=what))
    mine = learners_folder()
    copy_lessons(LESSONS, mine)
    write_rules(mine)
    print(OPENED.format(folder=mine), flush=True)
    if translated := ", ".join(path.relative_to(LESSONS).as_posix() for path in _own(LESSONS)):
        print(TRANSLATED.format(language=strings.language(), names=translated), flush=True)
    return _wait(subprocess.Popen(command(mine, arguments), cwd=mine, env=environment()))


def learners_folder() -> Path:
    """Folder of the learner's working copies: ``my`` in a checkout, or the current folder where it
    is one."""
    if CHECKOUT:
        return CHECKOUT / "my"
    here = Path.cwd()
    return here if here.name == OWN else here / OWN


def progress_file() -> Path:
    """Path of the file of a learner's progress where none is given."""
    return learners_folder() / "progress.json"


def environment() -> dict[str, str]:
    """Return the environment variables for JupyterLab: progress is kept in the learner's folder,
    planned seconds are those of the recorded machine, as in the texts, and the news question is
    off.

    The latter is a default that a learner can change in JupyterLab. An installed memlab has it in
    the environment's own Jupyter configuration too, for those who start JupyterLab themselves.
    """
    paths = [*filter(None, [os.environ.get(CONFIG_PATH)]), str(PACKAGE / "jupyter")]
    kept = {FILE: str(progress_file()), PLACE: RECORDED}
    return {**kept, **os.environ, CONFIG_PATH: os.pathsep.join(paths)}


def copy_lessons(lessons: Path, mine: Path) -> list[Path]:
    """Copy each notebook without outputs, and the files that it links to. Return the new files."""
    new = []
    for source in _to_copy(lessons):
        target = mine / source.relative_to(lessons)
        if target.exists() and source.suffix != ".md":  # the glossary is nobody's to edit
            continue
        content = source.read_bytes()
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(target, cleared(content) if source.suffix == ".ipynb" else content)
        new.append(target)
    return new


def write_rules(mine: Path) -> bool:
    """Write the rules for AI assistants beside the copies, unless a file of that name is there.
    Return True if they were written."""
    if (mine / RULES).exists():
        return False
    mine.mkdir(parents=True, exist_ok=True)
    atomic_files.write(mine / RULES, TUTOR.read_bytes())
    return True


def _to_copy(lessons: Path) -> list[Path]:
    """Return the notebooks, the files that they link to, and the glossary. Hidden files, such as
    checkpoints, are left out."""
    sources = [*lessons.glob("*.ipynb"), *lessons.glob("*.md")]
    sources += [path for folder in BESIDE for path in (lessons / folder).rglob("*")]
    sources += _own(lessons)
    return sorted(path for path in sources if path.is_file() and not _hidden(path, lessons))


def _own(lessons: Path) -> list[Path]:
    """Return the lessons in the learner's language, if it is not English."""
    language = strings.language()
    return [] if language == strings.ENGLISH else sorted((lessons / language).glob("[!.]*.ipynb"))


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def command(mine: Path, arguments: list[str]) -> list[str]:
    """Return the line that starts JupyterLab in `mine`, on the first lesson where there is one."""
    first = [f"--LabApp.default_url=/lab/tree/{path.name}" for path in sorted(mine.glob(FIRST))[:1]]
    # in a container everybody is root; the server listens here alone, and asks for its token
    root = ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    return [sys.executable, "-m", "jupyterlab", *first, *root, *arguments]


def _wait(server: subprocess.Popen[bytes]) -> int:
    """Wait until the server ends. Ctrl-C is left to the server."""
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            continue


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1

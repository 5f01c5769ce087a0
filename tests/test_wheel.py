"""What a release holds, and that every command works from it, far from any checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest

from memlab import cli
from tests.course_examples import cells, fits

pytestmark = pytest.mark.measures

ROOT = Path(__file__).resolve().parents[1]
NOTIFICATION = "@jupyterlab/apputils-extension:notification"
NEWS = "etc/jupyter/labconfig/default_setting_overrides.d/memlab.json"
JUNK = (
    "lessons/.ipynb_checkpoints/00_start-checkpoint.ipynb",
    "lessons/images/.ipynb_checkpoints/check.png",
    "lessons/.00_start.ipynb.part",
    "lessons/source/__pycache__/build.pyc",
    "memlab/__pycache__/lab.pyc",
    "memlab/.hidden.toml",
    "my/00_start.ipynb",
    "memlab-lessons/00_start.ipynb",
)
"""What lies about in a folder that is worked in."""
WORKFLOW = ".github/workflows/test.yml"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """What is released, as a folder that somebody works in: with files that no release holds."""
    tree = tmp_path_factory.mktemp("tree") / "memlab"
    caches = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", ".hypothesis")
    for name in ("memlab", "lessons", "tests", "docs", "web"):
        shutil.copytree(ROOT / name, tree / name, ignore=caches)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, tree)
    for name in (*JUNK, WORKFLOW):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("junk", encoding="utf-8")
    return tree


def build(tree, target, kind):
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", target]
    subprocess.run([str(word) for word in command], cwd=tree, check=True, capture_output=True)
    (file,) = target.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tree, tmp_path_factory):
    return build(tree, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(tree, tmp_path_factory):
    return build(tree, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory):
    """The folder of a sdist."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def held(wheel):
    """The files of a wheel, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_a_wheel_holds_the_lessons_and_all_that_belongs_to_them(wheel):
    files = [path for path in (ROOT / "lessons").rglob("*") if path.is_file()]
    names = [path.relative_to(ROOT).as_posix() for path in files]
    left_out = re.compile(r"/\.|__pycache__|^lessons/source/|^lessons/\w+\.py$")
    expected = {f"memlab/{name}" for name in names if not left_out.search(name)}
    assert {name for name in held(wheel) if name.startswith("memlab/lessons/")} == expected
    folders = {PurePosixPath(name).parts[2] for name in expected}
    assert folders >= {
        "appendix",
        "data",
        "glossary.md",
        "images",
        "instructor",
        "lecture",
        "solutions",
    }


def test_a_wheel_is_as_small_as_its_page_says(wheel):
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert "in less than 4 MB" in page
    assert wheel.stat().st_size < 4 * 10**6


def test_a_release_holds_nothing_that_is_not_in_the_repository(wheel, sdist):
    with tarfile.open(sdist) as archive:
        names = held(wheel) | {name.partition("/")[2] for name in archive.getnames()}
    allowed = {".gitignore", ".github"}
    assert not [
        name
        for name in names
        if any(part.startswith(".") and part not in allowed for part in name.split("/"))
        or "__pycache__" in name
        or name.startswith(("my/", "memlab-lessons/"))
    ]


def below(folder: Path, content: bytes) -> bool:
    """Whether a text names a file of that folder, and not one of a folder that ends alike."""
    return bool(re.search(rb"(?<![\w.-])" + re.escape(os.fsencode(folder)) + b"/", content))


def test_a_release_holds_no_path_of_the_machine_that_built_it(wheel, tree):
    home = Path(os.path.expanduser("~"))
    own = [path for path in {ROOT, tree, home} if path.is_absolute() and len(path.parts) > 1]
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert not [path for path in own if below(path, archive.read(name))], name


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('open("/app/a.py")', True),
        ("file:///app/a.py", True),
        ("lessons/app/a.py", False),
        ("/app.py /appendix/", False),
    ],
)
def test_a_path_of_a_short_home_is_told_from_others(text, named):
    assert below(Path("/app"), text.encode()) == named


def test_a_wheel_of_the_sdist_is_the_same(wheel, unpacked, tmp_path):
    again = build(unpacked, tmp_path, "wheel")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_a_sdist_has_what_its_tests_and_its_readme_name(unpacked):
    assert {path.name for path in unpacked.iterdir()} >= {
        *("Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"),
        *("constraints.txt", "environment.yml", "environment-cuda.yml", "memlab", "lessons"),
        *("tests", "docs", "web", ".github"),
    }
    assert (unpacked / WORKFLOW).is_file()


# -- installed ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel, which finds the other packages where they are here."""
    here = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", here], check=True)
    scripts = here / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", here, "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    line = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.check_output([scripts / "python", "-c", line], text=True).strip()
    # the .pth files of a folder that a .pth file names are not read: this checkout is not found
    others = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (Path(own) / "others.pth").write_text("\n".join(others) + "\n", encoding="utf-8")
    return scripts


@pytest.fixture(scope="module")
def away(tmp_path_factory):
    """A folder of a learner's, far from any checkout."""
    return tmp_path_factory.mktemp("learner")


@pytest.fixture
def call(installed, away):
    """Run ``memlab`` of the fresh environment in the learner's folder."""
    home = away.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "USERPROFILE": str(home)}
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "MEMLAB_PROGRESS", "JUPYTER_CONFIG_PATH"):
        environment.pop(name, None)
    data = Path(sysconfig.get_path("data"), "share", "jupyter")  # of the other packages
    environment["JUPYTER_PATH"] = str(data)

    def called(*words, tool="memlab", **more):
        return subprocess.run(
            [str(installed / tool), *words],
            cwd=away, env=environment | more, check=False,
            capture_output=True, text=True, encoding="utf-8",
        )  # fmt: skip

    return called


def test_it_is_the_wheel_that_runs(call, installed):
    done = call("-c", "import memlab; print(memlab.__file__)", tool="python")
    assert installed.parent in Path(done.stdout.strip()).parents, done


INSTEAD = {
    "run": "run linear1 --batch 3",  # every kernel is compiled anew
    "bench": "bench",  # a benchmark takes a minute
    "guesses": "guesses --help",  # no class has handed in
    "explain": "explain --help",  # PyTorch is not in it
    "grade": "grade handed-in --csv marks.csv --trusted",  # bubblewrap is tested elsewhere
    "lab": "lab --version",  # JupyterLab says its version, and starts no server
}
LINES = {
    command.__name__: INSTEAD.get(command.__name__, line) for command, line in cli.EXAMPLES.items()
}


@pytest.mark.parametrize("command", LINES)
def test_every_command_works_from_a_wheel(call, command):
    for name in ("before.json", "after.json") if command == "diff" else ():
        assert call("plan", "mnist_cnn", "--save", name).returncode == 0
    if command == "grade":
        assert call("release", "00", "-o", "handed-in/ada").returncode == 0
    done = call(*shlex.split(LINES[command]))
    problems = (0, 1) if command == "doctor" else (0,)  # this machine may have some
    assert done.returncode in problems, done
    assert done.stdout
    assert "Traceback" not in done.stderr


def test_lessons_of_a_wheel_open_in_a_folder_of_the_learners(call, away):
    done = call("lab", "--version")
    mine = away / "memlab-lessons"
    assert str(mine) in done.stdout
    names = {path.name for path in (ROOT / "lessons").glob("[0-9]*.ipynb")}
    assert {path.name for path in mine.glob("*.ipynb")} == names
    assert {"glossary.md", "data", "images"} <= {path.name for path in mine.iterdir()}
    rules = (ROOT / "memlab" / "classroom" / "tutor.md").read_bytes()
    assert (mine / "AGENTS.md").read_bytes() == rules
    assert str(mine / "progress.json") in call("progress").stdout
    assert not (mine / "memlab-lessons").exists()


def test_what_lessons_look_up_is_in_a_wheel(call):
    code = (
        "from memlab import lesson; from memlab.measure import torch_memory\n"
        "print(lesson.exercise('02.largest_batch').solution())\n"
        "print(torch_memory.FILE.is_file())"
    )
    done = call("-c", code, tool="python")
    assert done.stdout.startswith("def largest_batch("), done
    assert done.stdout.endswith("True\n")


def test_the_examples_for_a_course_work_as_they_stand(call):
    linked, card, exercise, check = cells()
    asked = "kernels.value = 64; print(told.value)", 'print(halve.guess(2).revise("1.1"))'
    lines = (*asked, "print(exercise)", f"print({check.last})")
    sources = [cell.source for cell in (linked, card, exercise, check)]
    code = "\n".join(part for pair in zip(sources, lines, strict=True) for part in pair)
    done = call("-c", code, tool="python")
    assert done.returncode == 0, done
    assert "64 kernels, 8 images: " in done.stdout
    assert "Only 1.09 times smaller." in done.stdout
    assert "Exercise state_bytes. A linear layer with biases" in done.stdout
    assert fits(done.stdout[done.stdout.index("Not yet:") :], check.shows)


def test_jupyterlab_does_not_ask_about_news_where_memlab_is_installed(installed):
    default = json.loads((installed.parent / NEWS).read_text(encoding="utf-8"))
    assert default[NOTIFICATION]["fetchNews"] == "false"


ASK = """
import sys
from jupyterlab_server.settings_utils import get_settings
found, _ = get_settings(*sys.argv[1:4], schema_name=sys.argv[4])
print(found["schema"]["properties"]["fetchNews"]["default"], found["settings"].get("fetchNews"))
"""


@pytest.mark.parametrize(
    ("environment", "user", "found"),
    [
        ({}, "", "false None"),  # `jupyter lab` in that environment
        ({}, '{"fetchNews": "true"}', "false true"),  # what a user chose goes before it
        ({"JUPYTER_NO_CONFIG": "1"}, "", "none None"),  # JupyterLab alone: it would ask
    ],
)
def test_jupyterlab_takes_that_for_its_default(call, tmp_path, environment, user, found):
    application = Path(import_module("jupyterlab.commands").get_app_dir())
    if user:
        chosen = tmp_path / f"{NOTIFICATION.replace(':', '/')}.jupyterlab-settings"
        chosen.parent.mkdir(parents=True)
        chosen.write_text(user, encoding="utf-8")
    words = [tmp_path, application / "schemas", tmp_path, NOTIFICATION]
    done = call("-c", ASK, *map(str, words), tool="python", **environment)
    assert done.stdout.strip() == found, done

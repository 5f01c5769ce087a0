"""The files for a server: they are read as their programs read them, and they agree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from traitlets.config.loader import Config, PyFileConfigLoader

from deploy import links
from memlab import free_memory
from memlab.clocks.measured_rates import PLACE
from memlab.kernels import shared_cache
from memlab.lesson import progress

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
INSTALL = DEPLOY / "tljh" / "install.sh"
IMAGE = (DEPLOY / "image" / "Dockerfile").read_text(encoding="utf-8")
NAMES = {progress.FILE, PLACE, shared_cache.VARIABLE}
THREADS = {"NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
HUB, REPOSITORY = "https://hub.example.org/class/", "https://git.example.org/me/lessons.git"


def snippet() -> Config:
    """What The Littlest JupyterHub reads, over settings that it has already."""
    folder = DEPLOY / "tljh" / "jupyterhub_config.d"
    config = PyFileConfigLoader("memlab_hub.py", path=str(folder)).load_config()
    assert isinstance(config, Config)
    return config


def cluster() -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with jupytext")
    return yaml.safe_load((DEPLOY / "zero-to-jupyterhub.yaml").read_text(encoding="utf-8"))


def of_the_snippet() -> dict[str, str]:
    """The variables of the environment that it adds to those of others."""
    return dict(snippet().Spawner.environment.to_dict()["update"])


def of_the_image() -> dict[str, str]:
    (lines,) = re.findall(r"^ENV (.*?[^\\])$", IMAGE, re.MULTILINE | re.DOTALL)
    return dict(pair.split("=", 1) for pair in lines.replace("\\\n", " ").split())


def test_every_server_gets_the_variables_that_memlab_knows() -> None:
    tljh, pod = of_the_snippet(), cluster()["singleuser"]["extraEnv"]
    assert set(tljh) == set(pod) == NAMES | THREADS
    assert set(of_the_image()) == NAMES
    assert of_the_image().items() <= pod.items()
    own = {shared_cache.VARIABLE}
    assert {name: tljh[name] for name in tljh.keys() - own} == {
        name: pod[name] for name in pod.keys() - own
    }
    assert set(free_memory.THREADS) - {"GOTO_NUM_THREADS"} <= THREADS
    assert all(int(tljh[name]) > 1 for name in THREADS), "lessons compare 1 thread with several"


def test_settings_of_others_stay() -> None:
    """The snippet comes after them."""
    before = Config({"Spawner": {"environment": {"COURSE": "1"}, "mem_limit": "2G"}})
    before.merge(snippet())
    added = before.Spawner.environment
    assert added["COURSE"] == "1"
    assert before.Spawner.mem_limit == "2G"


@pytest.mark.skipif(find_spec("jupyterhub") is None, reason="make hub installs JupyterHub")
def test_jupyterhub_has_what_the_snippet_sets() -> None:
    from jupyterhub.spawner import Spawner

    found = snippet()
    assert set(found) == {"Spawner"}
    assert all(Spawner.class_traits(config=True)[name] for name in found.Spawner)


def test_jupyter_server_has_what_its_file_sets() -> None:
    manager = pytest.importorskip("jupyter_server.services.kernels.kernelmanager")
    file = DEPLOY / "jupyter_server_config.d" / "memlab.json"
    for name, values in json.loads(file.read_text(encoding="utf-8")).items():
        traits = getattr(manager, name).class_traits(config=True)
        assert set(values) <= set(traits)
        for trait, value in values.items():
            traits[trait].validate(getattr(manager, name)(), value)


def test_a_pod_has_the_user_the_home_and_the_kernels_of_the_image() -> None:
    pod = cluster()["singleuser"]
    assert f"--uid {pod['uid']} " in IMAGE
    assert f"\nUSER {pod['uid']}\n" in IMAGE
    kernels = pod["extraEnv"][shared_cache.VARIABLE]
    assert f"compile_kernels.py {kernels} " in IMAGE
    assert {"limit", "guarantee"} == set(pod["memory"])


def test_what_the_image_copies_is_there_and_is_sent() -> None:
    sent = (DEPLOY / "image" / "Dockerfile.dockerignore").read_text().split()
    assert sent[0] == "*", "nothing but what is named"
    named = {line[1:] for line in sent if line.startswith("!")}
    assert not [name for name in named if not (ROOT / name).exists()]
    copied = [word for line in re.findall(r"^COPY (?!--|\. )(.*) \S+$", IMAGE, re.MULTILINE)
              for word in line.split()]  # fmt: skip
    assert len(copied) >= 3
    for word in copied:
        assert any(Path(word).is_relative_to(name) for name in named), word
        assert (ROOT / word).exists()


# -- what the page says was measured --------------------------------------------------------------


def test_the_page_cites_what_was_measured() -> None:
    page = " ".join((ROOT / "docs" / "hub.md").read_text(encoding="utf-8").split())
    found = json.loads((DEPLOY / "measured.json").read_text(encoding="utf-8"))
    for name, slider in found["slider_ms"].items():
        mib = 2**20
        sizes = [found[key][name]["pss"] / mib for key in ("users", "users_after_a_run")]
        assert (
            f"| {name} | {slider['median']:.0f} ms | {slider['p95']:.0f} ms "
            f"| {sizes[0]:.0f} MiB | {sizes[1]:.0f} MiB |"
        ) in page
        assert max(sizes) < 512, "the page plans half a GiB for each learner"
    versions = found["versions"]
    for said in (
        f"({found['machine'].partition(',')[0]}; JupyterHub {versions['jupyterhub']}, "
        f"JupyterLab {versions['jupyterlab']}; {found['date']})",
        f"took {found['server_ms_a_step']:.0f} ms of a processor",
        f"were open {found['open_seconds']:.0f} s after the login",
        found["memlab_says"],
        _kernels(found["shared_kernels"]),
    ):
        assert said in page


def _kernels(found: Any) -> str:
    """Sentence of the page on the kernels that were compiled beforehand."""
    folder, first, then = found["folder"], found["compiled"], found["shared"]
    assert then["compiled"] == 0
    return (
        f"{folder['kernels']} kernels in {folder['megabytes']} MB, after "
        f"{folder['processor_seconds']} s of a processor. A first training step of the digit "
        f"network then took a user without rights {then['processor_seconds']} s of a processor, "
        f"and not {first['processor_seconds']} s, and {then['resident_mib']} MiB of memory, and "
        f"not {first['resident_mib']}: {then['read']} kernels were read, and none of "
        f"{first['compiled']} functions was compiled."
    )


# -- the script, with a hub that only writes down what it is told ---------------------------------

PYTHON = """#!/bin/sh
echo "python $*" >> "{log}"
case "$2" in *version_info*) exit {old};; esac
"""
TOLD = """#!/bin/sh
echo "tljh-config $*" >> "{log}"
"""


@pytest.fixture
def littlest(tmp_path: Path) -> Path:
    return hub_of(tmp_path)


def hub_of(folder: Path, old: int = 0) -> Path:
    """A folder that looks like The Littlest JupyterHub."""
    for name, text in (("user/bin/python", PYTHON), ("hub/bin/tljh-config", TOLD)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text.format(log=folder / "log", old=old))
        (folder / name).chmod(0o755)
    (folder / "memlab.whl").touch()
    return folder


def installed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(INSTALL), *words], capture_output=True, text=True, cwd=folder,
        env=os.environ | {"TLJH_INSTALL_PREFIX": str(folder)},
    )  # fmt: skip


AS_ROOT = pytest.mark.skipif("os.name == 'nt' or os.geteuid() != 0", reason="it asks for root")


@pytest.mark.measures
@AS_ROOT
def test_the_script_installs_compiles_configures_and_reloads(littlest: Path) -> None:
    done = installed(littlest, "memlab.whl", "2G")
    assert done.returncode == 0, done.stderr
    told = (littlest / "log").read_text().splitlines()
    assert told[1:3] == [
        "python -m pip install --quiet --upgrade memlab.whl[lab,lessons] nbgitpuller",
        "python -m pip install --quiet --force-reinstall --no-deps memlab.whl",
    ]
    kernels = littlest / "memlab" / "kernels"
    assert re.fullmatch(rf"python \S+/compile_kernels\.py {kernels}", told[3])
    assert told[4:] == [
        "tljh-config set limits.memory 2G",
        "tljh-config set services.cull.timeout 3600",
        "tljh-config reload",
    ]
    config = (littlest / "config/jupyterhub_config.d/memlab_hub.py").read_text()
    assert f'"{shared_cache.VARIABLE}": "{kernels}"' in config
    server = littlest / "user/etc/jupyter/jupyter_server_config.d/memlab.json"
    assert json.loads(server.read_text())
    assert installed(littlest, "memlab.whl").returncode == 0, "again is to update"


@pytest.mark.measures
@AS_ROOT
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "usage: "),
        (("missing.whl",), "There is no file missing.whl"),
        (("memlab.whl", "1000"), "a size such as 1G, got 1000"),
    ],
)
def test_the_script_refuses_in_one_sentence(
    words: tuple[str, ...], says: str, littlest: Path
) -> None:
    done = installed(littlest, *words)
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (littlest / "log").exists()
    assert not (littlest / "config").exists()


@pytest.mark.measures
@AS_ROOT
def test_the_script_needs_a_hub_and_a_new_python(tmp_path: Path) -> None:
    (tmp_path / "memlab.whl").touch()
    assert "is not in" in installed(tmp_path, "memlab.whl").stderr
    assert "Python 3.11" in installed(hub_of(tmp_path / "old", old=1), "memlab.whl").stderr


@pytest.mark.measures
@pytest.mark.skipif("shutil.which('shellcheck') is None", reason="shellcheck is not installed")
def test_the_script_is_a_sound_one() -> None:
    assert shutil.which("bash")
    done = subprocess.run(["shellcheck", str(INSTALL)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# -- links ----------------------------------------------------------------------------------------


def test_a_link_says_what_nbgitpuller_reads() -> None:
    address = links.link(HUB, REPOSITORY, "week 1/a&b", "02_network.ipynb")
    parts = urlsplit(address)
    assert parts.path == "/class/hub/user-redirect/git-pull"
    assert parse_qs(parts.query, strict_parsing=True) == {
        "repo": [REPOSITORY],
        "branch": ["week 1/a&b"],
        "targetPath": ["memlab-lessons"],
        "urlpath": ["lab/tree/memlab-lessons/02_network.ipynb"],
    }


def test_the_table_has_a_link_for_each_lesson(capsys: Any) -> None:
    assert links.main([HUB, REPOSITORY, "--under", "/week1/"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    names = sorted(path.name for path in (ROOT / "lessons").glob("[0-9][0-9]_*.ipynb"))
    assert len(rows) == len(names) >= 14
    for row, name in zip(rows, names, strict=True):
        assert row.startswith(f"| {name[:2]} ")
        assert row.endswith(f"%2Fweek1%2F{name}) |")
        assert "?" not in row.partition("(")[0], "a title without its question"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["hub", REPOSITORY], "the hub must be an address such as https://example.org, got 'hub'"),
        ([HUB, "git@example.org:me/lessons"], "the repository must be an address"),
        ([HUB + "?x=1", REPOSITORY], "the hub must be an address"),
        ([HUB, REPOSITORY, "--lessons", "/nowhere"], "there is no lesson in /nowhere"),
    ],
)
def test_what_is_no_address_gets_a_sentence(given: list[str], says: str, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        links.main(given)
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["a/b", "..", ""])
def test_the_folder_is_one_name(folder: str) -> None:
    with pytest.raises(ValueError, match="the folder must be one name"):
        links.link(HUB, REPOSITORY, "main", "02_network.ipynb", folder)


# -- the kernels ----------------------------------------------------------------------------------


@pytest.mark.measures
@pytest.mark.skipif("os.environ.get('MEMLAB_CLASSROOM') != 'full'", reason="make hub runs it")
@pytest.mark.skipif("os.name == 'nt'", reason="Windows does not tell who can write")
def test_kernels_are_compiled_for_others_to_read_alone(tmp_path: Path, monkeypatch: Any) -> None:
    import nbformat

    from deploy import compile_kernels

    solved = tmp_path / "lessons" / "solutions"
    solved.mkdir(parents=True)
    for number, code in (("01", "from memlab.kernels.cpu.compile import nothing; nothing(1)"),
                         ("02", "1 / 0")):  # fmt: skip
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        nbformat.write(notebook, solved / f"{number}_some.ipynb")
    monkeypatch.setattr(compile_kernels, "LESSONS", tmp_path / "lessons")
    kernels = tmp_path / "kernels"
    old = os.umask(0)
    try:
        assert compile_kernels.main([str(kernels)]) == 1, "a lesson failed"
    finally:
        os.umask(old)
    assert len([*kernels.rglob("*.nbc")]) == 1
    assert shared_cache.refusal(kernels) == ""

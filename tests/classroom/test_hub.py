"""Three learners on a JupyterHub of this machine, at once, in a real browser.

`make hub` runs this: it installs JupyterHub and its proxy, which nothing else here needs. Each
learner follows the link of a lesson, which brings it by Git, runs every cell, and moves a slider
while the others do the same; then one of them asks for 100 GiB.
"""

from __future__ import annotations

import http.server
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from deploy import links
from memlab import free_memory
from memlab.classroom.release import release
from memlab.kernels.shared_cache import VARIABLE
from tests.browser.conftest import ERRORS, READY, RUN_ALL
from tests.classroom import memory_group
from tests.classroom.in_lab import ALL_RUN, MOVE, RUN

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif("os.environ.get('MEMLAB_CLASSROOM') != 'full'", reason="make hub runs it"),
]
pytest.importorskip("jupyterhub", reason="make hub installs JupyterHub")

from tests.classroom import local_hub  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LEARNERS = ("first", "second", "third")
LESSON = "02_network.ipynb"
GIB, MIB = 2**30, 2**20
PACKAGES = ("jupyterhub", "jupyterlab", "numba", "numpy")
STEPS = 30
SLIDER_MS, USER_BYTES = 60, 450 * MIB
TRAIN = """import memlab
run = memlab.run(memlab.training_step(memlab.zoo.mnist_cnn()), batch=8)
print("residual", run.residual)
"""
REFUSED = """import memlab
try:
    memlab.run(memlab.training_step(memlab.zoo.vgg16()), batch=1000)
except memlab.errors.InputError as error:
    print(error)
"""
HUNDRED = (
    "import numpy as np; parts = [np.ones(2**30, np.uint8) for _ in range(100)]; print('done')"
)


RECORDED = ROOT / "deploy" / "measured.json"
FIGURES: dict[str, Any] = {}
"""What was measured: printed at the end, and recorded where `make hub RECORD=1` asks for it."""


@dataclass(frozen=True)
class Hub:
    """A running hub, and the address of a Git repository with the lessons."""

    url: str
    home: Path
    repository: str


@pytest.fixture(scope="module", autouse=True)
def figures() -> Iterator[None]:
    """The figures of the trial, shown and recorded behind its last test."""
    yield
    here = {"machine": f"{free_memory.processor()}, {free_memory.cores()} cores",
            "date": date.today().isoformat(), "command": "make hub RECORD=1", "lesson": LESSON,
            "versions": {name: version(name) for name in PACKAGES}, "steps": STEPS}  # fmt: skip
    text = json.dumps(here | FIGURES, indent=2)
    print(f"\n{text}")
    if os.environ.get("MEMLAB_RECORD"):
        kept = json.loads(RECORDED.read_text(encoding="utf-8")) | json.loads(text)
        RECORDED.write_text(f"{json.dumps(kept, indent=2)}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Git repository of released lessons, served over HTTP on this machine."""
    folder = tmp_path_factory.mktemp("lessons")
    release(["00", "02"], folder)
    author = ["-c", "user.name=teacher", "-c", "user.email=teacher@example.org"]
    bare = tmp_path_factory.mktemp("served") / "lessons.git"
    for line in (["init", "-q", "-b", "main"], ["add", "-A"], [*author, "commit", "-qm", "Add"],
                 ["clone", "-q", "--bare", ".", str(bare)]):  # fmt: skip
        subprocess.run(["git", *line], cwd=folder, check=True)
    subprocess.run(["git", "update-server-info"], cwd=bare, check=True)
    handler = partial(_Quiet, directory=str(bare.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/lessons.git"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, repository: str) -> Iterator[Hub]:
    """JupyterHub on loopback; a group of 1 GiB was tried before any learner is in one."""
    if not local_hub.proxy():
        pytest.fail("configurable-http-proxy is not installed; make hub installs it")
    _try_a_group()
    home = tmp_path_factory.mktemp("hub")
    ports = _free_ports()
    # a plain HTTP server of files has no shallow copies
    more = {"NBGITPULLER_DEPTH": "0", "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)),
            VARIABLE: os.environ.get(VARIABLE, "")}  # fmt: skip
    (home / "jupyterhub_config.py").write_text(local_hub.configuration(home, ports, more))
    own = {"PYTHONPATH": str(ROOT), "PATH": _path(), "JUPYTER_CONFIG_DIR": str(home / "config"),
           "CONFIGPROXY_AUTH_TOKEN": secrets.token_hex(16)}  # fmt: skip
    environment = os.environ | own
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(home / "jupyterhub_config.py")],
            cwd=home, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    url = f"http://127.0.0.1:{ports[0]}"
    try:
        _wait_until_it_answers(url, process, home / "log")
        yield Hub(url, home, repository)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for learner in LEARNERS:
            if (group := _group(home, learner)) and group.folder.exists():
                group.remove()


def _try_a_group() -> None:
    """Skip where no control group can be made; fail where its limit does not hold."""
    try:
        group = memory_group.make("trial", GIB)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        assert group.limit == GIB
        assert group.ends_who_takes_more(), "a limit that is set, and does not hold"
    finally:
        group.remove()


def _path() -> str:
    """Programs beside this Python come first: the hub starts jupyterhub-singleuser by its name."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def _free_ports() -> tuple[int, int, int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports[0], ports[1], ports[2]


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/hub/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterHub did not start:\n{log.read_text()}")


def _group(home: Path, learner: str) -> memory_group.MemoryGroup | None:
    file = home / learner / "group.json"
    return memory_group.MemoryGroup(Path(json.loads(file.read_text()))) if file.exists() else None


@pytest.fixture(scope="module")
def room(browser: Any, hub: Hub) -> Iterator[dict[str, Any]]:
    """A page for each learner, with the lesson open and every cell run: all at once."""
    pages = {name: browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
             for name in LEARNERS}  # fmt: skip
    errors: list[str] = []
    for page in pages.values():
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(links.link(hub.url, hub.repository, "main", LESSON))
    start = time.monotonic()
    for name, page in pages.items():
        page.fill("#username_input", name)
        page.fill("#password_input", local_hub.ROOM)
        page.evaluate("() => void document.querySelector('#login_submit').click()")
    for page in pages.values():
        page.wait_for_url("**/lab/tree/memlab-lessons/**")
        page.wait_for_function(READY)
    FIGURES["open_seconds"] = round(time.monotonic() - start, 1)
    start = time.monotonic()
    for page in pages.values():
        page.evaluate(f"() => void ({RUN_ALL})()")
    for page in pages.values():
        page.wait_for_function(ALL_RUN)
        assert page.evaluate(ERRORS) == []
    FIGURES["run_seconds"] = round(time.monotonic() - start, 1)
    yield pages
    assert errors == []


def test_a_slider_answers_while_the_others_move_theirs(room: dict[str, Any], hub: Hub) -> None:
    before = _server_seconds(hub)
    for page in room.values():
        page.wait_for_selector(".memlab-view input[type=range]")
        page.evaluate(f"() => {{ window.moved = ({MOVE})({STEPS}); }}")
    for name, page in room.items():
        drawn, seen = zip(*page.evaluate("() => window.moved"), strict=True)
        FIGURES.setdefault("slider_ms", {})[name] = {
            "median": round(statistics.median(drawn), 1),
            "p95": round(sorted(drawn)[int(0.95 * len(drawn))], 1),
            "frame_median": round(statistics.median(seen), 1),
        }
    steps = STEPS * len(room)
    FIGURES["server_ms_a_step"] = round(1000 * (_server_seconds(hub) - before) / steps, 1)
    assert all(found["median"] <= SLIDER_MS for found in FIGURES["slider_ms"].values())


def _server_seconds(hub: Hub) -> float:
    """Seconds of a processor that all servers and kernels have taken."""
    groups = [_group(hub.home, name) for name in LEARNERS]
    processes = [process for group in groups if group for process in group.processes()]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def test_a_learner_takes_no_more_than_planned(room: dict[str, Any], hub: Hub) -> None:
    """The server and its kernel; then with Numba loaded and kernels compiled, by all at once."""
    FIGURES["users"] = {name: _taken(hub, name) for name in room}
    for page in room.values():
        page.evaluate(f"(code) => {{ window.ran = ({RUN})(code); }}", TRAIN)
    assert {page.evaluate("() => window.ran").strip() for page in room.values()} == {"residual 0"}
    FIGURES["users_after_a_run"] = {name: _taken(hub, name) for name in room}
    for moment in ("users", "users_after_a_run"):
        assert all(user["pss"] <= USER_BYTES for user in FIGURES[moment].values())


def _taken(hub: Hub, name: str) -> dict[str, int]:
    """Bytes of a learner's processes, now and at most."""
    group = _group(hub.home, name)
    assert group is not None
    assert group.limit == GIB
    server, *kernels = sorted(group.processes(), key=lambda process: process.create_time())
    assert kernels
    FIGURES["server_bytes"] = max(FIGURES.get("server_bytes", 0), server.memory_info().rss)
    return {"pss": group.proportional(), "rss": group.resident(), "most": group.most_taken}


def test_a_cell_that_asks_for_too_much_ends_its_own_kernel_and_no_other(
    room: dict[str, Any], hub: Hub
) -> None:
    first, *others = room.values()
    kept = "kept = 42; print('set')"
    assert [page.evaluate(RUN, kept).strip() for page in room.values()] == ["set"] * len(room)
    told = first.evaluate(RUN, REFUSED)
    FIGURES["memlab_says"] = told.strip()
    assert "refused before anything was allocated" in told
    assert first.evaluate(RUN, "print(kept)").strip() == "42", "a refusal ends nothing"
    assert first.evaluate(RUN, HUNDRED) == "ended"
    first.wait_for_selector(".jp-Dialog")
    said = first.locator(".jp-Dialog").inner_text()
    FIGURES["jupyterlab_says"] = " ".join(said.split())
    assert "restart" in said
    first.locator(".jp-Dialog .jp-mod-accept").click()
    first.wait_for_function(READY)
    assert "NameError" in first.evaluate(RUN, "print(kept)"), "a new kernel, of the same learner"
    for page in others:
        assert page.evaluate(RUN, "print(kept)").strip() == "42"


def test_answers_are_kept_in_the_learners_own_home(room: dict[str, Any], hub: Hub) -> None:
    """Of the lesson that was pulled, without what solves it, nothing but the answers changes."""
    for page in room.values():
        page.evaluate(RUN, "from memlab import lesson; lesson.predict('02.output').guess(1)")
    for name in LEARNERS:
        kept = json.loads((hub.home / name / "progress.json").read_text(encoding="utf-8"))
        assert [turn["guess"] for turn in kept["cards"]["02.output"]] == ["1 B"]
        assert not (hub.home / name / "memlab-lessons" / "solutions").exists()

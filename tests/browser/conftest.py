"""What a browser test needs: Chromium, JupyterLab on the learners' copies, a page, and axe-core.

Each process has one JupyterLab, in one tab: to load it takes longer than most tests. A test finds
nothing open in it, and what it opens is closed behind it.

def test_slider(open_lesson, findings):
    page = open_lesson("02_network.ipynb")      # open, and every cell run
    page.locator(".memlab-view input[type=range]").first.press("ArrowRight")
    assert findings(page, ".memlab-view") == []
"""

import json
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from memlab.cli.lessons import copy_lessons, environment
from tests.chromium import VIEWPORT

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
SETTINGS = {
    "docmanager-extension/plugin": {"autosave": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # every cell is in the page
}
OPEN = """async ([path, id]) => {
    const kernel = id ? {kernel: {id}} : {};
    await jupyterapp.commands.execute("docmanager:open", {path, factory: "Notebook", ...kernel});
}"""
READY = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    const kernel = panel?.sessionContext?.session?.kernel;
    return kernel?.status === "idle" && panel.content.widgets.length > 0;
}"""
RUN_ALL = "() => jupyterapp.commands.execute('notebook:run-all-cells')"
ERRORS = """() => jupyterapp.shell.currentWidget.model.sharedModel.cells
    .flatMap(cell => cell.toJSON().outputs ?? [])
    .filter(output => output.output_type === "error")
    .map(output => output.ename + ": " + output.evalue)"""
CLOSE = """async id => {
    const {sessions} = jupyterapp.serviceManager;
    for (const widget of [...jupyterapp.shell.widgets("main")]) widget.dispose();
    await sessions.refreshRunning();
    for (const session of [...sessions.running()])
        if (session.kernel?.id !== id) await sessions.shutdown(session.id);
    return document.querySelectorAll(".jp-Dialog").length;
}"""
"""All kernels but one: they hold memory that the next test may need."""
FORGET = """async code => {
    const kernel = jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
    if (kernel?.status !== "idle") return "";
    await kernel.requestExecute({code, silent: true, store_history: false}).done;
    return kernel.id;
}"""
"""All that a notebook has defined and shown; its kernel can go on, with memlab loaded."""
FORGETTING = "import ipywidgets; ipywidgets.Widget.close_all(); %reset -sf"
STILL = """() => {
    const seen = document.querySelector(".memlab")?.outerHTML, still = seen && seen === window.seen;
    window.seen = seen;
    return still;
}"""  # a view is drawn again when it knows how wide its page is


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: `lessons/` is its root folder, with `solutions/` in it."""

    url: str
    token: str
    root: Path

    @property
    def start(self):
        return f"{self.url}/lab?token={self.token}&reset"


@pytest.fixture(scope="session")
def jupyterlab(chromium, tmp_path_factory):
    """JupyterLab on this machine only, on copies of the lessons, with settings of its own."""
    home = tmp_path_factory.mktemp("jupyterlab")
    root = home / "lessons"
    root.mkdir()
    copy_lessons(LESSONS, root)
    for folder in ("solutions", *(path.parent.name for path in LESSONS.glob("??/01_*.ipynb"))):
        copy_lessons(LESSONS / folder, root / folder)
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}", secrets.token_hex(16), root)
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            _command(server, port), env=_environment(home), stdout=log, stderr=log
        )
    try:
        _wait_until_it_answers(server, process, home / "log")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def lab(browser, jupyterlab):
    """The tab with JupyterLab in it."""
    tab = browser.new_context(viewport=VIEWPORT).new_page()
    start(tab, jupyterlab)
    return tab


def start(tab, jupyterlab):
    """Load JupyterLab, with nothing open in it."""
    tab.set_default_timeout(120_000)
    tab.goto(jupyterlab.start)
    tab.wait_for_function("() => window.jupyterapp")
    tab.evaluate("() => jupyterapp.restored")


WHOLE_WIDTH = """() => {
    jupyterapp.shell.collapseLeft();
    jupyterapp.shell.collapseRight();
}"""
"""Closes the panels at the sides, which the tab of many tests may have open: beside them a view is
narrower, and taller."""


@pytest.fixture
def open_notebook(lab, jupyterlab):
    """`open_notebook("02_network.ipynb")` opens it, and no cell is run; an uncaught error in a
    script fails the test."""
    errors = []

    def heard(error):
        errors.append(str(error))

    def opened(path, kernel=""):
        lab.set_default_timeout(120_000)
        lab.evaluate(OPEN, [path, kernel])
        lab.wait_for_function(READY)
        lab.evaluate(WHOLE_WIDTH)
        return lab

    lab.on("pageerror", heard)
    lab.set_viewport_size(VIEWPORT)
    lab.emulate_media(reduced_motion="null")
    yield opened
    if lab.evaluate(CLOSE, Kernel.id):  # a dialog would stand before the next notebook
        start(lab, jupyterlab)
    lab.remove_listener("pageerror", heard)
    assert errors == []


@pytest.fixture
def open_lesson(open_notebook):
    """`open_lesson("02_network.ipynb")` opens it, runs every cell and returns the page."""

    def opened(path, kernel=""):
        page = open_notebook(path, kernel)
        page.evaluate(RUN_ALL)
        page.wait_for_function(READY)
        assert page.evaluate(ERRORS) == []
        page.set_default_timeout(30_000)
        return page

    return opened


@pytest.fixture
def open_cells(jupyterlab, open_lesson):
    """`open_cells("x = 1", "x")` writes these cells into a notebook, which it opens and runs."""

    def opened(*sources, kernel=""):
        cells = [
            {"cell_type": "code", "source": source, "outputs": [], "execution_count": None}
            | {"id": f"cell{index}", "metadata": {}}
            for index, source in enumerate(sources)
        ]
        python = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = {"cells": cells, "metadata": python, "nbformat": 4, "nbformat_minor": 5}
        name = f"{secrets.token_hex(4)}.ipynb"
        (jupyterlab.root / name).write_text(json.dumps(notebook), encoding="utf-8")
        return open_lesson(name, kernel)

    return opened


class Kernel:
    """The kernel that tests share: to load memlab takes it longer than to draw a view."""

    id = ""


@pytest.fixture
def open_shared(lab, open_cells):
    """`open_shared("x = 1", "x")` does as `open_cells`, in a kernel that has run other cells:
    what they defined and displayed is gone, what they changed in a module is not."""
    calls = []

    def opened(*sources):
        calls.append(sources)
        return open_cells(*sources, kernel=Kernel.id)

    yield opened
    if calls:
        Kernel.id = ""
        Kernel.id = lab.evaluate(FORGET, FORGETTING)


@pytest.fixture
def open_view(open_shared):
    """`open_view("memlab.views.number()")` shows it in a notebook of one cell."""

    def opened(source):
        page = open_shared(f"import memlab\n{source}")
        page.wait_for_function(STILL, polling=200)
        return page

    return opened


@pytest.fixture
def theme(lab):
    """`theme("Dark")` changes the theme of JupyterLab, which remembers it: light in the end."""
    change = "name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})"

    def changed(name):
        is_light = json.dumps(str(name == "Light").lower())
        there = f"document.body.dataset.jpThemeLight === {is_light}"
        if lab.evaluate(there):
            return
        lab.evaluate(change, f"JupyterLab {name}")
        lab.wait_for_function(there)
        lab.wait_for_timeout(500)  # two changes at once are an error of JupyterLab's

    yield changed
    changed("Light")


def _command(server, port):
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        f"--IdentityProvider.token={server.token}",
        f"--ServerApp.root_dir={server.root}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]


def _environment(home):
    folders = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
    }
    own = {name: str(home / folder) for name, folder in folders.items()}
    return environment() | own | {"MEMLAB_PROGRESS": ""}


def _wait_until_it_answers(server, process, log, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/api?token={server.token}", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")

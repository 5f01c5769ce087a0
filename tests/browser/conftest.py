"""What a browser test needs: Chromium, JupyterLab on the learners' copies, a page, and axe-core.

def test_slider(open_lesson, findings):
    page = open_lesson("02_network.ipynb")      # open, and every cell run
    page.locator(".memlab-view input[type=range]").first.press("ArrowRight")
    assert findings(page, ".memlab-view") == []
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from memlab.lab import copy_lessons, environment

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SETTINGS = {
    "docmanager-extension/plugin": {"autosave": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # every cell is in the page
}
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
SHUT_DOWN = "() => jupyterapp.serviceManager.sessions.shutdownAll()"


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: `lessons/` is its root folder, with `solutions/` in it."""

    url: str
    token: str
    root: Path

    def page(self, path):
        return f"{self.url}/lab/tree/{path}?token={self.token}&reset"


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium; without one the test is skipped, or fails where one is required."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        reason = "no Chromium found: install one, or set CHROMIUM to its path"
        (pytest.fail if os.environ.get("MEMLAB_REQUIRE_BROWSER") == "1" else pytest.skip)(reason)
    return path


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A fresh page, as wide as a laptop; an uncaught error in its scripts fails the test."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


@pytest.fixture(scope="session")
def jupyterlab(chromium, tmp_path_factory):
    """JupyterLab on this machine only, on copies of the lessons, with settings of its own."""
    home = tmp_path_factory.mktemp("jupyterlab")
    root = home / "lessons"
    root.mkdir()
    copy_lessons(LESSONS, root)
    copy_lessons(LESSONS / "solutions", root / "solutions")
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


@pytest.fixture
def open_lesson(page, jupyterlab):
    """`open_lesson("02_network.ipynb")` opens it, runs every cell and returns the page."""

    def opened(path, seconds=120):
        page.set_default_timeout(1000 * seconds)
        page.goto(jupyterlab.page(path))
        page.wait_for_function(READY)
        page.evaluate(RUN_ALL)
        page.wait_for_function(READY)
        assert page.evaluate(ERRORS) == []
        page.set_default_timeout(30_000)
        return page

    yield opened
    if page.evaluate("() => Boolean(window.jupyterapp)"):
        page.evaluate(SHUT_DOWN)  # kernels hold memory that the next test may need


@pytest.fixture
def open_cells(jupyterlab, open_lesson):
    """`open_cells("x = 1", "x")` writes these cells into a notebook, which it opens and runs."""

    def opened(*sources):
        cells = [
            {"cell_type": "code", "source": source, "outputs": [], "execution_count": None}
            | {"id": f"cell{index}", "metadata": {}}
            for index, source in enumerate(sources)
        ]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (jupyterlab.root / "cells.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        page = open_lesson("cells.ipynb")
        page.evaluate("() => jupyterapp.shell.collapseLeft()")
        return page

    return opened


@pytest.fixture
def theme(page):
    """`theme("Dark")` changes the theme of JupyterLab, which remembers it: light in the end."""
    change = "name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})"

    def changed(name):
        is_light = json.dumps(str(name == "Light").lower())
        there = f"document.body.dataset.jpThemeLight === {is_light}"
        if page.evaluate(there):
            return
        page.evaluate(change, f"JupyterLab {name}")
        page.wait_for_function(there)
        page.wait_for_timeout(500)  # two changes at once are an error of JupyterLab's

    yield changed
    changed("Light")


@pytest.fixture
def findings():
    """`findings(page, css)` runs axe-core there and returns what is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    def found(page, css):
        violations = Axe().run(page, context=css).response["violations"]
        return [
            f"{violation['id']}: {node['html'][:200]}"
            for violation in violations
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]

    return found


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

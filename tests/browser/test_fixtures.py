"""The browser tests' own test: the fixtures see what a broken page and a broken lesson show."""

import json

import pytest


def put(server, name, source):
    cell = {"cell_type": "code", "source": source, "outputs": [], "execution_count": None}
    cells = [{**cell, "id": "only", "metadata": {}}]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (server.root / name).write_text(json.dumps(notebook), encoding="utf-8")
    return name


def test_a_notebook_runs_to_its_end(jupyterlab, open_lesson):
    page = open_lesson(put(jupyterlab, "sums.ipynb", "import time; time.sleep(1); print(6 * 7)"))
    assert page.get_by_text("42", exact=True).count() == 1


def test_a_cell_that_fails_is_seen(jupyterlab, open_lesson):
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        open_lesson(put(jupyterlab, "broken.ipynb", "1 / 0"))


def test_axe_finds_a_control_without_a_name_under_its_root_only(page, findings):
    page.set_content("<title>t</title><p id=good>4 MB</p><p id=bad><input type=range></p>")
    assert findings(page, "#good") == []
    (finding,) = findings(page, "#bad")
    assert finding.startswith("label: ")

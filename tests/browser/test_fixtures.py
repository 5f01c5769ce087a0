"""The browser tests' own test: the fixtures see what a broken page and a broken lesson show."""

import pytest


def test_a_notebook_runs_to_its_end(open_cells):
    page = open_cells("import time; time.sleep(1)", "print(6 * 7)")
    assert page.get_by_text("42", exact=True).count() == 1


def test_jupyterlab_does_not_ask_about_news(open_cells):
    assert open_cells("print(6 * 7)").get_by_text("official Jupyter news").count() == 0


def test_a_cell_that_fails_is_seen(open_cells):
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        open_cells("1 / 0")


def test_axe_finds_a_control_without_a_name_under_its_root_only(page, findings):
    page.set_content("<title>t</title><p id=good>4 MB</p><p id=bad><input type=range></p>")
    assert findings(page, "#good") == []
    (finding,) = findings(page, "#bad")
    assert finding.startswith("label: ")

"""The doctor, given machines with planted problems, and this one."""

from __future__ import annotations

import ast
import errno
import json
import os
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest

import memlab
from memlab import cli, free_memory, setup_checks
from memlab.errors import InputError
from memlab.kernels import shared_cache
from memlab.lesson_folders import LESSONS, PACKAGE
from memlab.setup_checks import SetupCheck, SetupReport, blas_threads, lab_extensions, room_left
from memlab.setup_checks.lab_extensions import LabExtensions
from memlab.setup_checks.room_left import DiskRoom
from memlab.setup_checks.second_package import check_single
from tests.rows import every_row

PYTHON = "/home/ada/memlab/.venv/bin/python"


def test_python_must_be_new_enough():
    assert setup_checks.check_python((3, 11, 0), PYTHON).status == "ok"
    old = setup_checks.check_python((3, 10, 14), PYTHON)
    assert old.status == "problem"
    assert "3.10.14" in old.text
    assert "3.11" in old.fix


def test_an_older_python_is_refused_before_anything_is_loaded(monkeypatch):
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    code = compile(ast.parse(source, feature_version=(3, 7)), "__init__.py", "exec")
    monkeypatch.setattr(sys, "version_info", (3, 10, 14))
    told = r"needs Python 3\.11 or newer, and .* is 3\.10\.14; install"
    for argv, error in ((["-m", "doctor"], SystemExit), (["notebook"], ImportError)):
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(error, match=told):
            exec(code, {})


def test_memlab_must_be_installed():
    assert setup_checks.check_memlab("0.1.0", PYTHON) == SetupCheck("memlab", "ok", "0.1.0")
    assert "pip install -e" in setup_checks.check_memlab(None, PYTHON).fix


@every_row(
    ("requirement", "expected"),
    [
        ("numpy", ("numpy", "", "", "")),
        ("numpy<3,>=2.0", ("numpy", "2.0", "3", "")),
        ("numba>=0.62", ("numba", "0.62", "", "")),
        ("ml-dtypes", ("ml-dtypes", "", "", "")),
        ("ipywidgets", ("ipywidgets", "8", "", "")),
        ("ipywidgets>=8.1", ("ipywidgets", "8.1", "", "")),
        ("jupyterlab; extra == 'lab'", ("jupyterlab", "4", "", "lab")),
        ('scikit-learn <2, >= 1.5 ; extra == "lessons"', ("scikit-learn", "1.5", "2", "lessons")),
    ],
)
def test_requirements_are_read(requirement, expected):
    assert setup_checks.parse(requirement) == expected


@every_row(
    ("requirement", "installed", "status", "text"),
    [
        ("numba>=0.62", "0.68.1", "ok", "0.68.1"),
        ("numba>=0.62", "0.62", "ok", "0.62"),
        ("numba>=0.62", "0.9.0", "problem", "0.9.0; 0.62 or newer is needed"),
        ("numpy<3,>=2.0", "2.5.5", "ok", "2.5.5"),
        ("numpy<3,>=2.0", "3.0.0", "problem", "3.0.0; one before 3 is needed"),
        ("ipywidgets", "7.8.5", "problem", "7.8.5; 8 or newer is needed"),
        ("anywidget", "0.8.1", "problem", "0.8.1; 0.9 or newer is needed"),
        ("jupyterlab; extra == 'lab'", "3.6.8", "problem", "3.6.8; 4 or newer is needed"),
        ("jupyterlab; extra == 'lab'", "4.6.6rc1", "ok", "4.6.6rc1"),
        ("jupyterlab; extra == 'lab'", None, "problem", "not installed"),
        ("scikit-learn; extra == 'lessons'", None, "note", "not installed; some lessons need it"),
    ],
)
def test_packages_are_there_and_new_enough(requirement, installed, status, text):
    check = setup_checks.check_package(requirement, installed, PYTHON)
    assert check
    assert (check.status, check.text) == (status, text)
    assert bool(check.fix) == (status != "ok")
    if check.fix:
        assert check.fix.startswith(f'"{PYTHON}" -m pip install "')
        assert check.name in check.fix


def test_the_line_that_fixes_it_names_the_version_that_is_needed():
    check = setup_checks.check_package("ipywidgets", "7.8.5", PYTHON)
    assert check
    assert check.fix == f'"{PYTHON}" -m pip install "ipywidgets>=8"'
    check = setup_checks.check_package("numpy<3,>=2.0", "3.0.0", PYTHON)
    assert check
    assert check.fix == f'"{PYTHON}" -m pip install "numpy>=2.0,<3"'


@every_row(
    "requirement",
    [
        "pytest; extra == 'test'",
        "torch==2.13.0; extra == 'oracle'",
        "numba-cuda; extra == 'cuda13'",
    ],
)
def test_what_a_learner_may_do_without_is_not_looked_at(requirement):
    assert setup_checks.check_package(requirement, None, PYTHON) is None


def test_a_numba_that_does_not_start_is_a_problem():
    assert setup_checks.check_numba("", PYTHON).status == "ok"
    broken = setup_checks.check_numba("ImportError: Numba needs NumPy 2.4 or less", PYTHON)
    assert broken.status == "problem"
    assert "NumPy 2.4" in broken.text
    assert "numba numpy" in broken.fix


def test_a_module_that_fails_is_told_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('two\\nlines')")
    monkeypatch.syspath_prepend(tmp_path)
    assert setup_checks._failure("broken_module") == "RuntimeError: two lines"
    assert setup_checks._failure("json") == ""


@every_row("word", ["python", "python3", "python3.11", PYTHON, f"{PYTHON}3.11"])
def test_a_kernel_that_starts_this_python_is_right(word):
    assert (
        setup_checks.check_kernel([word, "-m", "ipykernel_launcher"], PYTHON, own=True).status
        == "ok"
    )


@every_row(("own", "where"), [(True, "--sys-prefix"), (False, "--user")])
@every_row("argv", [None, [], ["/usr/bin/python3", "-m", "ipykernel_launcher"]])
def test_a_missing_or_foreign_kernel_is_a_problem(argv, own, where):
    check = setup_checks.check_kernel(argv, PYTHON, own)
    assert check.status == "problem"
    assert check.fix == f'"{PYTHON}" -m ipykernel install {where} --name python3'
    assert not argv or argv[0] in check.text


@pytest.mark.skipif(os.name == "nt", reason="on Windows not everybody may make links")
def test_environments_that_share_one_python_are_told_apart(tmp_path):
    (tmp_path / "python").touch()
    for name in ("ours", "theirs"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").symlink_to(tmp_path / "python")
    ours, theirs = (str(tmp_path / name / "bin" / "python") for name in ("ours", "theirs"))
    assert setup_checks.check_kernel([ours], ours, own=True).status == "ok"
    assert setup_checks.check_kernel([theirs], ours, own=True).status == "problem"


@every_row(
    ("gpu", "simulated", "error", "status", "text", "fix"),
    [
        ("H200", False, "", "ok", "H200", ""),
        ("", True, "", "note", "simulated: no GPU here, and no lesson needs one", ""),
        ("H200", True, "", "note", "NUMBA_ENABLE_CUDASIM asks for it; there is a GPU: H200", ""),
        ("H200", False, "Numba cannot use the H200.", "note", "Numba cannot use", "cuda13"),
        ("", False, "there is no GPU", "note", "there is no GPU", ""),
    ],
)
def test_no_gpu_is_no_problem(gpu, simulated, error, status, text, fix):
    check = setup_checks.check_cuda(gpu, simulated, error, PYTHON)
    assert check.status == status
    assert text in check.text
    assert fix in check.fix
    assert bool(check.fix) == bool(fix)


def test_a_gpu_that_numba_cannot_use_is_told_with_the_extra_that_is_missing(monkeypatch):
    targets = import_module("memlab.kernels.cuda.target")
    monkeypatch.setattr(targets, "gpu", lambda: targets.CudaTarget("H200", False, (9, 0)))
    monkeypatch.setattr(targets, "simulated", lambda: False)
    monkeypatch.setattr(targets, "usable", lambda: False)
    targets.target.cache_clear()
    check = setup_checks._cuda(PYTHON)
    assert check
    assert check.status == "note"
    assert "Numba cannot use the H200" in check.text
    assert check.fix.startswith(f'"{PYTHON}" -m pip install -e ".[cuda13]"')


def test_from_a_wheel_no_fix_needs_a_checkout(monkeypatch):
    monkeypatch.setattr("memlab.lesson_folders.CHECKOUT", None)
    check = setup_checks.check_cuda("H200", False, "Numba cannot use the H200.", PYTHON)
    assert check.fix.startswith(f'"{PYTHON}" -m pip install "memlab[cuda13]"')


def test_one_folder_that_can_be_written_is_enough_for_numba(tmp_path):
    file = tmp_path / "file"
    file.touch()
    closed = [file / "cache", file / "other"]
    assert setup_checks.check_cache([*closed, tmp_path / "new" / "cache"]).status == "ok"
    assert list(tmp_path.iterdir()) == [file]
    check = setup_checks.check_cache(closed, windows=False)
    assert check.status == "problem"
    assert str(closed[0]) in check.text
    assert check.fix.startswith("export NUMBA_CACHE_DIR=")
    assert check.fix != setup_checks.check_cache(closed, windows=True).fix


@pytest.mark.skipif(os.name == "nt", reason="Windows does not tell who can write")
def test_a_folder_of_shared_kernels_that_is_not_read_is_noted(tmp_path, monkeypatch):
    monkeypatch.delenv(shared_cache.VARIABLE, raising=False)
    assert setup_checks._shared_cache() is None
    assert shared_kernels(tmp_path, monkeypatch).status == "ok"
    file = tmp_path / "some.nbc"
    file.touch()
    file.chmod(0o666)
    check = shared_kernels(tmp_path, monkeypatch)
    assert (check.status, check.name) == ("note", "shared kernels")
    assert f"others can write to {file}" in check.text
    assert check.fix.endswith(f'chmod -R go-w "{tmp_path}"')
    assert "compile_kernels.py" in shared_kernels(tmp_path / "missing", monkeypatch).fix


def shared_kernels(folder, monkeypatch):
    """Result of the check of a folder that the environment names."""
    monkeypatch.setenv(shared_cache.VARIABLE, str(folder))
    shared_cache.refusal.cache_clear()
    check = setup_checks._shared_cache()
    assert check
    return check


@pytest.mark.skipif(os.name == "nt", reason="the line is that of a Unix shell")
@every_row(("home", "line"), [(".", "$HOME/.cache/numba"), ("file", "$(mktemp -d)")])
def test_a_cache_is_never_put_where_nothing_can_be_written(home, line, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / home))
    check = setup_checks.check_cache([tmp_path / "file" / "cache"], windows=False)
    assert check.fix == f"export NUMBA_CACHE_DIR={line}"


@every_row(
    ("kernelspec", "told"),
    [
        ({"name": "python3"}, ""),
        ({"name": "gone"}, "asks for the kernel gone, which Jupyter lacks"),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_copy_of_a_lesson_that_asks_for_another_kernel_is_named(
    kernelspec, told, tmp_path, monkeypatch
):
    (tmp_path / "my").mkdir(exist_ok=True)
    metadata = {"metadata": {"kernelspec": kernelspec}}
    (tmp_path / "my" / "03_lowering.ipynb").write_text(json.dumps(metadata))
    (tmp_path / "my" / "own.ipynb").write_text("{")
    (tmp_path / "my" / "00_start.ipynb").write_text("{")
    monkeypatch.chdir(tmp_path)
    check = setup_checks._notebooks(sys.executable)
    assert bool(check) == bool(told)
    if check:
        assert check.status == "problem"
        assert told in check.text
        assert "03_lowering.ipynb" in check.text


@every_row(
    ("executable", "ours"),
    [(sys.executable, True), ("python3", True), ("/opt/torch/bin/python", False), ("", False)],
)
def test_a_kernel_is_judged_by_the_python_that_it_starts(executable, ours):
    assert setup_checks._starts(executable, sys.executable) == ours


# -- live views in JupyterLab -------------------------------------------------------------------

BOTH = frozenset(lab_extensions.NEEDED)


@every_row(
    ("installed", "disabled", "text", "fix"),
    [
        (BOTH, {}, "JupyterLab has the extensions", ""),
        (BOTH, {"jupyterlab-jupytext": "user"}, "JupyterLab has the extensions", ""),
        (BOTH - {"anywidget"}, {}, "lacks the extension anywidget", "--no-deps anywidget"),
        ({"anywidget"}, {}, "lacks the extension @jupyter-widgets", "--no-deps jupyterlab_widgets"),
        (BOTH, {"anywidget": "user"}, "anywidget of", "enable anywidget --level=user"),
        (BOTH, {"anywidget:plugin": "system"}, "plugin of", "anywidget:plugin --level=system"),
    ],
)
def test_views_need_both_extensions_and_none_disabled(installed, disabled, text, fix):
    seen = LabExtensions(frozenset(installed), disabled)
    check = lab_extensions.check_extensions(seen, PYTHON)
    assert text in check.text
    assert check.status == ("problem" if fix else "ok")
    assert check.fix.endswith(fix)


@every_row(
    ("texts", "disabled"),
    [
        (['{"disabledExtensions": {"anywidget": true}}'], {"anywidget"}),
        (['{"disabledExtensions": ["anywidget"]}'], {"anywidget"}),
        (['{"disabledExtensions": {"anywidget": false}}'], set()),
        (['{"disabledExtensions": {"anywidget": false}}', '{"disabledExtensions": ["anywidget"]}'],
         set()),
        (["{"], set()),
        (["[]"], set()),
        (['{"disabledExtensions": 3}'], set()),
    ],
)  # fmt: skip
def test_the_first_file_of_jupyter_has_the_last_word(texts, disabled, tmp_path, monkeypatch):
    paths = import_module("jupyter_core.paths")
    folders = []
    for place, text in enumerate(texts):
        file = tmp_path / str(place) / "labconfig" / "page_config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        folders.append(str(tmp_path / str(place)))
    monkeypatch.setattr(paths, "jupyter_config_path", lambda: folders)
    seen = lab_extensions.look()
    assert seen
    assert set(seen.disabled) == disabled


# -- a second memlab ----------------------------------------------------------------------------

OURS = Path("/home/ada/memlab/memlab")


@every_row(
    ("found", "status", "fix"),
    [
        ([OURS], "ok", ""),
        ([OURS, Path("/opt/memlab")], "note", ""),
        ([Path("/week/memlab"), OURS], "problem", 'mv "/week/memlab" "/week/my_memlab"'),
        ([Path("/week/memlab.py"), OURS], "problem", 'mv "/week/memlab.py" "/week/my_memlab.py"'),
        (
            [Path("/lib/site-packages/memlab"), OURS],
            "problem",
            f'"{PYTHON}" -m pip uninstall memlab',
        ),
        ([Path("/given/memlab"), OURS], "problem", "unset PYTHONPATH"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the paths are those of Unix")
def test_a_second_memlab_is_a_problem_where_it_comes_first(found, status, fix, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/given")
    check = check_single(found, PYTHON, package=OURS, windows=False)
    assert (check.status, check.fix) == (status, fix)
    assert all(str(path) in check.text for path in found if status != "ok")


def test_a_folder_without_code_is_no_second_memlab(tmp_path, monkeypatch):
    (tmp_path / "memlab").mkdir()
    monkeypatch.chdir(tmp_path)
    second_package = import_module("memlab.setup_checks.second_package")
    assert tmp_path / "memlab" not in second_package.look()
    (tmp_path / "memlab" / "__init__.py").touch()
    assert second_package.look()[0] == (tmp_path / "memlab").resolve()


# -- threads, disks, lessons --------------------------------------------------------------------


@every_row(
    ("threads", "cores", "environment", "status", "fix"),
    [
        (8, 8, {}, "ok", ""),
        (1, 1, {"OMP_NUM_THREADS": "1"}, "ok", ""),
        (1, 8, {"OMP_NUM_THREADS": "1"}, "note", "OMP_NUM_THREADS"),
        (1, 8, {"OMP_NUM_THREADS": "8"}, "note", "--force-reinstall numpy"),
    ],
)
def test_one_thread_for_matrix_products_is_noted(threads, cores, environment, status, fix):
    check = blas_threads.check_blas(threads, cores, environment, PYTHON)
    assert check.status == status
    assert fix in check.fix
    assert f"{threads} of {cores} cores" in check.text


def test_the_threads_of_this_numpy_are_counted(monkeypatch):
    class Two:
        def info(self):
            return [
                {"user_api": "blas", "num_threads": 2},
                {"user_api": "openmp", "num_threads": 9},
            ]

    monkeypatch.setattr(blas_threads, "thread_pools", Two)
    assert blas_threads.look() == 2


@every_row(
    ("free", "purpose", "status", "fix"),
    [
        (10**10, "notebooks", "ok", ""),
        (10**8, "notebooks", "note", "pip cache purge"),
        (10**6, "compiled kernels", "problem", "pip cache purge"),
        (10**6, "temporary files", "problem", "export TMPDIR=$HOME"),
    ],
)
def test_a_disk_with_little_room_is_told_with_its_folder(free, purpose, status, fix):
    rooms = [DiskRoom(Path("/data"), "notebooks", 10**12), DiskRoom(Path("/x"), purpose, free)]
    check = room_left.check_disks(rooms, PYTHON, windows=False)
    assert check.status == status
    assert purpose in check.text
    assert check.fix.endswith(fix) if status == "ok" else fix in check.fix


def test_a_quota_that_is_used_up_counts_as_a_full_disk(tmp_path, monkeypatch):
    assert room_left.free_on(tmp_path) > 0

    def full(**how):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert room_left.free_on(tmp_path) == 0


NEEDS = {"00": 10**8, "02": 3 * 10**8, "03": 6 * 10**8}


@every_row(
    ("free", "status", "text"),
    [
        (6 * 10**8, "ok", "enough for each one; 03 takes most, 600 MB"),
        (6 * 10**8 - 1, "note", "too little for 03, which take up to 600 MB; enough for 00 and 02"),
        (10**8 - 1, "problem", "too little for any; 03 takes 600 MB"),
    ],
)
def test_lessons_that_do_not_fit_into_the_free_memory_are_named(free, status, text):
    check = room_left.check_lessons(free, NEEDS, "close other programs")
    assert (check.status, check.text) == (status, text)
    assert bool(check.fix) == (status != "ok")


def test_the_memory_of_every_lesson_is_known():
    lessons = {path.name[:2] for path in LESSONS.glob("[0-9]*.ipynb")}
    assert set(room_left.recorded()) == lessons


# -- a card without its driver ------------------------------------------------------------------


def test_a_card_without_a_driver_is_seen_on_its_bus(tmp_path):
    kinds = {"0": ("0x8086", "0x030000"), "1": ("0x10de", "0x040300"), "2": ("0x10de", "0x030200")}
    for name, (vendor, kind) in kinds.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    (tmp_path / "unreadable").mkdir()
    assert setup_checks.cuda_cards(tmp_path) == 1
    assert setup_checks.cuda_cards(tmp_path / "missing") == 0


@every_row(
    ("driver", "cards", "text"),
    [
        (None, 0, "no GPU here"),
        (100, 0, "no GPU here"),
        (None, 1, "no driver of it"),
        (803, 1, "error 803 of cuInit"),
    ],
)
def test_a_card_that_its_driver_does_not_show_is_told(driver, cards, text):
    check = setup_checks.check_cuda("", True, "", PYTHON, setup_checks._driverless(driver, cards))
    assert check.status == "note"
    assert text in check.text
    assert check.fix == (setup_checks.DRIVER if cards else "")


@every_row(("free", "status"), [(8 * 10**9, "ok"), (10**9, "note"), (10**8, "problem")])
def test_little_memory_is_noted_and_very_little_is_a_problem(free, status):
    check = setup_checks.check_memory(free, "", free)
    assert check.status == status
    assert bool(check.fix) == (status != "ok")
    assert "control group" not in check.text


@pytest.mark.parametrize("limit", ["a control group", "ulimit -v"])
def test_what_allows_less_than_the_machine_is_named(limit):
    check = setup_checks.check_memory(4 * 10**9, limit, 64 * 10**9)
    assert check.status == "ok"
    assert f"{limit} allows less than the machine's 64.000 GB" in check.text
    assert "raise the limit" in setup_checks.check_memory(10**8, limit, 64 * 10**9).fix
    little = setup_checks.check_memory(10**9, limit, 64 * 10**9)
    assert little.status == "note"
    assert bool(little.fix) == (limit == "ulimit -v"), "a learner of a hub cannot raise it"


def test_where_numba_has_no_room_it_is_not_loaded(monkeypatch):
    def require_kernels():
        raise InputError("loading takes about 362 MB, and ulimit -v leaves 4 MB; raise that limit.")

    monkeypatch.setattr(free_memory, "require_kernels", require_kernels)
    monkeypatch.setattr(
        setup_checks, "_failure", lambda module: pytest.fail(f"{module} was loaded")
    )
    checks = {check.name: check for check in setup_checks.examine()}
    assert checks["Numba starts"].status == "problem"
    assert "ulimit -v leaves 4 MB" in checks["Numba starts"].text
    assert "raise the limit" in checks["Numba starts"].fix
    assert "CUDA" not in checks


def test_the_report_says_in_words_how_each_check_stands():
    checks = [
        SetupCheck("a", "ok", "1"),
        SetupCheck("b", "problem", "2", "do this"),
        SetupCheck("c", "note", "3"),
    ]
    assert setup_checks.report(checks).splitlines() == [
        "ok       a: 1",
        "problem  b: 2",
        "         to fix it: do this",
        "note     c: 3",
        "1 problem.",
    ]
    assert setup_checks.report(checks[:1]).endswith("No problem.")
    assert setup_checks.report(checks[1:2] * 2).endswith("2 problems.")


FINE = SetupCheck("Python", "ok", "3.11.7, /usr/bin/python")
NOTE = SetupCheck("memory", "note", "1 GB free", "close <other> programs")
WRONG = SetupCheck("kernel python3", "problem", "Jupyter has no kernel <of> that name", "install")


def test_a_set_up_without_a_problem_is_one_line():
    line = str(SetupReport((SetupCheck("memlab", "ok", "0.1.0"), FINE)))
    assert line.startswith("ready · memlab 0.1.0, Python 3.11.7, ")
    assert line.endswith(" · nothing to fix")
    assert "\n" not in line


def test_all_checks_stand_behind_the_line():
    html = SetupReport((FINE,))._repr_html_()
    assert html.startswith("<details><summary>✓ <b>ready</b> · memlab ")
    assert "ok       Python: 3.11.7, /usr/bin/python" in html


def test_a_note_that_can_be_improved_is_shown_below_the_line():
    told = SetupReport((FINE, NOTE))
    assert str(told).splitlines() == [told.line, *str(NOTE).splitlines()]
    assert told.line.endswith(" · 1 to look at")
    assert told._repr_html_().startswith("<details open>")
    assert "close &lt;other&gt; programs" in told._repr_html_()


def test_a_problem_opens_all_checks_with_the_line_that_fixes_it():
    told = SetupReport((FINE, WRONG))
    assert not told.ready
    assert str(told) == f"{setup_checks.report((FINE, WRONG))} {setup_checks.RESTART}"
    assert "ready" not in str(told)
    assert told._repr_html_().startswith("<pre>ok       Python")
    assert "to fix it: install" in told._repr_html_()
    assert "kernel &lt;of&gt; that name" in told._repr_html_()


def test_the_public_function_examines_this_machine(monkeypatch):
    monkeypatch.setattr("memlab.setup_checks.examine", lambda: [FINE, WRONG])
    assert memlab.doctor().checks == (FINE, WRONG)


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("note", 0), ("problem", 1)])
def test_the_exit_code_is_1_where_there_is_a_problem(status, code, monkeypatch, capsys):
    checks = [SetupCheck("a", "ok", "1"), SetupCheck("b", status, "2")]
    monkeypatch.setattr("memlab.setup_checks.examine", lambda: checks)
    assert cli.main(["doctor"]) == code
    assert capsys.readouterr().out == setup_checks.report(checks) + "\n"
    assert cli.main(["doctor", "--json"]) == code
    assert [check["status"] for check in json.loads(capsys.readouterr().out)] == ["ok", status]


def test_this_machine_is_examined():
    checks = {check.name: check for check in setup_checks.examine()}
    assert {"memlab", "Python", "numba", "kernel python3", "CUDA", "memory"} <= set(checks)
    assert {"second memlab", "live views", "disk", "memory of lessons"} <= set(checks)
    assert checks["numpy"].text == metadata.version("numpy")
    assert sys.executable in checks["Python"].text
    assert "pytest" not in checks


def test_a_machine_with_planted_problems_is_told_all_of_them(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(setup_checks, "_installed", lambda requirement: None)
    monkeypatch.setattr(setup_checks, "_failure", lambda module: "ImportError: no")
    monkeypatch.setattr(setup_checks, "_kernel_command", lambda: None)
    monkeypatch.setattr(setup_checks, "_cache_folders", lambda: [tmp_path / "file" / "cache"])
    checks = setup_checks.examine()
    problems = [check.name for check in checks if check.status == "problem"]
    assert problems == ["memlab", "Numba starts", "kernel python3", "Numba cache"]
    assert all(check.fix for check in checks if check.status == "problem")


def test_without_psutil_the_other_checks_still_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    names = [check.name for check in setup_checks.examine()]
    assert "memory" not in names
    assert "CUDA" in names

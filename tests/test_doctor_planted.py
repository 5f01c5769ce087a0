"""The doctor on faults that are planted for real, in an environment of their own; where its line
can be run, it is, and the doctor is asked again.

``MEMLAB_CLASSROOM=full`` runs those that take seconds each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from memlab import free_memory

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(os.name == "nt", reason="the lines are those of a Unix shell"),
]
full = pytest.mark.skipif(
    os.environ.get("MEMLAB_CLASSROOM") != "full", reason="MEMLAB_CLASSROOM=full runs it"
)
root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="to plant it takes root"
)
ROOT = Path(__file__).resolve().parents[1]
KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT")


class Machine:
    """Where the doctor is asked: a folder, an environment, a Python, and what a terminal ran
    before."""

    def __init__(self, folder, python=sys.executable, **variables):
        self.folder, self.python = folder, str(python)
        home = folder / "home"
        home.mkdir()
        self.environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.environment |= {"HOME": str(home), "PYTHONPATH": str(ROOT), **variables}
        self.lines: list[str] = []
        self.shell_of_user = ["bash", "-c"]

    def checks(self):
        """The checks by name, after the lines that were typed in the same terminal."""
        # -P: as the command memlab, it does not look into the folder that it is called in
        asked = f'"{self.python}" -P -m memlab doctor --json'
        done = self.shell("\n".join([*self.lines, asked]))
        assert done.stdout, done.stderr
        return {check["name"]: check for check in json.loads(done.stdout)}

    def shell(self, lines):
        return subprocess.run([*self.shell_of_user, lines], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=300)  # fmt: skip

    def type(self, line):
        """Type a line in a terminal that stays open."""
        self.lines.append(f"{line} 1>&2")


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def faulty(check, *words, status="problem"):
    assert check["status"] == status, check
    assert all(word in check["text"] for word in words), check
    assert check["fix"], check
    return check["fix"]


def test_a_memlab_of_the_learners_own_is_moved_out_of_the_way(machine):
    own = machine.folder / "memlab" / "__init__.py"
    own.parent.mkdir()
    own.write_text("")
    machine.type(faulty(machine.checks()["second memlab"], str(own.parent)))
    assert machine.checks()["second memlab"]["status"] != "problem"
    assert (machine.folder / "my_memlab" / "__init__.py").is_file()


def test_a_variable_that_allows_one_thread_is_noted(machine):
    if free_memory.cores() == 1:
        pytest.skip("there is one core alone")
    machine.environment["OPENBLAS_NUM_THREADS"] = "1"
    check = machine.checks()["threads of NumPy"]
    machine.type(faulty(check, "OPENBLAS_NUM_THREADS is 1", status="note"))
    assert machine.checks()["threads of NumPy"]["status"] == "ok"


@full
@pytest.mark.parametrize("level", ["user", "sys_prefix"])
def test_an_extension_that_is_disabled_is_enabled_again(own_python, tmp_path, level):
    machine = Machine(tmp_path, own_python)
    off = f'"{own_python}" -m jupyterlab.labextensions disable anywidget --level={level}'
    assert machine.shell(off).returncode == 0
    machine.type(faulty(machine.checks()["live views"], "anywidget", "disabled"))
    assert machine.checks()["live views"]["status"] == "ok"


@full
@pytest.mark.parametrize("name", ["anywidget", "@jupyter-widgets/jupyterlab-manager"])
def test_an_extension_without_its_files_is_missed(own_python, tmp_path, name):
    machine = Machine(tmp_path, own_python)
    folder = Path(own_python).parents[1] / "share/jupyter/labextensions" / name
    shutil.move(folder, tmp_path / "away")
    try:
        package = "anywidget" if name == "anywidget" else "jupyterlab_widgets"
        assert package in faulty(machine.checks()["live views"], name)
    finally:
        shutil.move(tmp_path / "away", folder)


@full
@pytest.mark.parametrize("package", ["anywidget", "ipywidgets"])
def test_a_package_that_is_not_installed_is_missed(own_python, tmp_path, package):
    machine = Machine(tmp_path, own_python)
    site = next((Path(own_python).parents[1] / "lib").glob("python*/site-packages"))
    (dist,) = site.glob(f"{package}-*.dist-info")
    moved = [Path(shutil.move(path, tmp_path / path.name)) for path in (dist, site / package)]
    try:
        assert package in faulty(machine.checks()[package], "not installed")
    finally:
        for path in moved:
            shutil.move(path, site / path.name)


@full
def test_a_kernel_of_another_environment_is_replaced(own_python, tmp_path):
    spec = Path(own_python).parents[1] / "share/jupyter/kernels/python3/kernel.json"
    kept = spec.read_text()
    other = {"argv": ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"]}
    spec.write_text(json.dumps(other | {"display_name": "Python 3", "language": "python"}))
    machine = Machine(tmp_path, own_python)
    try:
        machine.type(faulty(machine.checks()["kernel python3"], "starts /usr/bin/python3"))
        assert machine.checks()["kernel python3"]["status"] == "ok"
    finally:
        spec.write_text(kept)


@full
def test_a_notebook_that_was_run_with_another_kernel_is_named(machine):
    kernels = machine.folder / "home" / ".local/share/jupyter/kernels/torch"
    kernels.mkdir(parents=True)
    spec = {"argv": ["/usr/bin/python3"], "display_name": "Torch", "language": "python"}
    (kernels / "kernel.json").write_text(json.dumps(spec))
    notebook = json.loads((ROOT / "lessons" / "03_lowering.ipynb").read_text(encoding="utf-8"))
    notebook["metadata"]["kernelspec"]["name"] = "torch"
    (machine.folder / "03_lowering.ipynb").write_text(json.dumps(notebook))
    faulty(machine.checks()["kernel of notebooks"], "kernel torch", "starts /usr/bin/python3")


@full
@root
def test_where_no_cache_can_be_written_a_folder_is_made(tmp_path):
    """As a user who may write nowhere but into the folder for temporary files: root without the
    right to write where a mode forbids it."""
    if not (privileges := shutil.which("setpriv")):
        pytest.skip("there is no setpriv")
    shutil.copytree(ROOT / "memlab", tmp_path / "memlab", symlinks=True)
    closed = tmp_path / "memlab" / "kernels" / "cpu" / "__pycache__"
    closed.mkdir(exist_ok=True)
    closed.chmod(0)
    machine = Machine(tmp_path, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(closed))
    machine.environment["HOME"] = str(closed)
    machine.shell_of_user = [privileges, "--bounding-set=-dac_override", "bash", "-c"]
    machine.type(faulty(machine.checks()["Numba cache"], "no folder can be written"))
    assert machine.checks()["Numba cache"]["status"] == "ok"
    closed.chmod(0o755)


@full
@root
@pytest.mark.parametrize(("size", "status"), [(3, "problem"), (100, "note")])
def test_a_disk_that_is_nearly_full_is_told(tmp_path, size, status):
    machine, disk = Machine(tmp_path), tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        machine.folder = disk
        if status == "problem":
            machine.shell("head -c 3M /dev/zero > filled")
        faulty(machine.checks()["disk"], "free for notebooks", str(disk), status=status)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@full
def test_lessons_that_do_not_fit_into_a_limit_are_named(machine):
    machine.type("ulimit -v 1400000")
    check = machine.checks()["memory of lessons"]
    assert "raise the limit" in faulty(check, "too little for", "03", status="note")


@full
def test_a_driver_that_does_not_start_is_told_by_its_error(tmp_path):
    if not (compiler := shutil.which("cc")):
        pytest.skip("there is no compiler for the false driver")
    source = tmp_path / "driver.c"
    source.write_text("int cuInit(unsigned flags) { return 803; }")
    library = str(tmp_path / "libcuda.so.1")
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", library], check=True)
    code = "from memlab.kernels.cuda.target import driver, gpu; print(driver(), gpu())"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(ROOT)}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert said.stdout.split() == ["803", "None"]


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10"])
def test_an_old_python_gets_one_sentence(tmp_path, version):
    python = f"python{version}"
    if not shutil.which(python) or subprocess.run([python, "-V"], capture_output=True).returncode:
        pytest.skip(f"there is no {python}")
    machine = Machine(tmp_path, python)
    done = machine.shell(f"{python} -m memlab doctor")
    assert done.returncode == 1
    assert done.stderr.startswith("memlab needs Python 3.11 or newer")
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def own_python(tmp_path_factory):
    """A Python of an environment whose JupyterLab has files of its own, and no others."""
    folder, here = tmp_path_factory.mktemp("own") / "env", Path(sys.prefix)
    venv.create(folder, symlinks=True)
    for name in ("share/jupyter", "etc/jupyter"):
        if (here / name).is_dir():
            shutil.copytree(here / name, folder / name, dirs_exist_ok=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    theirs = next((here / "lib").glob("python*/site-packages"))
    for path in theirs.iterdir():
        if path.name != "__pycache__":
            (site / path.name).symlink_to(path)
    return folder / "bin" / "python"

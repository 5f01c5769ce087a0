"""The examples of docs/ work: a layer takes 2 files of the library, a format 1, a way to
convolve 2 and its rates, a device its row and its folders, a technique its file and its line in the
façade, a picture, still or live, its module and its texts.

The package is copied to a temporary folder, the example is written there as it stands on the page,
and the tests that hold for every layer, or for every page, are run on it.

To compile kernels takes longer than all else, and a new file among them has all compiled again. So
the examples that bring kernels stand together in one folder, which the processes of a run share;
each other one has a folder of its own, with the kernels that this package has compiled.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

pytestmark = pytest.mark.measures

ROOT = Path(__file__).resolve().parents[1]
PAGES_OF_EXAMPLES = sorted((ROOT / "docs").glob("add_*.md"))
BLOCK = re.compile(
    r"```(?:python|toml)\n# ((?:memlab|tests)/\S+?)(, added|, after \S+)?\n(.*?)```", re.DOTALL
)
PICTURES = {"A chart that stands still": 2, "A live view": 2}
LAYERS = {"A leaky ReLU": 2}
FORMATS = {"A float of 6 bits": 1}
WAYS = {"A second way for 1x1": 2}
DEVICES = {"A device that does little": 3}
TECHNIQUES = {"Updates as early as they can be": 2}
"""The headings of the examples, and how many files of the library each may touch: a way to convolve
its module and its kernel, beside the rates that are measured; a device its row and its folder in
kernels and in runtime."""
PAGES = ("pictures/test_pages.py",)
OF_A_LAYER = (
    "layers", "step/test_staging.py", "networks/test_arguments.py",
    *(f"kernels/test_{part}.py"
      for part in ("against_torch", "contract", "gradients", "over", "staged", "targets")),
    *(f"techniques/test_{part}.py"
      for part in ("accumulate", "in_place", "precision", "recompute")),
)  # fmt: skip
"""The tests that hold for every page, and for every layer."""


Written = tuple[str, str, str]
"""A path; how it is changed: ``", added"`` at its end, ``", after NAME"`` below the row of that
name, or ``""`` where it is new; and what is written."""
OF_A_FORMAT = (
    "test_formats.py", "test_rounding.py",
    *(f"kernels/test_{part}.py" for part in ("conversions", "loss_scale")),
    "techniques/test_precision.py",
)  # fmt: skip
OF_A_WAY = (
    "layers/test_algorithms.py",
    *(f"kernels/test_{part}.py"
      for part in ("agreement", "against_torch", "contract", "gradients", "targets")),
    "runtime/test_algorithms.py",
)  # fmt: skip
OF_A_TECHNIQUE = ("techniques/test_registry.py",)
OF_A_DEVICE = ("kernels/test_contract.py",)


def files(heading: str) -> list[Written]:
    """What an example writes."""
    texts = (page.read_text(encoding="utf-8") for page in PAGES_OF_EXAMPLES)
    (text,) = (text for text in texts if f"\n## {heading}\n" in text)
    section = re.split(r"\n## ", text.split(f"\n## {heading}\n")[1])[0]
    return [(path, how, text) for path, how, text in BLOCK.findall(section)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package, with the compiled kernels that it has."""
    copied(tmp_path, leave=("kernels",))
    kernels, there = ROOT / "memlab/kernels", tmp_path / "memlab/kernels"
    try:
        there.symlink_to(kernels, target_is_directory=True)
    except OSError:  # on Windows not everybody may
        shutil.copytree(kernels, there)
    return tmp_path


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The package with every example that brings kernels, which are compiled once."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "together"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            copied(folder)
            for heading in (*LAYERS, *WAYS, *DEVICES):
                write(folder, files(heading))
    return folder


def copied(folder: Path, leave: tuple[str, ...] = ()) -> None:
    """Copy the package and its tests to a folder."""
    ignored = shutil.ignore_patterns("__pycache__", "browser")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignored)
    ignored = shutil.ignore_patterns("__pycache__", *leave)
    shutil.copytree(ROOT / "memlab", folder / "memlab", ignore=ignored)
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)


def write(folder: Path, found: list[Written]) -> None:
    for path, how, text in found:
        target = folder / path
        assert target.resolve().is_relative_to(folder.resolve()), path
        assert target.exists() is bool(how), path
        target.parent.mkdir(parents=True, exist_ok=True)
        before, after = (target.read_text(encoding="utf-8") if how else ""), ""
        if how.startswith(", after "):
            row = re.search(rf'\n +\w+\("{how.removeprefix(", after ")}".*\n', before)
            assert row is not None, how
            before, after = before[: row.end()], before[row.end() :]
        target.write_text(before + text + after, "utf-8")


def of_library(found: list[Written]) -> set[str]:
    return {path for path, _, _ in found if path.startswith("memlab/")}


def conform(folder: Path, named: str, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run those of these tests whose names have a word of it."""
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", named]
    return subprocess.run(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def run(folder: Path, code: str) -> None:
    """Run it with the package of a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder), "MEMLAB_MACHINE": "recorded"}
    command = [sys.executable, "-P", "-c", code]
    subprocess.run(command, check=True, cwd=folder, env=environment, timeout=600)


def passed(result: subprocess.CompletedProcess[str]) -> int:
    """How many tests passed, where none failed."""
    assert result.returncode == 0, result.stdout
    ran = re.search(r"(\d+) passed", result.stdout)
    assert ran is not None
    return int(ran[1])


@pytest.mark.parametrize("heading", PICTURES)
def test_an_example_is_a_picture_that_passes_every_test_of_pages(copy: Path, heading: str) -> None:
    found = files(heading)
    assert 0 < len(of_library(found)) <= PICTURES[heading]
    write(copy, found)
    (name,) = re.findall(r"memlab/pictures/(\w+)\.py", " ".join(path for path, _, _ in found))
    assert passed(conform(copy, name, PAGES)) >= 6
    run(copy, EXAMPLES.format(name=name))


@pytest.mark.parametrize("heading", LAYERS)
def test_an_example_is_a_layer_that_passes_every_test_of_layers(
    together: Path, heading: str
) -> None:
    found = files(heading)
    assert 0 < len(of_library(found)) <= LAYERS[heading]
    lists = "there_is_a_kernel or cases_reach or hold_every_kind"
    assert passed(conform(together, f"leaky or leaks or {lists}", OF_A_LAYER)) >= 60


@pytest.mark.parametrize("heading", FORMATS)
def test_an_example_is_a_format_that_passes_every_test_of_formats(copy: Path, heading: str) -> None:
    found = files(heading)
    assert 0 < len(of_library(found)) <= FORMATS[heading]
    write(copy, found)
    (name,) = re.findall(r'Format\("(\w+)"', "".join(text for _, _, text in found))
    assert passed(conform(copy, f"{name} or test_the_table", OF_A_FORMAT)) >= 40
    code = f"""
import memlab
step = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
small = memlab.precision(step, feature_map="{name}", gradient_map="{name}")
assert memlab.run(small, 2).residual == 0
assert "{name}" in memlab.views.number("5.3", "{name}").text() + memlab.formats.table()
"""
    run(copy, code)


@pytest.mark.parametrize("heading", WAYS)
def test_an_example_is_a_way_to_convolve_that_passes_every_test_of_them(
    together: Path, heading: str
) -> None:
    found = files(heading)
    assert 0 < len(of_library(found)) <= WAYS[heading]
    (name,) = re.findall(r'Algorithm\(\s*"([\w-]+)"', "".join(text for _, _, text in found))
    lists = "there_is_a_kernel or what_is_found or cases_reach"
    assert passed(conform(together, f"{name} or {lists}", OF_A_WAY)) >= 20
    run(together, RATED.format(name=name))


RATED = """
import json
from pathlib import Path
import memlab
from benchmarks import rates
from memlab.clocks import roofline
from memlab.clocks import measured_rates
shape, layer = next(pair for pair in rates.LAYERS if pair[1].kernel == 1)
data = json.loads(Path("memlab/clocks/rates.json").read_text())
measured = rates.row(shape, layer, data["flops"], 1)
for row in data["layers"]:
    if row["layer"] == list(measured["layer"]):
        row["shares"]["{name}"] = measured["shares"]["{name}"]
step = memlab.training_step(memlab.zoo.resnet50(), algorithm="{name}")
op = next(op for op in step.ops if op.algorithm == "{name}")
assert not roofline.knows(op) and memlab.lowering(step, "{name}")
measured_rates.recorded = lambda: measured_rates.from_dict(data, here=False)
assert roofline.knows(op) and roofline.seconds(op, 2) > 0
"""


EXAMPLES = """
import doctest
from importlib import import_module
import memlab
result = doctest.testmod(import_module("memlab.pictures.{name}"), extraglobs={{"memlab": memlab}})
assert result.attempted > 0 == result.failed
"""


RAN = """
import memlab
def said(run):
    try:
        run()
    except memlab.InputError as error:
        return str(error)
step = memlab.training_step(memlab.network("one", features=3).linear(2).cross_entropy(), "sgd")
here, there = memlab.run(step, 2), memlab.run(step, 2, device="{name}")
assert (there.residual, there.loss, there.peak) == (0, here.loss, here.peak)
more = memlab.training_step(memlab.zoo.mnist_cnn())
assert "on {name}; try device cpu or cuda" in said(lambda: memlab.run(more, 1, device="{name}"))
small = memlab.precision(step, "fp16")
assert "runs on cpu, got {name}" in said(lambda: memlab.run(small, 1, device="{name}"))
assert "Known: cpu, cuda, {name}" in said(lambda: memlab.run(step, 1, device="nowhere"))
"""


@pytest.mark.parametrize("heading", DEVICES)
def test_an_example_is_a_device_on_which_a_step_runs(together: Path, heading: str) -> None:
    found = files(heading)
    library = of_library(found)
    assert 0 < len(library) <= DEVICES[heading]
    (name,) = re.findall(r'DeviceSupport\("(\w+)"', "".join(text for _, _, text in found))
    rooms = (f"memlab/kernels/{name}/", f"memlab/runtime/{name}/", "memlab/devices.py")
    assert all(path.startswith(rooms) for path in library)
    assert passed(conform(together, f"what_is_found and {name}", OF_A_DEVICE)) == 1
    run(together, RAN.format(name=name))


def test_a_layer_without_its_formulas_does_not_pass(copy: Path) -> None:
    write(copy, [each for each in files("A leaky ReLU") if "formulas" not in each[0]])
    result = conform(copy, "there_is_a_kernel", ("kernels/test_contract.py",))
    assert result.returncode == 1
    assert "('leaky_relu', '', 'cuda', 'fp32')" in result.stdout


def test_an_example_with_a_text_that_is_cut_off_does_not_pass(copy: Path) -> None:
    name = "largest_maps"
    wrong = f"""
from memlab.pictures.draw.page import Still
class _Cut(Still):
    def page(self):
        from memlab.pictures.draw.chart import Chart
        from memlab.pictures.draw.labels import Text
        from memlab.pictures.draw.page import Page
        from memlab.pictures.draw.scale import Scale
        far = Text(2, 0.5, "a text that is outside")
        return Page("Cut", [Chart(Scale(0, 1), Scale(0, 1), [far], 40, told=["a text"])])
def {name}_cut(): return _Cut()
"""
    (copy / f"memlab/pictures/{name}_cut.py").write_text(wrong, "utf-8")
    result = conform(copy, f"{name}_cut", PAGES)
    assert result.returncode == 1
    assert "test_nothing_collides_or_is_cut_off" in result.stdout


@pytest.mark.parametrize("heading", TECHNIQUES)
def test_an_example_is_a_technique_that_holds_to_its_row(copy: Path, heading: str) -> None:
    found = files(heading)
    assert 0 < len(of_library(found)) <= TECHNIQUES[heading]
    write(copy, found)
    assert passed(conform(copy, "test", OF_A_TECHNIQUE)) >= 30


@pytest.mark.parametrize(
    ("right", "wrong", "missed"),
    [
        (
            "enumerate(ops, 1)",
            "enumerate(ops)",
            "it_runs_as_planned",
        ),  # before the gradient is there
        ("shown=updates_early", "shown=lambda step: False", "a_wrong_order"),
    ],
)
def test_a_technique_that_is_wrong_does_not_pass(
    copy: Path, right: str, wrong: str, missed: str
) -> None:
    (path, how, text), facade = files("Updates as early as they can be")
    assert right in text
    write(copy, [(path, how, text.replace(right, wrong)), facade])
    result = conform(copy, missed, OF_A_TECHNIQUE)
    assert result.returncode == 1
    assert f"test_{missed}" in result.stdout
    assert "early_updates" in result.stdout

"""The figures of a faked machine reach memlab, also in the processes that tests start."""

import re
import subprocess
import sys

import pytest

from tests import faked_machine, run

FIGURES = """
import importlib.metadata
from importlib.util import find_spec

from memlab import free_memory
from memlab.measure.processor import caches
from memlab.measure.timing import machine

try:
    import sklearn
except ImportError:
    sklearn = None
print("seen:", free_memory.cores(), machine().cores, caches().get("L3"), len(caches()),
      free_memory.free_memory(), find_spec("sklearn"), sklearn)
"""
PLANTED = """
import subprocess, sys
import pytest

CODE = {code!r}

def test_here():
    exec(CODE)

def test_in_a_process():
    subprocess.run([sys.executable, "-c", CODE], check=True)

@pytest.mark.parametrize("number", range(6))
def test_in_turn(number):
    print("turn:", number)
"""


def printed(folder, figures):
    """What planted tests print on a faked machine."""
    (folder / "test_planted.py").write_text(PLANTED.format(code=FIGURES), encoding="utf-8")
    line = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "tests.faked_machine",
            "-p", "no:cacheprovider", "--rootdir", ".", "test_planted.py"]  # fmt: skip
    env = run.environment() | {faked_machine.FAKED: figures}
    return subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True).stdout


@pytest.mark.measures
@pytest.mark.parametrize(
    ("cores", "l3", "ram", "caches"),
    [(1, "1MiB", 4, (2**20, 3)), (64, "300MiB", 512, (300 * 2**20, 3)), (2, "none", 4, (None, 0))],
)
def test_every_process_has_the_figures(tmp_path, cores, l3, ram, caches):
    text = printed(tmp_path, f"cores={cores} l3={l3} ram={ram}GiB without=sklearn")
    seen = f"{cores} {cores} {caches[0]} {caches[1]} {ram * 2**29} None None"
    assert re.findall("seen: (.*)", text) == [seen, seen], text


@pytest.mark.measures
def test_an_order_is_drawn_and_is_the_same_each_time(tmp_path):
    turns = [re.findall("turn: (.)", printed(tmp_path, f"shuffle={seed}")) for seed in (1, 1, 2)]
    assert sorted(turns[0]) == list("012345")
    assert turns[0] == turns[1] != turns[2]


def test_a_figure_that_no_machine_has_is_refused():
    with pytest.raises(ValueError, match=r"MEMLAB_FAKED knows cores, l3, .* got gpu"):
        faked_machine.figures("gpu=2")

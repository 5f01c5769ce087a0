"""A command that draws nothing loads no widgets."""

import pytest

from tests.oracles.requirement import torch_or_skip

pytestmark = pytest.mark.measures

COMMANDS = (
    "plan mnist_cnn --batch 8",
    "run mnist_cnn --batch 2",
    "fit mnist_cnn --memory 1GB",
    "compare alexnet --batch 256 --device titan_x",
    "path googlenet --batch 8",
    "claims A4",
    "progress",
)
COMMAND = """
import sys
from memlab.cli import main
code = main(sys.argv[1:])
print(code, *sorted({"anywidget", "ipywidgets", "matplotlib"} & set(sys.modules)), file=sys.stderr)
"""


def run(command, folder=None):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *command.split()],
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_no_widgets(command):
    assert run(command) == ["0"]


MODEL = """
from torch import nn, randint, randn

def made():
    return nn.Linear(8, 4), lambda B: (randn(B, 8), randint(4, (B,)))
"""


def test_explain_loads_no_widgets_until_it_draws(tmp_path):
    torch_or_skip()
    (tmp_path / "mine.py").write_text(MODEL)
    assert run("explain mine:made", tmp_path) == ["0"]
    assert "anywidget" in run("explain mine:made --picture drawn.svg", tmp_path)


def test_a_picture_is_seen(tmp_path):
    assert "anywidget" in run("plan mnist_cnn --picture drawn.svg", tmp_path)

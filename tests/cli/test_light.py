"""A command that draws nothing loads no widgets."""

import json
import subprocess
import sys

import pytest

from tests.oracles.requirement import torch_or_skip

pytestmark = pytest.mark.measures

COMMANDS = {
    "plan": ["mnist_cnn", "--batch", "8", "--save", "plan.json", "--place", "best"],
    "diff": ["plan.json", "plan.json"],
    "run": ["mnist_cnn", "--batch", "2"],
    "fit": ["mnist_cnn", "--memory", "1GB"],
    "compare": ["alexnet", "--batch", "256", "--device", "titan x"],
    "path": ["googlenet", "--batch", "8"],
    "claims": ["A4"],
    "progress": [],
    "release": ["02"],
}
LOADED = """
import json, sys
from memlab.cli import main
for words in json.loads(sys.argv[1]):
    main(words)
    found = sorted({"anywidget", "ipywidgets", "matplotlib", "IPython"} & set(sys.modules))
    print(words[0], *found, file=sys.stderr)
"""
MODEL = """
from torch import nn, randint, randn

def made():
    return nn.Linear(8, 4), lambda B: (randn(B, 8), randint(4, (B,)))
"""


def loaded(folder, *commands):
    """A line for each command: its name, and what is loaded after it."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(commands)],
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    return done.stderr.splitlines()


def test_commands_load_no_widgets(tmp_path):
    lines = loaded(tmp_path, *([name, *words] for name, words in COMMANDS.items()))
    assert lines == [*COMMANDS]


def test_explain_loads_widgets_where_it_draws_alone(tmp_path):
    torch_or_skip()
    (tmp_path / "mine.py").write_text(MODEL)
    explain = ["explain", "mine:made"]
    lines = loaded(tmp_path, explain, [*explain, "--picture", "drawn.svg"])
    assert lines == ["explain", "explain IPython anywidget ipywidgets"]

"""A command that draws nothing loads no widgets."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.measures

COMMANDS = (
    "plan mnist_cnn --batch 8",
    "run mnist_cnn --batch 2",
    "fit mnist_cnn --memory 1GB",
    "compare alexnet --batch 256 --device titan_x",
    "path googlenet --batch 8",
    "explain tests.torch_models:made",
    "claims A4",
    "progress",
)
COMMAND = """
import sys
from memlab.cli import main
code = main(sys.argv[1:])
print(code, *sorted({"anywidget", "ipywidgets", "matplotlib"} & set(sys.modules)), file=sys.stderr)
"""

"""A kind of layer is written where it is defined and where it is computed: what is general reads
rows and traits."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import ClassVar

import pytest

import memlab
from memlab.errors import InputError
from memlab.layers import LAYERS, Layer, ReLU
from memlab.layers.layer_kind import VIEW, LayerKind
from tests.rows import every_row

ROOT = Path(memlab.__file__).parent
GENERAL = ("step", "build", "ledger", "clocks", "placement", "techniques", "runtime")
ABOUT_ONE = {
    "techniques/chunked_loss.py": "the scores of a language model and their loss",
    "techniques/lowering.py": "the ways to compute a convolution",
    "techniques/relu_masks.py": "what a ReLU keeps",
}
"""Files that are about some kinds, and what about them."""


def kinds_in(source: str) -> set[str]:
    """The kinds that stand as literals in a file, forward or backward."""
    values = (n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant))
    words = {value.removesuffix(".backward") for value in values if isinstance(value, str)}
    return words & LAYERS.keys()


FILES = [
    file.relative_to(ROOT).as_posix()
    for folder in GENERAL
    for file in sorted((ROOT / folder).rglob("*.py"))
]


@every_row("file", FILES)
def test_what_is_general_names_no_kind(file: str) -> None:
    found = kinds_in((ROOT / file).read_text(encoding="utf-8"))
    assert bool(found) == (file in ABOUT_ONE), found


@pytest.mark.parametrize("code", ["op.kind == 'batch_norm'", "('relu.backward', 'x')"])
def test_a_planted_kind_is_seen(code: str) -> None:
    assert kinds_in(code)
    assert not kinds_in('"""Of a batch_norm."""')


def test_a_second_class_of_a_kind_is_refused() -> None:
    with pytest.raises(InputError, match="Other is of the kind 'relu', which ReLU is already"):

        class Other(Layer):
            kind: ClassVar[str] = "relu"
            row: ClassVar[LayerKind] = VIEW

    assert LAYERS["relu"] is ReLU


def test_a_row_that_leaves_out_what_has_no_default_is_refused() -> None:
    with pytest.raises(TypeError, match="'cut' and 'cheap'"):
        LayerKind(keeps=())  # type: ignore[call-arg]  # wrong on purpose


def test_a_layer_without_a_row_is_refused() -> None:
    class Bare(Layer):
        kind: ClassVar[str] = "bare"

    with pytest.raises(InputError, match="Bare does not say what a step does with it; give its"):
        memlab.network("one", features=3).then(Bare())
    assert "bare" not in LAYERS

"""Parameters that several layers use: counted once, and refused where they do not fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memlab.errors import InputError
from memlab.networks.builder import Handle, network
from memlab.networks.counting import CONVENTIONS
from memlab.networks.graph import Network
from tests.rows import every_row


def start() -> Handle:
    return network("shared", features=3)


def chain(uses: int = 3) -> Network:
    """``fc1`` on a vector of 3 values, then again and again on what it gives."""
    first = start().linear(3)
    x = first.tanh()
    for _ in range(uses - 1):
        x = x.linear(3, share=first).tanh()
    return x.linear(2).cross_entropy()


@every_row("uses", [1, 2, 5])
def test_shared_parameters_are_counted_once(uses: int) -> None:
    net = chain(uses)
    assert net.parameters == (3 * 3 + 3) + (3 * 2 + 2)
    assert [node.shares for node in net.nodes if node.kind == "linear"] == [
        "", *["fc1"] * (uses - 1), "",
    ]  # fmt: skip
    found = CONVENTIONS["everything"].total_bytes(net)
    assert found["parameters"] == 4 * net.parameters


def test_the_table_says_whose_they_are() -> None:
    lines = chain(2).table().split("\n")
    (line,) = (line for line in lines if line.startswith("fc2"))
    assert line.split() == ["fc2", "linear", "to", "3,", "parameters", "of", "fc1", "3", "0"]
    assert lines[-1].split() == ["total", "20"]


def test_sharing_with_one_that_shares_is_sharing_with_its_owner() -> None:
    first = start().linear(3)
    second = first.linear(3, share=first)
    net = second.linear(3, share=second).squared_error()
    assert [node.shares for node in net.nodes] == ["", "fc1", "fc1", ""]


def _other_network() -> Handle:
    return network("other", features=3).linear(3)


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: start().linear(3, share=_other_network()), "an output of the same network"),
    (lambda: start().linear(3, share="fc1"), "an output of the same network, got 'fc1'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: (x := start()).linear(3, share=x.linear(4)),
     "linear needs weight 3x3, bias 3, got weight 4x3, bias 4 to share; give both"),
    (lambda: (x := start()).linear(3, share=x.linear(3, bias=False)),
     "needs weight 3x3, bias 3, got weight 3x3 to share"),
    (lambda: (x := start()).linear(3, share=x.tanh()), "linear layer itself, got that of tanh"),
    (lambda: (x := start()).linear(3, share=x), "linear layer itself, got that of input"),
    (lambda: (x := start().linear(3)).then(x.tanh().layer, share=x),  # type: ignore[arg-type]  # wrong on purpose
     "tanh cannot share parameters; try linear"),
    (lambda: (x := start()).linear(3, share=x.linear(3)).squared_error(),
     "'fc1' shares the parameters of 'linear', which does not lead to the loss"),
]  # fmt: skip


@every_row(("make", "words"), BAD)
def test_bad_sharing_gets_one_sentence(make: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)

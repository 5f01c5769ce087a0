"""A network as text: read, refused with the line, and never run."""

import pytest

from memlab import network
from memlab.errors import InputError
from memlab.networks.written import LAYERS, MOST, network_in

STAGES = """\
x = network("tiny", image=(3, 32, 32))
for i in range(2):
    with x.stage("both"):
        x = x.conv(8 * 2, 3, pad="same").relu()
x.max_pool("all").flatten().linear(10).cross_entropy()
"""


def test_a_text_is_the_network_that_python_would_make() -> None:
    written = network_in(STAGES)
    x = network("tiny", image=(3, 32, 32))
    for _ in range(2):
        with x.stage("both"):
            x = x.conv(16, 3, pad="same").relu()
    assert written == x.max_pool("all").flatten().linear(10).cross_entropy()
    assert network_in(STAGES) is written


def test_a_sum_of_two_branches_and_memlab_in_front() -> None:
    text = "import memlab\nx = memlab.network('a', features=4)\ny = x.linear(4)\n"
    assert "add1" in str(network_in(f"{text}y.add(x).squared_error()").nodes)


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "the text makes no network; try network"),
    ("network('a', features=4).linear(2)", r"no loss yet; end it with \.cross_entropy\(\)"),
    ("x", "line 1: unknown name 'x'"),
    ("x = network('a', features=4)\nx.lin(2)", "unknown layer 'lin'; did you mean 'linear'"),
    ("(", "line 1 cannot be read: "),
    ("network('a', image=(3, 4, 5)).conv(1)", r"line 1: conv\(\) missing 1 required"),
    ("network('a', features='q')", "line 1: input size must be a whole number"),
    ("network('a', features=10 * 10**9)", "does not belong to a network"),
    ("network('a', features=99999 * 99999)", "numbers go up to 1,000,000,000"),
    ("network('a', features=1 // 0)", "divided by 0"),
    ("network('a', features='b' * 9)", "only whole numbers"),
    ("x = network('a', features=4)\nfor i in range(10000):\n  x = x.relu()", f"at most {MOST} "),
    ("network('a', features=4)" + ".relu()" * 200, "give the output of one a name"),
    ("network('a', features=4)" + " " * 9000, "at most 8,000 characters"),
    ("for i in [1]: x", "a loop goes over a range"),
    ("network('a', features=4).linear(2).cross_entropy().relu()", "no loss yet, got <a"),
])  # fmt: skip
def test_a_text_that_is_no_network_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        network_in(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [
    "__import__('os').getcwd()", "import os", "print(1)", "open('x')", "network.__globals__",
    "network('a', features=4).__class__", "network('a', features=4).then(1)", "lambda: 1",
    "[x for x in range(3)]", "def f(): pass", "network(**{'name': 'a'})", "f'{1}'", "x: int = 1",
    "network('a', features=4).shape", "x, y = 1, 2", "while True: pass", "exec('1')",
    "-" * 900 + "1",
])  # fmt: skip
def test_nothing_else_is_understood(text: str) -> None:
    with pytest.raises(InputError):
        network_in(text)


def test_the_layers_are_those_of_a_handle() -> None:
    assert {"conv", "linear", "add", "cross_entropy"} <= set(LAYERS)
    assert not {"then", "close", "stage", "shape"} & set(LAYERS)

from dataclasses import replace

import pytest

from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.errors import InputError
from memlab.networks.builder import network
from memlab.networks.graph import Network
from tests.rows import every_row


def tiny():
    x = network("tiny", image=(3, 32, 32), title="Tiny", variant="v2")
    with x.stage("body"):
        x = x.conv(16, 3, pad="same").relu()
        y = x.conv(16, 3, pad="same").batch_norm().add(x).relu()
    with x.stage("head"):
        return y.avg_pool("all").flatten().linear(10).cross_entropy()


def start():
    return network("bad", image=(3, 8, 8))


def test_layers_name_themselves():
    names = [node.name for node in tiny().nodes]
    assert names == [
        *("conv1", "relu1", "conv2", "norm1", "add1", "relu2"),
        *("pool1", "flatten1", "fc1", "loss"),
    ]


def test_an_own_name_is_never_taken_again():
    x = network("own", image=(3, 8, 8)).conv(4, 3, name="conv1").conv(4, 3)
    net = x.flatten().linear(2).cross_entropy()
    assert [node.name for node in net.nodes[:2]] == ["conv1", "conv2"]


def test_a_cell_may_run_again():
    x = start().conv(4, 3)
    first, second = (x.relu().flatten().linear(2).cross_entropy() for _ in range(2))
    assert first == second


def test_what_does_not_lead_to_the_loss_is_left_out():
    x = start().conv(4, 3)
    x.relu()
    net = x.flatten().linear(2).cross_entropy()
    assert [node.kind for node in net.nodes[:2]] == ["conv2d", "flatten"]


def test_nodes_know_what_they_read_and_make():
    add = tiny().by_name["add1"]
    assert add.inputs == ("norm1", "relu1")
    assert add.input_shapes == ((16, 32, 32), (16, 32, 32))
    assert add.shape == (16, 32, 32)
    assert add.stage == "body"


def test_a_network_answers_in_one_word():
    net = tiny()
    assert net.label == "Tiny v2"
    assert net.loss.kind == "softmax_cross_entropy"
    assert net.stages == ("body", "head")
    assert net.parameters == (16 * 27 + 16) + (16 * 16 * 9 + 16) + 2 * 16 + (16 * 10 + 10)
    assert repr(net) == "<Tiny v2: 10 layers, 2,970 parameters, input 3x32x32>"


def test_the_table_lists_every_layer():
    net = tiny()
    first, *rows = net.table().splitlines()
    assert first == "Tiny v2"
    assert [row.split()[0] for row in rows[2:-1]] == [node.name for node in net.nodes]
    assert rows[-1].split() == ["total", "2,970"]


def test_the_stage_before_comes_back():
    x = network("stages", features=4)
    with x.stage("outer"):
        with x.stage("inner"):
            x = x.linear(4)
        x = x.relu()
    net = x.squared_error()
    assert [node.stage for node in net.nodes] == ["inner", "outer", ""]


def test_networks_are_values():
    assert tiny() == tiny()
    assert hash(tiny()) == hash(tiny())


def name_twice():
    start().conv(4, 3, name="a").conv(4, 3, name="a").flatten().linear(2).cross_entropy()


def name_of_the_input():
    start().conv(4, 3, name="input").flatten().linear(2).cross_entropy()


def dead_branch():
    net = tiny()
    unread = replace(net.nodes[0], name="unread")
    Network(net.name, net.title, net.input_shape, (unread, *net.nodes))


def two_networks():
    start().conv(4, 3).add(start().conv(4, 3))


def two_losses():
    start().flatten().then(L.SoftmaxCrossEntropy()).linear(3).cross_entropy()


BAD = [
    (name_twice, "'a' is taken in 'bad'"),
    (name_of_the_input, "'input' is taken"),
    (dead_branch, "nothing reads unread"),
    (two_networks, "both inputs must come from one network"),
    (two_losses, "'bad' needs one loss, at its end"),
    (lambda: start().conv(4, 3).close(), "'bad' needs one loss, at its end"),
    (lambda: start().close(), "'bad' needs one loss, at its end"),
    (lambda: start().add(), "add needs at least two inputs"),
    (lambda: start().concat(), "concat needs at least two inputs"),
    (lambda: start().then(L.ReLU(), start()), "must come from one network"),
    (lambda: (x := start()).then(L.ReLU(), x), "relu takes one input, got 2"),
    (lambda: start().conv(4, 9, name="big"), "big: convolution: a kernel that reaches over 9"),
    (lambda: (x := start()).add(x.conv(4, 3)), "add needs inputs of one shape"),
    (lambda: (x := start()).concat(x.conv(4, 3)), "concat needs maps of one height"),
    (lambda: start().linear(3), "linear needs a vector, got 3x8x8"),
    (lambda: network("n"), "one of the four"),
    (lambda: network("n", image=(3, 8, 8), features=4), "one of the four"),
    (lambda: network("n", image=(8, 8)), r"got \(8, 8\); try \(3, 224, 224\)"),
    (lambda: network("n", image=224), r"got 224; try \(3, 224, 224\)"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: network("n", image=(3, 0, 8)), "input size must be at least 1, got 0"),
    (lambda: network("n", features=-1), "input size must be at least 1, got -1"),
]


@every_row(("make", "words"), BAD)
def test_bad_input_gets_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


def test_a_handle_shows_itself_in_a_few_words():
    x = start().conv(4, 3)
    for _ in range(40):
        x = x.add(x)
    assert repr(x) == "<add of 'bad': 4x6x6>"


@every_row("other", [5, None, "x", [1]])
def test_what_is_no_output_is_one_sentence(other):
    with pytest.raises(InputError, match="add joins outputs of one network"):
        start().add(other)


@every_row(
    "name", ["labels", "prediction", "gradient of x", "a.weight", " ", "two\nlines", "sum 1"]
)
def test_names_that_a_step_needs_are_refused(name):
    x = network("names", features=4).linear(5, name="a")
    with pytest.raises(InputError):
        x.relu(name=name).linear(2).cross_entropy()

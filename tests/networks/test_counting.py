from fractions import Fraction
from math import prod

import pytest

from memlab.errors import InputError
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.counting import CONVENTIONS, bound_parts, find
from memlab.networks.zoo import build
from tests.rows import every_row

MIB = 2**20


def total(rule, name, batch=1):
    return sum(find(rule).total_bytes(build(name), batch).values())


@every_row(
    ("rule", "name", "variant", "values"),
    [
        ("conv-only", "resnet50", "v1", 10_587_136),  # A4
        ("conv-sums", "resnet50", "v1", 16_106_496),  # A4
        ("relu-in-place", "resnet50", "v1", 27_048_912),  # B6
        ("everything", "resnet50", "v1", 36_130_768),
        ("everything", "resnet50", "v1.5", 37_711_312),  # A4: 37.7M
        ("cs231n", "vgg16", None, 15_237_608),  # B3
        ("vdnn", "vgg16", None, 15_237_608),  # C2
        ("everything", "linear1", None, 3),  # x, h, y
        ("cs231n", "linear1", None, 2),
        ("relu-in-place", "linear1", None, 3),
    ],
)
def test_values(rule, name, variant, values):
    assert find(rule).values(build(name, variant=variant)) == values


def test_a4_is_168_mb_together():
    parts = find("conv-sums").total_bytes(build("resnet50-v1"))
    assert parts == {"parameters": 4 * 25_557_032, "feature maps": 64_425_984}


def test_a5_is_over_2_gb_at_batch_32():
    assert find("conv-sums").total_bytes(build("resnet50-v1"), 32)["feature maps"] == 2_061_631_488


@every_row(
    ("name", "parameters", "maps"),
    [
        ("vgg16", 528, 58),
        ("vgg19", 548, 63),
        ("resnet50-v1", 98, 103),
        ("resnet101-v1", 170, 155),
        ("alexnet", 233, 3),
    ],
)
def test_b6_in_mib(name, parameters, maps):
    parts = find("relu-in-place").total_bytes(build(name))
    assert round(Fraction(parts["parameters"] + parts["buffers"], MIB)) == parameters
    assert round(Fraction(parts["feature maps"], MIB)) == maps


def test_b2_from_its_counts():
    counts = 532_752, 19_072_984, 9_000, 128
    assert sum(bound_parts(*counts, copies=3).values()) == 779_021_856
    assert f"{sum(bound_parts(*counts, copies=4).values()) / MIB:.2f}" == "815.69"


@every_row(
    ("optimizer", "copies"), [("sgd", 2), (None, 3), ("adagrad", 3), ("rmsprop", 3), ("adam", 4)]
)
def test_b1_formula(optimizer, copies):
    parts = find("cs231n").total_bytes(build("vgg16"), 8, optimizer)
    maps = 15_237_608 - 3 * 224 * 224
    assert parts == {
        "activations and their gradients": 4 * 2 * maps * 8,
        "parameters, gradients and optimizer state": 4 * copies * 138_357_544,
        "input": 4 * 3 * 224 * 224 * 8,
    }


@every_row(
    ("name", "batch", "gigabytes"),
    [("alexnet", 128, "1.04"), ("vgg16", 128, "12.20"), ("vgg16", 256, "23.29")],
)
def test_c2_in_decimal_gb(name, batch, gigabytes):
    assert f"{total('vdnn', name, batch) / 10**9:.2f}" == gigabytes


@pytest.mark.parametrize(("name", "shares"), [("vgg16", [9, 64, 27]), ("alexnet", [47, 36, 17])])
def test_c9_shares_at_batch_128(name, shares):
    weights, gradients, *maps = find("vdnn").total_bytes(build(name), 128).values()
    whole = weights + gradients + sum(maps)
    assert [round(100 * part / whole) for part in (weights + gradients, *maps)] == shares


@every_row("rule", CONVENTIONS)
def test_the_names_that_are_counted_have_the_values(rule):
    net, convention = zoo.googlenet(), find(rule)
    shapes = {"input": net.input_shape} | {node.name: node.shape for node in net.nodes}
    names = convention.counted(net)
    assert sum(prod(shapes[name]) for name in names) == convention.values(net)
    assert list(names) == [name for name in shapes if name in names]


@every_row("name", ["resnet50", "vgg16", "googlenet", "alexnet", "mnist_cnn"])
def test_four_rules_nest(name):
    rules = ("conv-only", "conv-sums", "relu-in-place", "everything")
    inner, *outer = (set(find(rule).counted(build(name))) for rule in rules)
    for names in outer:
        assert inner <= names
        inner = names


def test_a_view_is_never_counted_and_dropout_only_by_everything():
    net = build("vgg16")
    counted = {rule: set(find(rule).counted(net)) for rule in CONVENTIONS}
    assert not any("flatten" in names for names in counted.values())
    assert [rule for rule, names in counted.items() if "drop6" in names] == ["everything"]


def test_the_largest_pair_of_an_add_has_all_its_inputs():
    x = network("sum", image=(1, 2, 2))
    y = x.conv(5, 1, name="a")
    net = y.add(y.tanh(), y.relu(), name="add").flatten().linear(2).squared_error()
    assert find("vdnn").total_bytes(net, 3)["gradient maps"] == 4 * (4 * 5 * 2 * 2) * 3


@every_row("rule", CONVENTIONS)
def test_every_rule_names_its_source_and_gives_exact_bytes(rule):
    convention = find(rule)
    assert convention.name == rule
    assert convention.source[0] in "ABC"
    assert convention.title
    assert convention.description.endswith(".")
    parts = convention.total_bytes(build("mnist_cnn"), 32)
    assert all(type(part) is int for part in parts.values())


BAD = [
    (lambda: find("relu"), "unknown counting rule 'relu'"),
    (lambda: find("conv-sum"), "did you mean 'conv-sums'?"),
    (lambda: find("cs231n").total_bytes(build("linear1"), 1, "adamw"), "did you mean 'adam'?"),
    (
        lambda: find("vdnn").total_bytes(build("linear1"), 1, "adam"),
        "'vdnn' has no optimizer state",
    ),
    (lambda: find("conv-sums").total_bytes(build("linear1"), 1, "adam"), "no optimizer state"),
]


@every_row(("make", "words"), BAD)
def test_bad_input_gets_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message

"""A wrong guess names its mistake, where one mistake alone explains it; a right one is right."""

from collections import Counter
from fractions import Fraction
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import memlab
from memlab import strings, units
from memlab.assemble.step import training_step
from memlab.layers import Conv2d, Linear
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.material import quantities
from memlab.lesson.misconceptions import (
    DistanceRule,
    GuessVerdict,
    Mistake,
    cause_of,
    confusable_pairs,
    distinct_causes,
    judge,
    rounded,
)
from memlab.lesson.typed_guess import Guess, amount, times
from memlab.networks import zoo
from memlab.optimizers import OPTIMIZERS
from tests.drawn import examples
from tests.rows import every_row


def grouped():
    """A convolution in groups, which no network of the zoo has."""
    x = memlab.network("grouped", image=(12, 40, 40)).conv(24, 5, 2, 2, groups=6, name="conv1")
    x = x.relu().conv(36, 3, 1, 1, groups=12, name="conv2")
    return x.relu().max_pool("all").flatten().linear(10).cross_entropy()


NETWORKS = {
    "mnist_cnn": zoo.mnist_cnn,
    "alexnet": zoo.alexnet,
    "overfeat": zoo.overfeat,
    "vgg11": zoo.vgg11,
    "vgg16": zoo.vgg16,
    "googlenet": zoo.googlenet,
    "resnet18": zoo.resnet18,
    "resnet50": zoo.resnet50,
    "resnet101": zoo.resnet101,
    "grouped": grouped,
}
BATCH = 24


# -- people who make one mistake each, by formulas of their own ---------------------------------


def size(n, k, stride, pad):
    return (n + 2 * pad - k) // stride + 1


def output_of(node, batch=BATCH, each=4, stride=True, pad=True):
    """Bytes of a convolution's output as somebody works them out."""
    layer, (_, h, w) = node.layer, node.input_shapes[0]
    s, p = layer.stride if stride else 1, layer.padding if pad else 0
    side = size(h, layer.kernel, s, p) * size(w, layer.kernel, s, p)
    return batch * layer.out_channels * side * each


def wrong_outputs(node):
    layer, (inner, *_), right = node.layer, node.input_shapes[0], output_of(node)
    yield "bits", right * 8
    yield "values", output_of(node, each=1)
    yield "batch", output_of(node, batch=1)
    yield "stride", output_of(node, stride=False)
    yield "stride_once", right * layer.stride
    if layer.kernel <= min(node.input_shapes[0][1:]):
        yield "padding", output_of(node, pad=False)
    yield "gradients", 2 * right
    yield "channels", right / layer.out_channels * inner


def wrong_copies(node):
    layer, (inner, h, w) = node.layer, node.input_shapes[0]
    values = inner * layer.kernel**2 / layer.out_channels
    for name, nbytes in wrong_outputs(node):
        if name not in ("gradients", "channels"):
            yield name, nbytes * values
    right = output_of(node) * values
    yield "one_k", right / layer.kernel
    yield "not_lowered", BATCH * inner * h * w * 4
    yield "lowered_twice", right * layer.kernel**2


def wrong_parameters(node):
    layer, inner = node.layer, node.input_shapes[0][0]
    conv = isinstance(layer, Conv2d)
    outputs = layer.out_channels if conv else layer.out_features
    k, groups = (layer.kernel, layer.groups) if conv else (1, 1)
    weights, bias = outputs * inner * k * k / groups, outputs * layer.bias
    yield "bits", 32 * (weights + bias)
    yield "values", weights + bias
    yield "gradients", 8 * (weights + bias)
    yield "momentum", 12 * (weights + bias)
    yield "adam", 16 * (weights + bias)
    if layer.bias:
        yield "bias", 4 * weights
    if conv:
        yield "one_k", 4 * (weights / k + bias)
        yield "groups", 4 * (weights * groups + bias)


def wrong_states(count, optimizer):
    arrays = {"sgd": 2, "adam": 4}.get(optimizer, 3)
    yield "bits", 32 * arrays * count
    yield "values", arrays * count
    yield "one_array", 4 * (arrays - 1) * count  # x3, as B1 has it for Adam
    if arrays == 4:
        yield "optimizer", 8 * count


def asked(network):
    """Every quantity of a network with the mistakes that people make about it."""
    for node in network.nodes:
        if isinstance(node.layer, Conv2d):
            yield quantities.feature_map(node, BATCH), wrong_outputs(node)
            yield quantities.lowered(node, BATCH), wrong_copies(node)
        if isinstance(node.layer, (Conv2d, Linear)):
            yield quantities.parameters(node), wrong_parameters(node)
    for optimizer in OPTIMIZERS:
        state = quantities.model_state(network.parameters, optimizer)
        yield state, wrong_states(network.parameters, optimizer)


def written(nbytes):
    """As people write an amount: 4 digits and a unit."""
    unit = next((u for u in ("GB", "MB", "kB") if nbytes >= units.UNITS[u]), "B")
    return f"{nbytes / units.UNITS[unit]:.3f} {unit}" if unit != "B" else f"{round(nbytes)} B"


LISTED = {
    "bits", "values", "batch", "one_k", "not_lowered", "lowered_twice", "stride", "stride_once",
    "padding", "gradients", "momentum", "adam", "one_array", "optimizer", "groups", "bias",
    "channels",
}  # fmt: skip


def recognised(make):
    """Number of times each mistake was made where it is distinct; the card must name each."""
    seen: Counter[str] = Counter()
    for quantity, wrong in asked(make()):
        clear = {cause.name for cause in distinct_causes(quantity.nbytes, quantity.causes)}
        for name, nbytes in wrong:
            if name not in clear:
                continue
            verdict = judge(amount(written(nbytes)), quantity.nbytes, quantity.causes)
            assert not verdict.right
            assert verdict.cause is not None, (name, written(nbytes), quantity)
            assert verdict.cause.name == name
            seen[name] += 1
    return seen


@pytest.mark.table
@pytest.mark.parametrize("name", NETWORKS)
def test_a_mistake_is_recognised_from_the_guess_that_makes_it(name):
    assert sum(recognised(NETWORKS[name]).values()) > 10


def test_every_mistake_of_the_list_is_recognised_somewhere():
    seen: Counter[str] = Counter()
    for make in NETWORKS.values():
        seen += recognised(make)
    assert set(seen) == LISTED
    assert min(seen.values()) >= 2, seen


def test_every_cause_has_its_question():
    for name in LISTED:
        assert strings.get(f"cause.{name}").rstrip(".").count("?") == 1


# -- truth --------------------------------------------------------------------------------------


@every_row("name", ["mnist_cnn", "alexnet", "resnet18", "grouped"])
def test_a_quantity_is_what_the_plan_says(name):
    network = NETWORKS[name]()
    ledger = plan(training_step(network, "adam"))
    entries = {entry.name: entry for entry in ledger.entries}
    for node in network.nodes:
        if not isinstance(node.layer, (Conv2d, Linear)):
            continue
        due = sum(entries[f"{node.name}.{array.name}"].size.at(1) for array in node.parameters)
        assert quantities.parameters(node).nbytes == due
        if isinstance(node.layer, Conv2d):
            assert quantities.feature_map(node, 7).nbytes == entries[node.name].size.at(7)
    roles = {"parameter", "parameter_gradient", "optimizer_state"}
    sizes = sum(e.size.at(1) for e in ledger.entries if e.role in roles)
    assert quantities.model_state(network.parameters, "adam").nbytes == sizes


def test_a_lowered_copy_is_the_workspace_of_each_image():
    network = zoo.vgg11()
    ledger = plan(training_step(network, "sgd"))
    for node in network.nodes:
        if isinstance(node.layer, Conv2d):
            (workspace,) = (e for e in ledger.entries if e.name == f"{node.name}.workspace")
            assert workspace.size.at(1) == quantities.lowered(node, 1).nbytes


ALL = sorted(zoo.ZOO)
LEDGERS: dict[str, Ledger] = {}


def ledger_of(name):
    if name not in LEDGERS:
        LEDGERS[name] = plan(training_step(zoo.build(name)))
    return LEDGERS[name]


@examples(400)
@given(
    name=st.sampled_from(ALL),
    batch=st.integers(1, 4096),
    unit=st.sampled_from(sorted(set(units.UNITS))),
    digits=st.integers(0, 6),
    extra=st.floats(0.5, 2),
)
def test_no_right_answer_is_called_wrong(name, batch, unit, digits, extra):
    truth = ledger_of(name).peak(batch)
    text = units.in_unit(truth, unit, digits)
    rival = Mistake("values", Fraction(truth) * Fraction(extra))  # a cause next to the truth
    told = amount(text)
    assume(10 * abs(told.value - truth) <= truth)  # 0 GB and 1 GB round much away
    assume(abs(told.value - rival.value) >= abs(told.value - truth))
    assert judge(told, truth, [rival]).right
    twin = told.twin
    if twin is not None:  # the number of the other unit, too, with a note
        shown = units.in_unit(truth, twin.unit, digits).replace(twin.unit, unit)
        meant = amount(shown).twin
        assert meant is not None
        assume(100 * abs(meant.value - truth) <= truth)
        assert judge(amount(shown), truth).right


@every_row("name", ALL)
def test_no_short_form_is_called_wrong(name):
    for batch in (1, 2, 3, 7, 8, 16, 31, 32, 64, 100, 256, 512):
        truth = ledger_of(name).peak(batch)
        for text in (units.exact(truth), units.short(truth), units.both(truth).split(" (")[0]):
            assert judge(amount(text), truth).right, text


def test_a_right_guess_in_the_other_unit_is_right_and_says_so():
    truth = 6_422_528
    assert judge(amount("6.42 MB"), truth) == GuessVerdict(True, ratio=Fraction(6_420_000, truth))
    verdict = judge(amount("6.13 MB"), truth)
    assert (verdict.right, verdict.unit) == (True, "MiB")
    assert judge(amount("6.42 MiB"), truth).unit == "MB"
    assert judge(amount("6.0 MB"), truth) == GuessVerdict(
        True, ratio=Fraction(6_000_000, truth), close=True
    )
    assert not judge(amount("5.7 MB"), truth).right


@every_row(
    ("given", "unit", "close"),
    [
        ("5.8 GB", "", True),
        ("5.98 GB", "GiB", False),
        ("6 GB", "", True),  # 6.42 rounds to 6
        ("6.0 GB", "GiB", False),  # and not to 6.0
        ("6 GiB", "", False),
        ("6.4 GB", "", False),
        ("6.4 GiB", "GB", False),
        ("6.5 GB", "", True),
        ("7 GB", "", True),
    ],
)
def test_a_guess_that_rounds_to_the_truth_is_not_said_to_be_right_in_the_other_unit(
    given, unit, close
):
    verdict = judge(amount(given), 6_420_810_980)
    assert (verdict.right, verdict.unit, verdict.close) == (True, unit, close)


# -- silence ------------------------------------------------------------------------------------


def test_two_causes_that_fit_say_nothing():
    causes = [
        Mistake("a", Fraction(1000)),
        Mistake("b", Fraction(1010)),
        Mistake("c", Fraction(4000)),
    ]
    assert cause_of(amount("1005 B"), causes) is None
    assert cause_of(amount("1 kB"), causes) is None
    assert cause_of(amount("4 kB"), causes) is causes[2]
    assert cause_of(amount("2000 B"), causes) is None
    assert cause_of(amount("3.9 KiB"), causes) is causes[2]


def test_a_cause_is_found_in_the_other_unit_too():
    cause = Mistake("a", Fraction(64 * 2**20, 10))
    assert cause_of(amount("6.40 MB"), [cause]) is cause
    assert cause_of(amount("6.40 MiB"), [cause]) is cause
    assert cause_of(amount("6.00 MB"), [cause]) is None


def test_rounding_on_the_way_is_forgiven_up_to_1_percent():
    cause = Mistake("a", Fraction(1_000_000))
    assert cause_of(amount("1,009,000 B"), [cause]) is cause
    assert cause_of(amount("1,011,000 B"), [cause]) is None


def test_causes_are_alike_within_3_percent_after_rounding():
    def pairs(*values):
        return confusable_pairs(
            1000, [Mistake(chr(97 + i), Fraction(v)) for i, v in enumerate(values)]
        )

    assert pairs(4000, 500) == []
    assert pairs(4000, 4100) == [("a", "b")]
    assert pairs(4000, 4130) == []
    assert pairs(1029) == [("truth", "a")]
    assert pairs(0) == []


def test_the_same_mistake_twice_is_one():
    twice = [Mistake("a", Fraction(100)), Mistake("a", Fraction(100))]
    assert confusable_pairs(1000, twice) == []
    assert cause_of(amount("100 B"), twice) is twice[0]


def test_rounded_keeps_3_digits():
    assert rounded(6_422_528) == 6_420_000
    assert rounded(Fraction(1, 3)) == Fraction("0.333")
    assert rounded(0) == 0


# -- within 10 % ----------------------------------------------------------------------------------


@every_row(
    ("given", "truth", "right", "close"),
    [
        ("1000 B", 1000, True, False),
        ("1100 B", 1000, True, True),
        ("900 B", 1000, True, True),
        ("1101 B", 1000, False, False),
        ("899 B", 1000, False, False),
        ("1 GB", 1_280_000_000, False, False),  # its digits reach from 0.5 to 1.5
        ("1 GB", 1_040_000_000, True, True),
        ("1 GB", 1_005_000_000, True, False),
        ("5 B", 0, False, False),
        ("0 B", 0, True, False),
    ],
)
def test_an_amount_within_10_percent_is_right_and_close(given, truth, right, close):
    verdict = judge(amount(given), truth)
    assert (verdict.right, verdict.close) == (right, close)


@every_row(
    ("given", "truth", "right", "close"),
    [
        ("14", Fraction("14.738"), True, True),
        ("2", Fraction(2), True, False),
        ("1.9", Fraction(2), True, True),  # 0.9 for a distance of 1
        ("2.1", Fraction(2), True, True),
        ("1.89", Fraction(2), False, False),
        ("2.11", Fraction(2), False, False),
        ("2", Fraction("2.15"), False, False),  # its digit reaches to 2.5
        ("1.1", Fraction("1.088"), True, False),  # to 1 decimal
        ("1.08", Fraction("1.088"), True, True),
        ("1.07", Fraction("1.088"), False, False),
        ("1", Fraction("1.088"), False, False),
        ("1", Fraction("1.007"), True, False),
        ("1", Fraction(1), True, False),
        ("1.01", Fraction(1), False, False),
        ("0.99", Fraction(1), False, False),
        ("0.9", Fraction("1.1"), False, False),  # on the other side of 1
        ("0.5", Fraction(2), False, False),
        ("1/2", Fraction(1, 2), True, False),
        ("1/2.1", Fraction(1, 2), True, True),  # as 2.1 for 2
        ("1/1.9", Fraction(1, 2), True, True),
        ("1/1.89", Fraction(1, 2), False, False),
        ("0.11", Fraction("0.1"), False, False),  # 9.1 for 10
        ("0.107", Fraction("0.1"), True, True),
        ("0", Fraction("0.1"), False, False),
    ],
)
def test_a_factor_is_judged_by_its_distance_from_1(given, truth, right, close):
    verdict = judge(times(given), truth, rule=DistanceRule.FACTOR)
    assert (verdict.right, verdict.close) == (right, close)


@every_row(
    ("given", "right", "close"),
    [("49", True, False), ("7·7", True, False), ("48", False, True), ("50", False, True),
     ("49.2", False, True), ("12", False, False)],
)  # fmt: skip
def test_a_count_is_exact(given, right, close):
    verdict = judge(times(given), 49, rule=DistanceRule.COUNT)
    assert (verdict.right, verdict.close) == (right, close)


@given(
    truth=st.fractions(Fraction(1, 1000), 1000),
    share=st.fractions(Fraction(0), Fraction(1, 2)),
    more=st.booleans(),
)
def test_a_factor_and_its_reverse_are_judged_alike(truth, share, more):
    assume(abs(truth - 1) > Fraction(1, 100))
    apart = (max(truth, 1 / truth) - 1) * (1 + share if more else 1 - share)
    value = 1 + apart if truth > 1 else 1 / (1 + apart)
    verdict = judge(Guess("", value, Fraction(0)), truth, rule=DistanceRule.FACTOR)
    assert verdict.right is (share <= Fraction(1, 10))
    reverse = judge(Guess("", 1 / value, Fraction(0)), 1 / truth, rule=DistanceRule.FACTOR)
    assert reverse.right is verdict.right


@given(truth=st.integers(1, 10**12), share=st.fractions(Fraction(-1, 2), Fraction(1, 2)))
def test_an_amount_is_right_within_10_percent_and_wrong_beyond(truth, share):
    verdict = judge(Guess("", truth * (1 + share), Fraction(0)), truth)
    assert verdict.right is (abs(share) <= Fraction(1, 10))
    assert verdict.close is (verdict.right and share != 0)


def test_a_named_mistake_keeps_its_diagnosis_within_10_percent():
    cause = Mistake("maps_alone", Fraction(16))
    truth = Fraction("14.738")
    verdict = judge(times("16"), truth, [cause], DistanceRule.FACTOR)
    assert (verdict.right, verdict.cause) == (False, cause)
    assert judge(times("15"), truth, [cause], DistanceRule.FACTOR).right  # nearer to the truth
    near = Mistake("a", Fraction(1050))
    assert judge(amount("1050 B"), 1000, [near]).cause is near
    assert judge(amount("1.0 kB"), 1000, [near]).right
    assert judge(amount("1 kB"), 1050, [Mistake("a", Fraction(1000))]).cause is not None


def test_the_digits_of_a_guess_reach_no_cause_far_away():
    cause = Mistake("a", Fraction(1_400_000_000))
    assert cause_of(amount("1 GB"), [cause]) is None  # from 0.5 to 1.5 GB
    assert cause_of(amount("1.4 GB"), [cause]) is cause


def test_shapes_are_products():
    (node, *_) = NETWORKS["grouped"]().nodes
    assert quantities.feature_map(node, 3).nbytes == 3 * prod((24, 20, 20)) * 4

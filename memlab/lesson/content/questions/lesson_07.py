"""Lesson 07, in place and sharing: who may overwrite whom, what that adds, a wrong address."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from random import Random

from memlab import strings, units
from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import Kind, Numbers, Part, Truth, topic
from memlab.lesson.content.tools import step_of
from memlab.lines import np
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.placement.placement import TOY, Placement, arrange, place
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place
from memlab.techniques.no_reuse import no_reuse

# -- what lessons 01 and 02 said ----------------------------------------------------------------


def chain(depth: int) -> Network:
    """Images of 3·32·32 through ``depth`` convolutions whose maps have 16·32·32 values."""
    x = network("chain", image=(3, 32, 32))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same", bias=False)
    return x.max_pool("all").flatten().linear(10).cross_entropy()


_WAITING = ("two", "half", "all")


@topic("07.waiting", Kind.CHOICE, {"depth": 4, "training": False}, None, options=_WAITING,
       part=Part.RECALL, gives=("2 maps", "input and the output of"))  # fmt: skip
def waiting(n: Numbers) -> Truth:
    """How many maps are alive at the peak of inference with a chain of convolutions (D2)."""
    ledger = plan(step_of(chain(n["depth"]), "sgd" if n["training"] else ""))
    each = 4 * 16 * 32 * 32
    alive = ledger.roles(1)[Role.FEATURE_MAP] // each
    found = {2: "two", n["depth"] // 2: "half", n["depth"]: "all"}
    return Truth("two" if alive == 2 else found[alive], seen={"alive": alive})


_PARTS = ("floor", "mountain")


@topic("07.part", Kind.CHOICE, {"network": "resnet50", "batch": 32}, None, options=_PARTS,
       part=Part.RECALL, words=lambda n: {**n, "label": labelled(n["network"])},
       gives=("larger than the floor", "mountain is"))  # fmt: skip
def part(n: Numbers) -> Truth:
    """Which part of the peak of a training step is the larger one."""
    ledger = plan(step_of(built(n["network"])))
    fixed, each = ledger.line()
    at = ledger.peak_at(n["batch"]).index
    low, high = int(fixed[at]), n["batch"] * int(each[at])
    told: dict[str, object] = {"floor": units.short(low), "mountain": units.short(high)}
    return Truth("floor" if low > high else "mountain", seen=told)


# -- in place -----------------------------------------------------------------------------------

_ORDER = ("conv", "norm", "act")


def three(act: str, shortcut: bool) -> Network:
    """A convolution, batch norm and an activation; with a shortcut, the output of batch norm is
    read once more, behind the activation."""
    x = network("three", image=(3, 8, 8)).conv(4, 3, pad="same", bias=False, name="conv")
    x = x.batch_norm(name="norm")
    y = x.relu(name="act") if act == "ReLU" else x.tanh(name="act")
    y = y.add(x, name="sum") if shortcut else y
    return y.max_pool("all").flatten().linear(10).cross_entropy()


def _step(n: Numbers) -> Step:
    return step_of(three(n["act"], n["shortcut"]), "sgd" if n["training"] else "")


def why_not(step: Step, layer: str) -> str:
    """Why the output of a layer may not lie where its input is; empty where it may."""
    try:
        in_place(step, layers=[layer])
    except InputError as refused:
        return str(refused)
    return ""


def _draw_three(chance: Random) -> Numbers:
    training = chance.choice((True, False))
    return {"act": chance.choice(("ReLU", "tanh")), "training": training,
            "shortcut": training and chance.choice((True, False))}  # fmt: skip


def _three_words(n: Numbers) -> Numbers:
    pass_ = "training" if n["training"] else "inference"
    behind = "shortcut" if n["shortcut"] else "plain"
    return {
        **n,
        "pass": strings.get(f"ask.07.in_place.{pass_}"),
        "behind": strings.get(f"ask.07.in_place.{behind}", act=n["act"]),
    }


@topic("07.in_place", Kind.CHOICE, {"act": "ReLU", "training": True, "shortcut": False},
       _draw_three, options=("none", "act", "both", "all"), words=_three_words,
       gives=("still needs conv", "its batch norm", "reads its output", "may go",
              "places that are overwritten", "nobody reads it later"),
       shows=({"in_place": True},))  # fmt: skip
def overwriting(n: Numbers) -> Truth:
    """Which of three layers may write over its input: those that ``in_place`` does not refuse."""
    step = _step(n)
    reasons = {layer: why_not(step, layer) for layer in _ORDER}
    free = tuple(layer for layer, why in reasons.items() if not why)
    found = {(): "none", ("act",): "act", ("norm", "act"): "both", _ORDER: "all"}[free]
    return Truth(found, seen={"why": " ".join(why for why in reasons.values() if why)})


# -- both together ------------------------------------------------------------------------------

_NETWORKS = ("resnet50", "gpt_small", "resnet18", "vgg16", "googlenet")


def labelled(name: str) -> str:
    """A network of the lesson as a text names it."""
    return built(name).label


def built(name: str) -> Network:
    """ResNets as v1.5, as in the lesson."""
    return zoo.build(name, variant="v1.5" if name.startswith("resnet") else None)


def _draw_both(chance: Random) -> Numbers:
    return {
        "network": chance.choice(_NETWORKS),
        "training": chance.choice((True, False)),
        "batch": chance.choice((8, 16, 32)),
    }


@cache
def shrunk(network: str, training: bool, batch: int) -> tuple[Fraction, Fraction, Fraction]:
    """How many times less maps and gradient maps take in place alone, with reuse alone, and with
    both (A9, D2)."""
    step = step_of(built(network), "momentum" if training else "")
    inside = in_place(step)
    plain, *ways = (no_reuse(step), no_reuse(inside), step, inside)
    alone, reuse, both = (Fraction(maps(plan(plain), batch), maps(plan(w), batch)) for w in ways)
    return alone, reuse, both


def maps(ledger: Ledger, batch: int) -> int:
    """Bytes of feature and gradient maps at the peak."""
    roles = ledger.roles(batch)
    return roles[Role.FEATURE_MAP] + roles[Role.GRADIENT_MAP]


def _both_words(n: Numbers) -> Numbers:
    alone, reuse, _ = shrunk(n["network"], n["training"], n["batch"])
    key = "training" if n["training"] else "inference"
    return {**n, "label": labelled(n["network"]), "alone": f"{float(alone):.1f}",
            "reuse": f"{float(reuse):.1f}", "pass": strings.get(f"ask.07.both.{key}"),
            "product": f"{float(alone * reuse):.1f}"}  # fmt: skip


@topic("07.both", Kind.CHOICE, {"network": "resnet50", "training": True, "batch": 32}, _draw_both,
       options=("product", "between", "reuse"), words=_both_words,
       gives=("nearly all", "on top of", "adds nothing", "one operation later"),
       shows=({"what": "resnet50", "in_place": True},))  # fmt: skip
def both(n: Numbers) -> Truth:
    """What in place adds to giving back: it multiplies, it adds something, or nearly nothing."""
    alone, reuse, together = shrunk(n["network"], n["training"], n["batch"])
    _, without, with_both = shrunk(n["network"], False, n["batch"])
    told: dict[str, object] = {
        "both": f"{float(together):.2f}", "reused": f"{float(reuse):.2f}",
        "inference": f"{float(100 - 100 * without / with_both):.0f}",
    }  # fmt: skip
    if together > Fraction(95, 100) * alone * reuse:
        return Truth("product", seen=told)
    return Truth("between" if together > Fraction(105, 100) * reuse else "reuse", seen=told)


# -- addresses ----------------------------------------------------------------------------------


@topic("07.packed", Kind.CHOICE, {"blocks": "toy"}, None, options=("bound", "between", "same"),
       part=Part.CHANGE, gives=("reaches the lower bound", "nothing could be smaller"))  # fmt: skip
def packed(n: Numbers) -> Truth:
    """The smallest arena of the toy, beside its lower bound and the order of birth."""
    best, born = arrange(TOY, "exact"), arrange(TOY, "birth")
    found = {born.arena: "same", best.lower_bound: "bound"}.get(best.arena, "between")
    return Truth(found, seen={"best": best.arena // units.BINARY["MiB"]})


# -- a fault ------------------------------------------------------------------------------------


def pair() -> Network:
    """Two convolutions with ReLU and a shortcut around the second, small enough to run here."""
    x = network("pair", image=(1, 8, 8)).conv(4, 3, pad="same", name="conv1").relu(name="relu1")
    y = x.conv(4, 3, pad="same", name="conv2").relu(name="relu2")
    return y.add(x, name="sum").max_pool("all").flatten().linear(10).cross_entropy()


FAULTS = {
    "backward": ("gradient of conv2", "relu1"),
    "forward": ("conv2", "relu1"),
    "above": ("gradient of conv2", ""),
}
"""What is moved, and onto what: in backward, in forward, or above everything."""


def faulty(packed: Placement, fault: str) -> Placement:
    """The placement with one block moved."""
    moving, there = FAULTS[fault]
    return packed.moved(moving, packed.address(there) if there else packed.arena)


def _draw_fault(chance: Random) -> Numbers:
    return {"fault": chance.choice(tuple(FAULTS)), "batch": chance.choice((2, 4, 8))}


def _fault_words(n: Numbers) -> Numbers:
    moving, there = FAULTS[n["fault"]]
    key = "onto" if there else "above"
    return {**n, "moved": strings.get(f"ask.07.address.{key}", moving=moving, there=there)}


def _wrong(one: Mapping[str, Array], other: Mapping[str, Array]) -> tuple[int, int]:
    """How many values differ in any bit, of how many."""
    differ = (np.count_nonzero(one[name].view("u4") != other[name].view("u4")) for name in one)
    return sum(map(int, differ)), sum(array.size for array in one.values())


@topic("07.address", Kind.CHOICE, {"fault": "backward", "batch": 4}, _draw_fault,
       options=("same", "gradients", "loss", "stops"), words=_fault_words,
       gives=("bugs are silent", "no message", "wrong gradient", "same loss",
              "bit for bit"))  # fmt: skip
def address(n: Numbers) -> Truth:
    """What a step gives with one block at another address: it is run both ways."""
    from memlab.runtime.run import run

    batch, step = n["batch"], step_of(pair(), "sgd").keep("gradients")
    packed = place(step, batch)
    right = run(step, batch, placement=packed)
    moved = faulty(packed, n["fault"])
    other = run(step, batch, placement=moved, poison=False, overlapping=True)
    differ, count = _wrong(right.gradients, other.gradients)
    same = right.loss == other.loss
    found = ("gradients" if differ else "same") if same else "loss"
    loss = strings.get(f"ask.07.address.loss_{'same' if same else 'other'}")
    return Truth(found, seen={"loss": loss, "differ": f"{differ:,}", "count": f"{count:,}"})

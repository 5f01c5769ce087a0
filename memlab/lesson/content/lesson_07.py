"""Lesson 07, in place and sharing: what reuse saves, who may overwrite whom, addresses, faults."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from random import Random

import numpy as np

from memlab import strings
from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.lesson.content.tools import measured, planned, step_of
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.planner.book import plan
from memlab.planner.ledger import Ledger
from memlab.planner.placement import TOY, Block, Placement, arrange, place
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place
from memlab.techniques.no_reuse import no_reuse
from memlab.units import BINARY

MIB = BINARY["MiB"]

# -- reuse --------------------------------------------------------------------------------------


def chain(depth: int) -> Network:
    """Images of 3·32·32 through ``depth`` convolutions whose maps have 16·32·32 values."""
    x = network("chain", image=(3, 32, 32))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same", bias=False)
    return x.max_pool("all").flatten().linear(10).cross_entropy()


def maps(ledger: Ledger, batch: int) -> int:
    """Bytes of feature and gradient maps at the peak."""
    roles = ledger.roles(batch)
    return roles[Role.FEATURE_MAP] + roles[Role.GRADIENT_MAP]


def _draw_chain(chance: Random) -> Numbers:
    return {"depth": chance.choice((3, 5, 6, 7, 8)), "batch": chance.choice((2, 4))}


def _chain_causes(depth: int) -> list[Cause]:
    return [
        Cause("no_gradient_alive", Fraction(2)),
        Cause("last_map", Fraction(2 * depth, depth + 2)),
        Cause("as_inference", Fraction(depth)),
        Cause("nothing_freed", Fraction(1)),
    ]


_LESS = ("1.0", "1.2", "1.4", "1.5", "1.6", "1.7", "1.8", "2.0", "2.5", "3.0", "4.0", "6.0", "8.0")


@topic("07.reuse", Kind.TIMES, {"depth": 4, "batch": 4}, _draw_chain, stops=_LESS, decimals=1)
def reuse(n: Numbers) -> Truth:
    """How many times smaller maps and gradient maps become where each is freed after its last
    reader (D2)."""
    from memlab.runtime.run import run

    batch, step = n["batch"], step_of(chain(n["depth"]), "sgd")
    ways = no_reuse(step), step
    due = [maps(plan(way), batch) for way in ways]
    seen = [maps(run(way, batch).measured, batch) for way in ways]
    ratio = Fraction(*due)
    causes = tuple(distinct(ratio, _chain_causes(n["depth"])))
    told: dict[str, object] = {
        "all": 2 * n["depth"], "alive": n["depth"] + 1, "before": n["depth"] - 1,
    }  # fmt: skip
    return Truth(ratio, (planned(ratio), measured(Fraction(*seen))), causes, told)


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
       _draw_three, options=("none", "act", "both", "all"), words=_three_words)  # fmt: skip
def overwriting(n: Numbers) -> Truth:
    """Which of three layers may write over its input: those that ``in_place`` does not refuse."""
    step = _step(n)
    reasons = {layer: why_not(step, layer) for layer in _ORDER}
    free = tuple(layer for layer, why in reasons.items() if not why)
    found = {(): "none", ("act",): "act", ("norm", "act"): "both", _ORDER: "all"}[free]
    return Truth(found, seen={"why": " ".join(why for why in reasons.values() if why)})


# -- addresses ----------------------------------------------------------------------------------

_SIX = {"blocks": tuple((b.name, b.nbytes // MIB, b.birth, b.death) for b in TOY)}


def blocks_of(n: Numbers) -> tuple[Block, ...]:
    """The blocks of a question, in bytes."""
    return tuple(Block(name, size * MIB, *life) for name, size, *life in n["blocks"])


def _draw_six(chance: Random) -> Numbers:
    """In every third drawing each result once: nothing saved, a part, all that can be."""
    wanted = chance.choice(("nothing", "part", "all"))
    while True:
        rows = []
        for name, birth in zip("ABCDEF", sorted(chance.choices(range(6), k=6)), strict=True):
            rows.append((name, chance.randint(1, 4), birth, min(birth + chance.randint(0, 3), 7)))
        found = {"blocks": tuple(rows)}
        packed = arrange(blocks_of(found), "birth")
        if packed.total > packed.lower_bound and _saved(packed) == wanted:
            return found


def _six_words(n: Numbers) -> Numbers:
    packed = arrange(blocks_of(n), "no reuse")
    lives = [
        strings.get(f"ask.07.birth.block{'_alone' * (birth == death)}", name=name, size=size,
                    first=birth + 1, last=death + 1)
        for name, size, birth, death in n["blocks"]
    ]  # fmt: skip
    return {"lives": ", ".join(lives), "total": packed.total // MIB,
            "bound": packed.lower_bound // MIB}  # fmt: skip


def _saved(packed: Placement) -> str:
    if packed.arena == packed.total:
        return "nothing"
    return "all" if packed.arena == packed.lower_bound else "part"


@topic("07.birth", Kind.CHOICE, _SIX, _draw_six, options=("nothing", "part", "all"),
       words=_six_words)  # fmt: skip
def birth(n: Numbers) -> Truth:
    """What reuse in order of birth saves, each block at the lowest address that is free."""
    packed = arrange(blocks_of(n), "birth")
    best = arrange(blocks_of(n), "exact")
    at = zip(packed.blocks, packed.addresses, strict=True)
    told = {"addresses": ", ".join(f"{block.name} {start // MIB}" for block, start in at),
            "arena": packed.arena // MIB, "best": best.arena // MIB}  # fmt: skip
    return Truth(_saved(packed), seen=told)


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
    return {**n, "moved": strings.get(f"ask.07.silent.{key}", moving=moving, there=there),
            "when": strings.get(f"ask.07.silent.in_{n['fault']}")}  # fmt: skip


def _wrong(one: Mapping[str, Array], other: Mapping[str, Array]) -> tuple[int, int]:
    """How many values differ in any bit, of how many."""
    differ = (np.count_nonzero(one[name].view("u4") != other[name].view("u4")) for name in one)
    return sum(map(int, differ)), sum(array.size for array in one.values())


@topic("07.silent", Kind.CHOICE, {"fault": "backward", "batch": 4}, _draw_fault,
       options=("same", "gradients", "loss", "stops"), words=_fault_words)  # fmt: skip
def silent(n: Numbers) -> Truth:
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
    loss = strings.get(f"ask.07.silent.loss_{'same' if same else 'other'}")
    return Truth(found, seen={"loss": loss, "differ": f"{differ:,}", "count": f"{count:,}"})

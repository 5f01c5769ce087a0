"""Lesson 07, in place and sharing.

Cards: layers that may overwrite their input, the further saving, a wrong address. Exercise: the
bytes freed after each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np

from memlab import formats, strings, units
from memlab.assemble.step import training_step
from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import floor_and_mountain, step_of, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.pictures.reuse import FourWays
from memlab.placement.placement import TOY, Placement, arrange, place
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor, new
from memlab.techniques.in_place import in_place
from memlab.techniques.recompute.repeated_operations import names_of

# -- what lessons 01 and 02 said ----------------------------------------------------------------


def chain(depth: int) -> Network:
    """Network for images of 3·32·32: ``depth`` convolutions whose maps have 16·32·32 values."""
    x = network("chain", image=(3, 32, 32))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same", bias=False)
    return x.max_pool("all").flatten().linear(10).cross_entropy()


_WAITING = ("two", "half", "all")


@topic("07.waiting", AnswerKind.CHOICE, {"depth": 8, "training": False}, None, options=_WAITING,
       part=Purpose.RECALL, gives=("2 maps", "input and the output of"))  # fmt: skip
def waiting(n: Numbers) -> Truth:
    """Answer of 07.waiting: the number of maps alive at the peak of inference with a chain of
    convolutions (D2)."""
    ledger = plan(step_of(chain(n["depth"]), "sgd" if n["training"] else ""))
    map_bytes = 4 * 16 * 32 * 32
    alive = ledger.roles(1)[Role.FEATURE_MAP] // map_bytes
    names = {2: "two", n["depth"] // 2: "half", n["depth"]: "all"}
    return Truth("two" if alive == 2 else names[alive], seen={"alive": alive})


_PARTS = ("floor", "mountain")


@topic("07.part", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32}, None, options=_PARTS,
       part=Purpose.RECALL, words=with_label,
       gives=("larger than the floor", "mountain is"))  # fmt: skip
def part(n: Numbers) -> Truth:
    """Answer of 07.part: the larger part of the peak of a training step."""
    low, high = floor_and_mountain(plan(step_of(zoo.build(n["network"]))), n["batch"])
    told = {"floor": units.short(low), "mountain": units.short(high)}
    return Truth("floor" if low > high else "mountain", seen=told)


# -- in place -----------------------------------------------------------------------------------

_ORDER = ("conv", "norm", "act")


def three(act: str, shortcut: bool) -> Network:
    """Network of a convolution, batch norm and an activation; with a shortcut, the output of batch
    norm is read once more, after the activation."""
    x = network("three", image=(3, 8, 8)).conv(4, 3, pad="same", bias=False, name="conv")
    x = x.batch_norm(name="norm")
    y = x.relu(name="act") if act == "ReLU" else x.tanh(name="act")
    y = y.add(x, name="sum") if shortcut else y
    return y.squared_error()


def _step(n: Numbers) -> Step:
    return step_of(three(n["act"], n["shortcut"]), "sgd" if n["training"] else "")


def why_not(step: Step, layer: str) -> str:
    """Reason why the output of a layer may not overwrite its input; empty if it may."""
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


@topic("07.in_place", AnswerKind.CHOICE, {"act": "ReLU", "training": True, "shortcut": False},
       _draw_three, options=("none", "act", "both", "all"), words=_three_words,
       gives=("reads the output of the convolution", "its batch norm", "reads its output",
              "no later operation reads it", "value for several outputs"),
       shows=({"in_place": True},))  # fmt: skip
def overwriting(n: Numbers) -> Truth:
    """Answer of 07.in_place: the layers among three that may overwrite their input."""
    step = _step(n)
    refused = [layer for layer in _ORDER if why_not(step, layer)]
    free = tuple(layer for layer in _ORDER if layer not in refused)
    answer = {(): "none", ("act",): "act", ("norm", "act"): "both", _ORDER: "all"}[free]
    why = [strings.get(f"ask.07.in_place.why.{layer}", act=n["act"]) for layer in refused]
    return Truth(answer, seen={"why": " ".join(why)})


# -- both together ------------------------------------------------------------------------------

_NETWORKS = ("resnet50", "gpt_small", "resnet18", "vgg16", "googlenet")


def _draw_both(chance: Random) -> Numbers:
    return {"network": chance.choice(_NETWORKS), "batch": chance.choice((8, 16, 32))}


@cache
def shrunk(network: str, batch: int) -> tuple[Fraction, Fraction, Fraction]:
    """Bytes of feature maps at the peak of an inference that frees nothing, over those in place
    alone, with reuse alone, and with both (A9, D2)."""
    ways = FourWays(zoo.build(network), False, batch)
    alone, reuse, both = map(ways.smaller, ways.ways[1:])
    return alone, reuse, both


def _both_words(n: Numbers) -> Numbers:
    alone, reuse, _ = shrunk(n["network"], n["batch"])
    return {**with_label(n), "alone": f"{float(alone):.1f}",
            "reuse": f"{float(reuse):.1f}", "product": f"{float(alone * reuse):.1f}"}  # fmt: skip


@topic("07.both", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32},
       _draw_both,
       options=("product", "between", "reuse"), words=_both_words,
       gives=("nearly all", "on top of", "adds nothing", "one operation later"),
       shows=({"what": "resnet50", "in_place": True},))  # fmt: skip
def both(n: Numbers) -> Truth:
    """Answer of 07.both: the saving of in place and reuse together, compared with the product of
    both and with reuse alone."""
    alone, reuse, together = shrunk(n["network"], n["batch"])
    told = {"both": f"{float(together):.2f}", "reused": f"{float(reuse):.2f}"}
    if together > Fraction(95, 100) * alone * reuse:
        return Truth("product", seen=told)
    return Truth("between" if together > Fraction(105, 100) * reuse else "reuse", seen=told)


# -- addresses ----------------------------------------------------------------------------------


@topic("07.packed", AnswerKind.CHOICE, {"blocks": "toy"}, None, options=("bound", "between",
       "same"),
       part=Purpose.CHANGE,
       gives=("reaches the lower bound", "from the largest to the smallest"),
       shows=({"how": "biggest"}, {"how": "best fit"}, {"how": "exact"}, {"how": "best"},
              {"beside": "biggest"}))  # fmt: skip
def packed(n: Numbers) -> Truth:
    """Answer of 07.packed: the smallest arena of the example, compared with its lower bound and
    with placement in order of birth."""
    best, born = arrange(TOY, "exact"), arrange(TOY, "birth")
    answer = {born.arena: "same", best.lower_bound: "bound"}.get(best.arena, "between")
    return Truth(answer, seen={"best": best.arena // units.BINARY["MiB"]})


# -- a fault ------------------------------------------------------------------------------------


def pair() -> Network:
    """Network of two convolutions with ReLU and a shortcut around the second, small enough to run
    here."""
    x = network("pair", image=(1, 8, 8)).conv(4, 3, pad="same", name="conv1").relu(name="relu1")
    y = x.conv(4, 3, pad="same", name="conv2").relu(name="relu2")
    return y.add(x, name="sum").max_pool("all").flatten().linear(10).cross_entropy()


FAULTS = {
    "backward": ("gradient of conv2", "relu1"),
    "forward": ("conv2", "relu1"),
    "above": ("gradient of conv2", ""),
}
"""Blocks to move, and the block they move onto; an empty name is above all blocks."""


def faulty(packed: Placement, fault: str) -> Placement:
    """Placement with one block moved to a wrong address."""
    moving, there = FAULTS[fault]
    return packed.moved(moving, packed.address(there) if there else packed.arena)


def _draw_fault(chance: Random) -> Numbers:
    return {"fault": chance.choice(("forward", "above")), "batch": chance.choice((2, 4, 8))}


def _fault_words(n: Numbers) -> Numbers:
    moving, there = FAULTS[n["fault"]]
    key = "onto" if there else "above"
    return {**n, "moved": strings.get(f"ask.07.address.{key}", moving=moving, there=there)}


def _wrong(one: Mapping[str, Array], other: Mapping[str, Array]) -> dict[str, int]:
    """Number of values that differ in any bit, by the names of their arrays."""
    return {
        name: int(np.count_nonzero(one[name].view("u4") != other[name].view("u4"))) for name in one
    }


def _victims(step: Step, fault: str) -> dict[str, object]:
    """Number of the operation that writes over a block, from 1 on, and the later readers of that
    block, with theirs."""
    moving, there = FAULTS[fault]
    numbered = list(enumerate(step.ops, 1))
    at = next(n for n, op in numbered if moving in names_of(op.writes.values()))
    readers = [
        f"{op.name} ({n})" for n, op in numbered[at:] if there in names_of(op.reads.values())
    ]
    return {"at": at, "there": there, "readers": strings.series(readers)}


@topic("07.address", AnswerKind.CHOICE, {"fault": "backward", "batch": 4}, _draw_fault,
       options=("same", "gradients", "loss", "stops"), words=_fault_words,
       gives=("bugs are silent", "no message", "wrong gradient", "same loss",
              "bit for bit"))  # fmt: skip
def address(n: Numbers) -> Truth:
    """Answer of 07.address: the visible effect of one block at a wrong address; the step runs with
    and without the fault."""
    from memlab.runtime.run import run

    batch, step = n["batch"], step_of(pair(), "sgd").keep("gradients")
    packed = place(step, batch)
    right = run(step, batch, placement=packed)
    moved = faulty(packed, n["fault"])
    other = run(step, batch, placement=moved, poison=False, overlapping=True)
    wrong = _wrong(right.gradients, other.gradients)
    differ, count = sum(wrong.values()), sum(array.size for array in right.gradients.values())
    same = right.loss == other.loss
    answer = ("gradients" if differ else "same") if same else "loss"
    loss = strings.get(f"ask.07.address.loss_{'same' if same else 'other'}")
    told: dict[str, object] = {"arrays": len(wrong), "wrong": sum(map(bool, wrong.values()))}
    told |= {"loss": loss, "differ": f"{differ:,}", "count": f"{count:,}"}
    return Truth(answer, seen={**_victims(step, n["fault"]), **told})


# -- exercise -----------------------------------------------------------------------------------

Blocks = list[list[int]]
"""For each operation, numbers of blocks."""


def _drawn(chance: Random, size: int) -> Network:
    """Draw a network of linear layers with activations, in the smallest case without any, or of a
    convolution, which needs a workspace."""
    if size % 3:
        x = network("drawn", features=chance.randint(1, 4 * size))
        for _ in range(min(size // 2, 2)):
            x = x.linear(chance.randint(2, 4 * size + 2), bias=False)
            x = chance.choice((x.relu, x.tanh))()
        return x.linear(2, bias=False).squared_error()
    x = network("drawn", image=(1, 3 + size, 3 + size))
    x = x.conv(chance.randint(1, 3), 3, pad="same", bias=False).relu()
    return x.flatten().linear(chance.randint(2, 5), bias=False).cross_entropy()


def _draw_step(chance: Random, size: int) -> Arguments:
    """Draw the blocks of a training step, or of any other list of operations."""
    return chance.choice((_training, _any_step))(chance, size)


def _any_step(chance: Random, size: int) -> Arguments:
    """Draw operations that write and read blocks at random, also blocks written before; in about
    every fourth case all blocks are kept."""
    blocks, operations = chance.randint(1, 2 + size // 2), chance.randint(2, 4 + size // 2)
    births = sorted(chance.randrange(operations) for _ in range(blocks))
    share = chance.choice((0.2, 0.2, 0.2, 1))

    def numbers(n: int, share: float) -> list[int]:
        return [
            block for block, birth in enumerate(births) if birth < n and chance.random() < share
        ]

    return {
        "sizes": [chance.randint(1, 100 * size) for _ in births],
        "writes": [
            sorted({*numbers(n, 0.1), *(b for b, birth in enumerate(births) if birth == n)})
            for n in range(operations)
        ],
        "reads": [numbers(n, 0.2) for n in range(operations)],
        "kept": [block for block in range(blocks) if chance.random() < share],
    }


def _training(chance: Random, size: int) -> Arguments:
    """Draw the blocks of a training step, numbered in order of birth; blocks that exist before the
    step have no number.

    Some steps keep their gradients; some run in place, so that a block is written twice.
    """
    step = training_step(_drawn(chance, size), "sgd")
    step = step.keep("gradients") if size % 2 else step
    step = step if size % 4 else in_place(step)
    batch = chance.randint(2, 3 + size)
    there = {tensor.storage.name for tensor in step.live_in}
    sizes: dict[str, int] = {}
    for op in step.ops:
        for tensor in (*op.writes.values(), *op.workspace.values()):
            if tensor.storage.name not in there:
                sizes.setdefault(tensor.storage.name, tensor.storage.size.at(batch))
    number = {name: n for n, name in enumerate(sizes)}

    def numbers(tensors: Sequence[Tensor]) -> list[int]:
        return sorted({number[t.storage.name] for t in tensors if t.storage.name in number})

    born = [numbers((*op.writes.values(), *op.workspace.values())) for op in step.ops]
    return {
        "sizes": list(sizes.values()),
        "writes": born,
        "reads": [numbers(tuple(op.reads.values())) for op in step.ops],
        "kept": numbers(step.live_out),
    }


def _planned(a: Arguments) -> Ledger:
    """Plan of a step that reads and writes these blocks."""
    byte = formats.find("uint8")
    tensors = [
        new(str(number), (("bytes", size),), byte, Role.FEATURE_MAP)
        for number, size in enumerate(a["sizes"])
    ]

    def operands(numbers: Sequence[int]) -> dict[str, Tensor]:
        return {str(number): tensors[number] for number in numbers}

    ops = tuple(
        Op(str(n), "any", Phase.FORWARD, reads=operands(reads), writes=operands(writes))
        for n, (reads, writes) in enumerate(zip(a["reads"], a["writes"], strict=True))
    )
    return plan(Step(ops, (), tuple(tensors[number] for number in a["kept"])))


def _arguments(sizes: list[int], writes: Blocks, reads: Blocks, kept: list[int]) -> Arguments:
    return {"sizes": sizes, "writes": writes, "reads": reads, "kept": kept}


Deaths = Callable[[Arguments, int], int | None]
"""The operation after which a block is freed; None for never."""


def _last(a: Arguments, number: int) -> int | None:
    """Last operation that reads or writes a block; None if it is kept."""
    if number in a["kept"]:
        return None
    return max(_users(a, number))


def _users(a: Arguments, number: int) -> list[int]:
    pairs = zip(a["reads"], a["writes"], strict=True)
    return [n for n, (reads, writes) in enumerate(pairs) if number in (*reads, *writes)]


def _freed(a: Arguments, death: Deaths = _last, nbytes: bool = True) -> list[int]:
    """Bytes, or number of blocks, freed after each operation."""
    last_reader = [0] * len(a["reads"])
    for number, size in enumerate(a["sizes"]):
        when = death(a, number)
        if when is not None and when < len(last_reader):
            last_reader[when] += size if nbytes else 1
    return last_reader


def _readers(a: Arguments, number: int) -> list[int]:
    return [n for n, reads in enumerate(a["reads"]) if number in reads]


def _never_read(a: Arguments, number: int) -> int | None:
    """Last reader of a block, as if only readers freed it."""
    return None if number in a["kept"] else max(_readers(a, number), default=None)


def _first_reader(a: Arguments, number: int) -> int | None:
    """First reader of a block, as if it were needed once."""
    return None if number in a["kept"] else min(_readers(a, number) or _users(a, number)[-1:])


def _last_reader(a: Arguments, number: int) -> int | None:
    """Last reader of a block that is read, as if later writers did not need it."""
    return None if number in a["kept"] else max(_readers(a, number) or _users(a, number))


def _first_write(a: Arguments, number: int) -> int | None:
    """First writer of a block that nobody reads, as if later writers did not need it."""
    if number in a["kept"]:
        return None
    users = _users(a, number)
    return users[-1] if _readers(a, number) else users[0]


def _own_number(a: Arguments, number: int) -> int | None:
    """Number of a block, as if it were that of an operation."""
    return None if number in a["kept"] else number


def _one_later(a: Arguments, number: int) -> int | None:
    last = _last(a, number)
    return None if last is None else last + 1


_FREED_SLIPS: dict[str, Slip] = {
    "kept_too": lambda truth, a: _freed(a, lambda a, number: max(_users(a, number))),
    "first_reader": lambda truth, a: _freed(a, _first_reader),
    "never_read": lambda truth, a: _freed(a, _never_read),
    "one_later": lambda truth, a: _freed(a, _one_later),
    "blocks": lambda truth, a: _freed(a, nbytes=False),
    "block_as_index": lambda truth, a: _freed(a, _own_number),
    "all_read": lambda truth, a: [sum(a["sizes"][n] for n in reads) for reads in a["reads"]],
}


def _twice(a: Arguments) -> list[int]:
    """Bytes freed after each operation, with a block counted twice that its last operation both
    reads and writes."""
    repeated = []
    for n, (reads, writes) in enumerate(zip(a["reads"], a["writes"], strict=True)):
        repeated.append(sum(a["sizes"][b] for b in (*reads, *writes) if _last(a, b) == n))
    return repeated


_FREED_TRAPS: dict[str, Slip] = {
    "last_reader": lambda truth, a: _freed(a, _last_reader),
    "first_write": lambda truth, a: _freed(a, _first_write),
    "twice": lambda truth, a: _twice(a),
}


@task("07.freed", _draw_step, slips=_FREED_SLIPS, traps=_FREED_TRAPS,
      edge=lambda a: len(a["kept"]) == len(a["sizes"]))  # fmt: skip
def freed(sizes: list[int], writes: Blocks, reads: Blocks, kept: list[int]) -> list[int]:
    """Bytes that return to the pool after each operation, by the plan of the step (D1)."""
    ledger = _planned(_arguments(sizes, writes, reads, kept))
    inside, after = ledger.timeline(1), ledger.after(1)
    return [one - other for one, other in zip(inside, after, strict=True)]

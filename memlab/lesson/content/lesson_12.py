"""Lesson 12, a model of one's own.

Cards: bytes beyond the computed ones, arrays kept without need, a change that fits. Exercise: the
peak if no array was kept longer than needed.
"""

from __future__ import annotations

from functools import cache
from random import Random

from memlab import units
from memlab.formats import FORMATS
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import step_of, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.material.recorded_models import model
from memlab.networks import zoo
from memlab.placement.caching_allocator import estimates
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor, new
from memlab.techniques.release import release

# -- what lesson 02 said --------------------------------------------------------------------------


@topic("12.when", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32}, None,
       options=("forward", "backward", "update"), part=Purpose.RECALL,
       words=with_label,
       gives=("when backward begins", "beginning of backward"))  # fmt: skip
def when(n: Numbers) -> Truth:
    """Answer of 12.when: the phase in which most bytes are alive (A12)."""
    peak = plan(step_of(zoo.build(n["network"]))).peak_at(n["batch"])
    phase = Phase.FORWARD if peak.row.phase is Phase.LOSS else peak.row.phase
    return Truth(str(phase), seen={"peak": units.short(peak.nbytes), "operation": peak.row.name})


@topic("12.state", AnswerKind.CHOICE, {"network": "vgg16"}, None,
       options=("none", "one", "two"), part=Purpose.RECALL,
       words=with_label,
       gives=("two states", "2 states"))  # fmt: skip
def state(n: Numbers) -> Truth:
    """Answer of 12.state: the number of values that Adam keeps for each parameter (A8)."""
    roles = plan(step_of(zoo.build(n["network"]), "adam")).roles(1)
    parameters, kept = roles[Role.PARAMETER], roles[Role.OPTIMIZER_STATE]
    answer = ("none", "one", "two")[round(kept / parameters)]
    return Truth(answer, seen={"kept": units.short(kept), "parameters": units.short(parameters)})


# -- what shows more than was computed ------------------------------------------------------------


@cache
def _ledger(name: str) -> Ledger:
    return plan(model(name).step)


def _forward_ends(ledger: Ledger) -> int:
    """Index of the last operation of forward; most people compute only the bytes alive in it."""
    return max(i for i, row in enumerate(ledger.rows) if row.phase is Phase.FORWARD)


@cache
def _beside(name: str, batch: int) -> dict[str, int]:
    """Bytes that a card holds beside the plan, by kind, simulated and recorded."""
    return {row.name: row.nbytes for row in estimates(_ledger(name), batch)}


def _computed(n: Numbers) -> dict[str, object]:
    ledger, batch = _ledger(n["model"]), n["batch"]
    computed = int(ledger.timeline(batch)[_forward_ends(ledger)])
    total = ledger.peak(batch) + sum(_beside(n["model"], batch).values())
    return {"computed": units.short(computed), "card": units.short(total)}


@topic("12.more", AnswerKind.CHOICE, {"model": "words", "batch": 32}, None,
       options=("context", "fragments", "gradients", "loss"),
       words=lambda n: {"batch": n["batch"], **_computed(n)},
       gives=("scores once more", "as large as the scores", "twice more"))  # fmt: skip
def more(n: Numbers) -> Truth:
    """Answer of 12.more: the largest part of the bytes that a card shows beyond
    those of forward."""
    ledger, batch = _ledger(n["model"]), n["batch"]
    peak = ledger.peak_at(batch)
    others, alive = _beside(n["model"], batch), ledger.alive(peak.index)
    loss_bytes = sum(e.size.at(batch) for e in alive if e.layer == "loss")
    then = ledger.alive(_forward_ends(ledger))
    before = sum(e.size.at(batch) for e in then if e.death < peak.index)
    parts = {
        "context": others["context"] + others["cublas"],
        "fragments": others["rounding"] + others["fragments"],
        "gradients": ledger.roles(batch, peak.index)[Role.PARAMETER_GRADIENT],
        "loss": loss_bytes - before,
    }
    told: dict[str, object] = {name: units.short(part) for name, part in parts.items()}
    told |= _computed(n) | {"scores": units.short(before), "operation": peak.row.name}
    return Truth(max(parts, key=lambda name: parts[name]), seen=told)


# -- what is kept and not needed ------------------------------------------------------------------


@topic("12.kept", AnswerKind.CHOICE, {"model": "words", "other": "kept", "batch": 32}, None,
       options=("maps", "gradients", "name"),
       words=lambda n: {"batch": n["batch"]},
       gives=("the name", "names the scores"))  # fmt: skip
def kept(n: Numbers) -> Truth:
    """Answer of 12.kept: the largest part of the peak that is kept and not needed."""
    batch, nbytes = n["batch"], {}
    plain, peak = model(n["model"]).step, _ledger(n["model"]).peak(batch)
    nbytes["name"] = _ledger(n["other"]).peak(batch) - peak
    roles = {"gradients": (Role.PARAMETER_GRADIENT,), "maps": (Role.FEATURE_MAP, Role.GRADIENT_MAP)}
    for name, which in roles.items():
        nbytes[name] = peak - plan(release(plain, which)).peak(batch)
    told = {name: units.short(size) for name, size in nbytes.items()}
    share = 100 * nbytes["name"] / peak
    told |= {"peak": units.short(peak), "share": f"{share:.0f}"}
    return Truth(max(nbytes, key=lambda name: nbytes[name]), seen=told)


# -- what makes it fit ----------------------------------------------------------------------------


@topic("12.half", AnswerKind.CHOICE, {"model": "vgg16", "batch": 8}, None,
       options=("half", "third", "tenth", "hardly"),
       words=lambda n: {"batch": n["batch"], "fewer": n["batch"] // 2,
                        "peak": units.short(_ledger(n["model"]).peak(n["batch"]))},
       gives=("in the optimizer", "inside the optimizer", "the update needs",
              "they all wait"))  # fmt: skip
def half(n: Numbers) -> Truth:
    """Answer of 12.half: the fall of the peak with half the batch."""
    ledger, batch = _ledger(n["model"]), n["batch"]
    before, after = ledger.peak(batch), ledger.peak(batch // 2)
    falls = 1 - after / before
    bounds = {"half": 0.4, "third": 0.2, "tenth": 0.02}
    item = next((name for name, least in bounds.items() if falls >= least), "hardly")
    maps = ledger.roles(batch)[Role.FEATURE_MAP] + ledger.roles(batch)[Role.INPUT]
    told = {
        "before": units.short(before), "after": units.short(after),
        "share": f"{100 * falls:.2f}", "maps": units.short(maps),
    }  # fmt: skip
    return Truth(item, seen=told)


# -- exercise -------------------------------------------------------------------------------------

Blocks = list[tuple[int, int, int, int]]
"""For each block its bytes, the operation that makes it, the last one that reads it, and the one
after which it is freed."""


def step_of_blocks(blocks: Blocks) -> Step:
    """Step with these blocks, each held by the operation after which it is freed."""
    tensors = [
        new(f"block {n}", (("bytes", nbytes),), FORMATS["uint8"], Role.FEATURE_MAP)
        for n, (nbytes, *_) in enumerate(blocks)
    ]

    def at(number: int, place: int) -> dict[str, Tensor]:
        return {f"{n}": tensors[n] for n, block in enumerate(blocks) if block[place] == number}

    ops = tuple(
        Op(f"operation {number}", "any", Phase.FORWARD, reads=_later(blocks, at(number, 2)),
           writes=at(number, 1), holds=at(number, 3))
        for number in range(1 + max(block[3] for block in blocks))
    )  # fmt: skip
    return Step(ops, (), ())


def _later(blocks: Blocks, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Blocks that an operation reads and has not made itself."""
    return {n: tensor for n, tensor in tensors.items() if blocks[int(n)][1] < blocks[int(n)][2]}


def _draw_blocks(chance: Random, size: int) -> Arguments:
    """Draw blocks, some of which may begin after all others are freed."""
    blocks, longest = [], chance.choice((1, 2, 2 + size))
    for _ in range(size):
        born = chance.randint(0, 2 + size)
        last = born + chance.randint(0, longest)
        nbytes = chance.choice((1, 4, 10, 64, 300)) * chance.randint(1, 9)
        blocks.append((nbytes, born, last, last + chance.randint(0, longest)))
    return {"blocks": blocks}


def _peaks(
    blocks: Blocks, begin: int = 0, end: int = 1, first: int = 0, every: int = 1
) -> list[int]:
    """Peak as the blocks are freed, and peak with each freed after its last reader.

    For traps, lives begin ``begin`` operations later and end ``end`` later, the search begins at
    the operation ``first``, and only the ends of every ``every``-th block limit it.
    """
    peaks = []
    for which in (3, 2):
        times = range(first, 1 + max(block[which] for block in blocks[::every]))
        alive = ([b[0] for b in blocks if b[1] + begin <= t < b[which] + end] for t in times)
        peaks.append(max(map(sum, alive), default=0))
    return peaks


_LATE_SLIPS: dict[str, Slip] = {
    "sum": lambda truth, a: 2 * [sum(block[0] for block in a["blocks"])],
    "exclusive": lambda truth, a: _peaks(a["blocks"], end=0),
    "swapped": lambda truth, a: truth[::-1],
    "held": lambda truth, a: 2 * truth[:1],
    "saved": lambda truth, a: [truth[0], truth[0] - truth[1]],
}
_LATE_TRAPS: dict[str, Slip] = {
    "born": lambda truth, a: _peaks(a["blocks"], begin=1),
    "largest": lambda truth, a: 2 * [max(block[0] for block in a["blocks"])],
    "some": lambda truth, a: _peaks(a["blocks"], every=2),
    "second": lambda truth, a: _peaks(a["blocks"], first=1),
}


@task("12.late", _draw_blocks, slips=_LATE_SLIPS, traps=_LATE_TRAPS,
      edge=lambda a: len(a["blocks"]) == 1)  # fmt: skip
def late(blocks: Blocks) -> list[int]:
    """Peak as the blocks are freed, and peak with each freed after its last reader."""
    step = step_of_blocks(blocks)
    return [plan(plain_or_released).peak(1) for plain_or_released in (step, release(step))]

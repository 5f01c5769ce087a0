"""Lesson 12, a model of one's own.

Cards: bytes beyond the computed ones, a loss in chunks, the card's optimizer, and the range that
nvidia-smi shows. Exercise: the peak if no array was kept longer than needed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from random import Random

from memlab import units
from memlab.formats import FORMATS
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import planned, step_of, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.material.recorded_models import model
from memlab.lesson.misconceptions import Mistake
from memlab.networks import zoo
from memlab.pictures.explain.explained import Explained
from memlab.pictures.explain.explained_changes import StepChange
from memlab.pictures.values.number_text import three_digits
from memlab.placement.caching_allocator import CardEstimate, estimates
from memlab.placement.cudnn import with_largest_workspace
from memlab.placement.step_on_card import StepOnCard
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor, new
from memlab.techniques.release import release

CHUNKS = 8
"""Parts of the loss in ``memlab.frontends.torch.fitting.chunked_loss``, which needs PyTorch."""

# -- what lesson 02 said --------------------------------------------------------------------------


@topic("12.when", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32}, None,
       options=("forward", "backward", "update"), part=Purpose.RECALL,
       words=with_label,
       gives=("when backward begins", "beginning of backward"))  # fmt: skip
def when(n: Numbers) -> Truth:
    """Answer of 12.when: the phase in which most bytes are alive."""
    peak = plan(step_of(zoo.build(n["network"]))).peak_at(n["batch"])
    phase = Phase.FORWARD if peak.row.phase is Phase.LOSS else peak.row.phase
    return Truth(str(phase), seen={"peak": three_digits(peak.nbytes), "operation": peak.row.name})


@topic("12.state", AnswerKind.CHOICE, {"network": "vgg16"}, None,
       options=("none", "one", "two"), part=Purpose.RECALL,
       words=with_label,
       gives=("two states", "2 states"))  # fmt: skip
def state(n: Numbers) -> Truth:
    """Answer of 12.state: the number of values that Adam keeps for each parameter (A8)."""
    roles = plan(step_of(zoo.build(n["network"]), "adam")).roles(1)
    parameters, kept = roles[Role.PARAMETER], roles[Role.OPTIMIZER_STATE]
    answer = ("none", "one", "two")[round(kept / parameters)]
    return Truth(answer, seen={"kept": three_digits(kept), "parameters": three_digits(parameters)})


# -- what shows more than was computed ------------------------------------------------------------


@cache
def _ledger(name: str) -> Ledger:
    return plan(model(name).step)


def _forward_ends(ledger: Ledger) -> int:
    """Index of the last operation of forward; most people compute only the bytes alive in it."""
    return max(i for i, row in enumerate(ledger.rows) if row.phase is Phase.FORWARD)


@cache
def _beside(name: str, batch: int) -> dict[str, CardEstimate]:
    """Bytes that a card holds beside the plan, by kind, simulated and recorded."""
    return {row.name: row for row in estimates(_ledger(name), batch)}


def _computed(n: Numbers) -> dict[str, object]:
    ledger, batch = _ledger(n["model"]), n["batch"]
    computed = int(ledger.timeline(batch)[_forward_ends(ledger)])
    total = ledger.peak(batch) + sum(row.nbytes for row in _beside(n["model"], batch).values())
    return {"computed": three_digits(computed), "card": three_digits(total)}


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
        "context": sum(others[name].nbytes + others[name].more for name in ("context", "cublas")),
        "fragments": others["rounding"].nbytes + others["fragments"].nbytes,
        "gradients": ledger.roles(batch, peak.index)[Role.PARAMETER_GRADIENT],
        "loss": loss_bytes - before,
    }
    told: dict[str, object] = {name: three_digits(part) for name, part in parts.items()}
    told |= _computed(n) | {"scores": three_digits(before), "operation": peak.row.name}
    return Truth(max(parts, key=lambda name: parts[name]), seen=told)


# -- what is kept and not needed ------------------------------------------------------------------


@topic("12.kept", AnswerKind.CHOICE, {"model": "words", "other": "kept", "batch": 32}, None,
       options=("maps", "gradients", "name"), part=Purpose.CHANGE,
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
    told = {name: three_digits(size) for name, size in nbytes.items()}
    told |= {"peak": three_digits(peak), "longer": three_digits(peak + nbytes["name"])}
    return Truth(max(nbytes, key=lambda name: nbytes[name]), seen=told)


# -- a loss in chunks -----------------------------------------------------------------------------


def _chunked(n: Numbers) -> StepChange:
    """The change that computes the loss in chunks."""
    explained = Explained(model(n["model"]), n["batch"], units.parse(n["memory"]))
    return next(change for change in explained.helping if change.key == "chunked")


def _of_layers(ledger: Ledger, batch: int) -> int:
    """Bytes of the feature maps at the peak that modules made, and not the loss."""
    alive = ledger.alive(ledger.peak_at(batch).index)
    return sum(entry.size.at(batch) for entry in alive
               if entry.role is Role.FEATURE_MAP and entry.layer not in ("", "loss"))  # fmt: skip


def _peak(n: Numbers) -> str:
    return three_digits(_ledger(n["model"]).peak(n["batch"]))


def _places(n: Numbers) -> int:
    """Words of a sentence."""
    tokens = next(iter(model(n["model"]).step.ops[0].writes.values()))
    return int(dict(tokens.axes)["T"])


@topic("12.chunks", AnswerKind.TIMES, {"model": "words", "batch": 32, "memory": "8 GB"}, None,
       stops=("1.0", "1.2", "1.5", "2.0", "2.5", "3.0", "4.0", "6.0", "8.0", "12.0"), decimals=1,
       words=lambda n: {"chunks": CHUNKS, "peak": _peak(n), "places": _places(n)},
       gives=("2.4 times",))  # fmt: skip
def chunks(n: Numbers) -> Truth:
    """Answer of 12.chunks: the peak over the peak with a loss that is computed in chunks."""
    batch, change, ledger = n["batch"], _chunked(n), _ledger(n["model"])
    before, after = ledger.peak_at(batch), change.peak(batch)
    ratio = Fraction(before.nbytes, after)
    of_loss = sum(e.size.at(batch) for e in ledger.alive(before.index) if e.layer == "loss")
    causes = (Mistake("all_in_chunks", Fraction(CHUNKS), {"chunks": CHUNKS}),
              Mistake("loss_gone", Fraction(before.nbytes, before.nbytes - of_loss)),
              Mistake("chunks_kept", Fraction(1)))  # fmt: skip
    told: dict[str, object] = {"before": three_digits(before.nbytes), "after": three_digits(after)}
    told |= {"time": f"{100 * change.extra:.0f}", "largest": change.fit(units.parse(n["memory"]))}
    told |= {"layers": three_digits(_of_layers(change.ledger, batch))}
    return Truth(ratio, (planned(ratio),), causes, told)


# -- the card's optimizer -------------------------------------------------------------------------


def _temporaries(ledger: Ledger, batch: int) -> int:
    """Bytes at the peak that the update makes and frees again."""
    alive = ledger.alive(ledger.peak_at(batch).index)
    of_update = (entry for entry in alive if ledger.rows[entry.birth].phase is Phase.UPDATE)
    return sum(entry.size.at(batch) for entry in of_update if entry.birth >= 0)


@topic("12.optimizer", AnswerKind.CHOICE, {"model": "vgg16", "batch": 4}, None,
       options=("fewer", "single", "fused"),
       words=lambda n: {"batch": n["batch"], "fewer": n["batch"] // 2, "peak": _peak(n)},
       gives=("writes nothing between", "no temporaries"))  # fmt: skip
def optimizer(n: Numbers) -> Truth:
    """Answer of 12.optimizer: the change that lowers a peak in the update most."""
    batch, ledger = n["batch"], _ledger(n["model"])
    single, fused = (_ledger(f"{n['model']}_{name}") for name in ("single", "fused"))
    peaks = {
        "fewer": ledger.peak(batch // 2),
        "single": single.peak(batch),
        "fused": fused.peak(batch),
    }
    told: dict[str, object] = {f"with_{name}": three_digits(peaks[name]) for name in peaks}
    told |= {
        "together": three_digits(_temporaries(ledger, batch)),
        "two": three_digits(_temporaries(single, batch)),
        "phase": str(fused.peak_at(batch).row.phase),
    }
    return Truth(min(peaks, key=lambda name: peaks[name]), seen=told)


# -- what nvidia-smi shows, and workspace of cuDNN ------------------------------------------------


@cache
def _with_workspace(name: str) -> Step:
    return with_largest_workspace(model(name).step)


def _largest_map(n: Numbers) -> int:
    """Bytes of the largest feature map."""
    maps = (entry for entry in _ledger(n["model"]).entries if entry.role is Role.FEATURE_MAP)
    return max(entry.size.at(n["batch"]) for entry in maps)


def _largest_workspace(n: Numbers) -> dict[str, object]:
    """The most workspace that one convolution may take, beside the largest feature map."""
    batch, step = n["batch"], _with_workspace(n["model"])
    sizes = {op.name: sum(t.storage.size.at(batch) for t in op.workspace.values())
             for op in step.ops}  # fmt: skip
    operation = max(sizes, key=lambda name: sizes[name])
    ratio = sizes[operation] / _largest_map(n)
    return {"times": f"{ratio:.1f}", "operation": operation}


@cache
def _on_card(name: str) -> StepOnCard:
    return StepOnCard(model(name).step, model(name).card)


def _low(n: Numbers) -> int:
    """The least bytes that a card shows."""
    return _on_card(n["model"]).shown(n["batch"]).start


def _smi_words(n: Numbers) -> Numbers:
    peak = three_digits(_on_card(n["model"]).ledger.peak(n["batch"]))
    return {**n, "peak": peak, "low": three_digits(_low(n))}


@topic("12.smi", AnswerKind.CHOICE, {"model": "vgg16_fused", "batch": 40, "memory": "8 GB"}, None,
       options=("runs", "fails", "context", "cudnn"), words=_smi_words,
       gives=("cuDNN chooses", "chooses its workspace"))  # fmt: skip
def smi(n: Numbers) -> Truth:
    """Answer of 12.smi: whether a step runs on a card, and if that is open, what decides."""
    on_card, batch, memory = _on_card(n["model"]), n["batch"], units.parse(n["memory"])
    more = {row.name: row.more for row in on_card.estimates(batch) if row.more}
    high = on_card.peak_at(batch).nbytes
    open_by = max(more, key=lambda name: more[name])
    answer = "fails" if _low(n) > memory else "runs" if high <= memory else open_by
    told: dict[str, object] = {name: three_digits(nbytes) for name, nbytes in more.items()}
    told |= {"low": three_digits(_low(n)), "high": three_digits(high), "sure": on_card.fit(memory)}
    told |= _largest_workspace(n)
    return Truth(answer, seen=told)


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
    blocks: Blocks, begin: int = 0, end: int = 1, first: int = 0, every: int = 1, stop: int = 1,
    count: int | None = None,
) -> list[int]:  # fmt: skip
    """Peak as the blocks are freed, and peak with each freed after its last reader.

    For wrong results, lives begin ``begin`` operations later and end ``end`` later. The search
    begins at the operation ``first``, only the ends of every ``every``-th block limit it, it ends
    ``stop`` operations after the last one, or it visits ``count`` operations.
    """
    peaks = []
    for which in (3, 2):
        last = max(block[which] for block in blocks[::every])
        times = range(first, last + stop if count is None else count)
        alive = ([b[0] for b in blocks if b[1] + begin <= t < b[which] + end] for t in times)
        peaks.append(max(map(sum, alive), default=0))
    return peaks


_LATE_SLIPS: dict[str, Slip] = {
    "sum": lambda truth, a: 2 * [sum(block[0] for block in a["blocks"])],
    "exclusive": lambda truth, a: _peaks(a["blocks"], end=0),
    "swapped": lambda truth, a: truth[::-1],
    "held": lambda truth, a: 2 * truth[:1],
    "saved": lambda truth, a: [truth[0], truth[0] - truth[1]],
    "stops": lambda truth, a: _peaks(a["blocks"], stop=0),
    "blocks": lambda truth, a: _peaks(a["blocks"], count=len(a["blocks"])),
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

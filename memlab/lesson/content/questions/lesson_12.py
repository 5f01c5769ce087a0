"""Lesson 12, a model of one's own: what shows more than was computed, what is kept, what fits."""

from __future__ import annotations

from functools import cache

from memlab import units
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import Kind, Numbers, Part, Truth, topic
from memlab.lesson.content.questions.lesson_07 import built, labelled
from memlab.lesson.content.tools import step_of
from memlab.lesson.material.recorded_models import model
from memlab.placement.caching_allocator import estimates
from memlab.step.op import Phase
from memlab.step.tensor import Role
from memlab.techniques.release import release

# -- what lesson 02 said --------------------------------------------------------------------------


@topic("12.when", Kind.CHOICE, {"network": "resnet50", "batch": 32}, None,
       options=("forward", "backward", "update"), part=Part.RECALL,
       words=lambda n: {**n, "label": labelled(n["network"])},
       gives=("when backward begins", "beginning of backward"))  # fmt: skip
def when(n: Numbers) -> Truth:
    """In which phase the most is alive (A12)."""
    peak = plan(step_of(built(n["network"]))).peak_at(n["batch"])
    found = Phase.FORWARD if peak.row.phase is Phase.LOSS else peak.row.phase
    return Truth(str(found), seen={"peak": units.short(peak.nbytes), "operation": peak.row.name})


@topic("12.state", Kind.CHOICE, {"network": "vgg16"}, None,
       options=("none", "one", "two"), part=Part.RECALL,
       words=lambda n: {"label": labelled(n["network"])},
       gives=("two states", "2 states"))  # fmt: skip
def state(n: Numbers) -> Truth:
    """How many numbers Adam keeps for each parameter (A8)."""
    roles = plan(step_of(built(n["network"]), "adam")).roles(1)
    parameters, kept = roles[Role.PARAMETER], roles[Role.OPTIMIZER_STATE]
    found = ("none", "one", "two")[round(kept / parameters)]
    return Truth(found, seen={"kept": units.short(kept), "parameters": units.short(parameters)})


# -- what shows more than was computed ------------------------------------------------------------


@cache
def _ledger(name: str) -> Ledger:
    return plan(model(name).step)


def _forward_ends(ledger: Ledger) -> int:
    """The last operation of forward: what is alive in it is all that most people compute."""
    return max(i for i, row in enumerate(ledger.rows) if row.phase is Phase.FORWARD)


@cache
def _beside(name: str, batch: int) -> dict[str, int]:
    """What a card holds beside the plan, simulated and recorded."""
    return {row.name: row.nbytes for row in estimates(_ledger(name), batch)}


def _computed(n: Numbers) -> dict[str, object]:
    ledger, batch = _ledger(n["model"]), n["batch"]
    computed = int(ledger.timeline(batch)[_forward_ends(ledger)])
    total = ledger.peak(batch) + sum(_beside(n["model"], batch).values())
    return {"computed": units.short(computed), "card": units.short(total)}


@topic("12.more", Kind.CHOICE, {"model": "words", "batch": 32}, None,
       options=("context", "fragments", "gradients", "loss"),
       words=lambda n: {"batch": n["batch"], **_computed(n)},
       gives=("scores once more", "as large as the scores", "twice more"))  # fmt: skip
def more(n: Numbers) -> Truth:
    """What most of the bytes are that a card shows beyond those of forward."""
    ledger, batch = _ledger(n["model"]), n["batch"]
    peak = ledger.peak_at(batch)
    others, alive = _beside(n["model"], batch), ledger.alive(peak.index)
    made = sum(e.size.at(batch) for e in alive if e.layer == "loss")
    then = ledger.alive(_forward_ends(ledger))
    before = sum(e.size.at(batch) for e in then if e.death < peak.index)
    parts = {
        "context": others["context"] + others["cublas"],
        "fragments": others["rounding"] + others["fragments"],
        "gradients": ledger.roles(batch, peak.index)[Role.PARAMETER_GRADIENT],
        "loss": made - before,
    }
    told: dict[str, object] = {name: units.short(each) for name, each in parts.items()}
    told |= _computed(n) | {"scores": units.short(before), "operation": peak.row.name}
    return Truth(max(parts, key=lambda name: parts[name]), seen=told)


# -- what is kept and not needed ------------------------------------------------------------------


@topic("12.kept", Kind.CHOICE, {"model": "words", "named": "named", "batch": 32}, None,
       options=("maps", "gradients", "name"),
       words=lambda n: {"batch": n["batch"]},
       gives=("the name holds", "a name holds the scores", "names the scores"))  # fmt: skip
def kept(n: Numbers) -> Truth:
    """What costs most at the peak of what is kept and not needed."""
    batch, found = n["batch"], {}
    plain, peak = model(n["model"]).step, _ledger(n["model"]).peak(batch)
    found["name"] = _ledger(n["named"]).peak(batch) - peak
    roles = {"gradients": (Role.PARAMETER_GRADIENT,), "maps": (Role.FEATURE_MAP, Role.GRADIENT_MAP)}
    for name, which in roles.items():
        found[name] = peak - plan(release(plain, which)).peak(batch)
    told: dict[str, object] = {name: units.short(each) for name, each in found.items()}
    share = 100 * found["name"] / peak
    told |= {"peak": units.short(peak), "share": f"{share:.0f}"}
    return Truth(max(found, key=lambda name: found[name]), seen=told)


# -- what makes it fit ----------------------------------------------------------------------------


@topic("12.half", Kind.CHOICE, {"model": "vgg16", "batch": 8}, None,
       options=("half", "third", "tenth", "hardly"),
       words=lambda n: {"batch": n["batch"], "fewer": n["batch"] // 2,
                        "peak": units.short(_ledger(n["model"]).peak(n["batch"]))},
       gives=("in the optimizer", "inside the optimizer", "the update needs"))  # fmt: skip
def half(n: Numbers) -> Truth:
    """By how much the peak falls with half the batch."""
    ledger, batch = _ledger(n["model"]), n["batch"]
    before, after = ledger.peak(batch), ledger.peak(batch // 2)
    falls = 1 - after / before
    bounds = {"half": 0.4, "third": 0.2, "tenth": 0.02}
    found = next((name for name, least in bounds.items() if falls >= least), "hardly")
    maps = ledger.roles(batch)[Role.FEATURE_MAP] + ledger.roles(batch)[Role.INPUT]
    told: dict[str, object] = {
        "before": units.short(before), "after": units.short(after),
        "share": f"{100 * falls:.2f}", "maps": units.short(maps),
    }  # fmt: skip
    return Truth(found, seen=told)

"""Lesson 09, offload: idle maps, what the host holds, a slower link."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from random import Random

from memlab import units
from memlab.build.step import training_step
from memlab.clocks.streams import IN, OUT, Schedule, clock
from memlab.ledger.plan import plan
from memlab.lesson.card_question import Kind, Numbers, Part, Truth, topic
from memlab.lesson.content.questions.lesson_07 import built, labelled
from memlab.lesson.content.tools import planned, step_of
from memlab.lesson.misconceptions import Cause, distinct
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place
from memlab.techniques.offload import offload
from memlab.techniques.recompute import recompute

CARD = "titan x"
"""The card of vDNN (C4)."""
LINK = 12
"""GB/s of its link, as it is measured."""

# -- what lessons 02 and 08 said ----------------------------------------------------------------

_KINDS = ("weights", "maps", "gradients", "workspace")
"""The four kinds of memory of vDNN (C1)."""


@topic("09.kinds", Kind.CHOICE, {"network": "vgg16", "batch": 8, "large": 256}, None,
       options=_KINDS, part=Part.RECALL, words=lambda n: {**n, "label": labelled(n["network"])},
       gives=("weights take most", "mostly weights", "more than the maps"))  # fmt: skip
def kinds(n: Numbers) -> Truth:
    """Which of four kinds of memory is the largest at the peak of a small batch (C1, C9)."""
    small, large = (_kinds(n["network"], n[batch]) for batch in ("batch", "large"))
    told: dict[str, object] = {name: f"{100 * share:.0f}" for name, share in small.items()}
    told |= {"large": n["large"], "then": f"{100 * large['maps']:.0f}", "small": n["batch"]}
    return Truth(max(small, key=lambda name: small[name]), seen=told)


def _kinds(network: str, batch: int) -> dict[str, float]:
    """The share of each kind; the input counts with the maps."""
    roles = plan(step_of(built(network), "sgd")).roles(batch)
    parts = {
        "weights": (Role.PARAMETER, Role.PARAMETER_GRADIENT),
        "maps": (Role.FEATURE_MAP, Role.INPUT),
        "gradients": (Role.GRADIENT_MAP,),
        "workspace": (Role.WORKSPACE,),
    }
    nbytes = {name: sum(roles.get(role, 0) for role in parts[name]) for name in _KINDS}
    return {name: size / sum(nbytes.values()) for name, size in nbytes.items()}


_ADDED = {"few": 0.15, "third": 0.4, "half": 0.7}
"""The largest share of time of an option; above them it is about as much again."""


@topic("09.paid", Kind.CHOICE, {"network": "vgg16", "batch": 256, "k": 2}, None,
       options=("few", "third", "half", "twice"), part=Part.RECALL,
       words=lambda n: {**n, "label": labelled(n["network"])},
       gives=("a third longer", "a third more"))  # fmt: skip
def paid(n: Numbers) -> Truth:
    """How much longer a step takes that keeps every k-th stage, by the clock (E1)."""
    before = _before(n["network"])
    again = clock(recompute(before, "every", k=n["k"]), n["batch"], CARD)
    added = again.seconds / clock(before, n["batch"], CARD).seconds - 1
    found = next((name for name, most in _ADDED.items() if added <= most), "twice")
    return Truth(found, seen={"percent": f"{100 * added:.0f}"})


# -- what lies idle -----------------------------------------------------------------------------

_NETWORKS = ("vgg16", "alexnet", "overfeat", "googlenet", "resnet18", "resnet50")
_SHARES = {"quarter": Fraction(2, 5), "half": Fraction(3, 5), "most": Fraction(17, 20)}
"""The largest share of an option; above them it is nearly all."""


def _draw_idle(chance: Random) -> Numbers:
    return {"network": chance.choice(_NETWORKS), "batch": chance.choice((32, 64, 128))}


@topic("09.idle", Kind.CHOICE, {"network": "vgg16", "batch": 256}, _draw_idle,
       options=("quarter", "half", "most", "nearly"),
       words=lambda n: {**n, "label": labelled(n["network"])},
       gives=("idle share", "lies idle", "lie idle", "nearly all", "88 %"),
       shows=({"network": "vgg16", "asked": False},))  # fmt: skip
def idle(n: Numbers) -> Truth:
    """Byte-seconds of feature maps that no operation uses, over all of theirs, planned (C10)."""
    step = _plain(n["network"]) if n["network"] == "vgg16" else step_of(built(n["network"]), "sgd")
    share = clock(step, n["batch"], CARD).idle_share()
    found = next((name for name, most in _SHARES.items() if share <= most), "nearly")
    return Truth(found, seen={"share": f"{100 * share:.0f}"})


@cache
def _plain(network: str) -> Step:
    """In place and without workspace, so that the maps are what is left to move."""
    return in_place(_before(network))


@cache
def _before(network: str) -> Step:
    return training_step(built(network), "sgd", algorithm="implicit-gemm")


@cache
def _moved(network: str, policy: str) -> Step:
    return in_place(offload(_before(network), policy))


# -- moved, not saved ---------------------------------------------------------------------------


def _draw_host(chance: Random) -> Numbers:
    return {
        "network": chance.choice(("vgg16", "alexnet", "googlenet", "resnet18")),
        "policy": chance.choice(("conv", "all")),
        "batch": chance.choice((64, 128, 256)),
    }


def _falls(n: Numbers) -> int:
    """Bytes by which the peak of the device falls."""
    before, after = plan(_plain(n["network"])), plan(_moved(n["network"], n["policy"]))
    return before.peak(n["batch"]) - after.peak(n["batch"])


@topic("09.host", Kind.CHOICE, {"network": "vgg16", "policy": "conv", "batch": 256}, _draw_host,
       options=("none", "less", "same", "more"),
       words=lambda n: {**n, "label": labelled(n["network"]), "saved": units.short(_falls(n))},
       gives=("9.30 GB", "9.3 GB", "moves memory", "does not remove", "moved, not saved"),
       shows=({"policy": "conv", "network": "vgg16"},))  # fmt: skip
def host(n: Numbers) -> Truth:
    """What waits in the host's memory, beside what the device no longer holds (C5, C7)."""
    ledger, saved = plan(_moved(n["network"], n["policy"])), _falls(n)
    there = ledger.peak(n["batch"], HOST)
    told: dict[str, object] = {
        "there": units.short(there), "saved": units.short(saved),
        "peak": units.short(ledger.peak(n["batch"])), "at": ledger.peak_at(n["batch"]).row.name,
        "before": plan(_plain(n["network"])).peak_at(n["batch"]).row.name,
    }  # fmt: skip
    ratio = Fraction(there, saved) if saved else Fraction(2)
    alike = Fraction(19, 20) < ratio < Fraction(21, 20)
    return Truth("same" if alike else "more" if ratio > 1 else "less", seen=told)


# -- the link -----------------------------------------------------------------------------------


@cache
def timed(network: str, policy: str, batch: int, card: str, link: int) -> Schedule:
    """A step with offload in seconds, over a link of so many GB/s."""
    return clock(_moved(network, policy), batch, card, f"{link} GB/s")


def _waits(n: Numbers, link: int) -> Fraction:
    return Fraction(timed(n["network"], "conv", n["batch"], CARD, link).stalled())


def _draw_link(chance: Random) -> Numbers:
    fast, slow = chance.choice(((12, 3), (12, 4), (12, 2), (16, 4), (8, 2), (6, 2), (16, 8)))
    return {"network": "vgg16", "batch": chance.choice((32, 64, 128)), "fast": fast, "slow": slow}


_LONGER = ("1", "1.5", "2", "3", "4", "5", "6", "8", "10", "13", "15", "20", "25", "30", "50",
           "100")  # fmt: skip


@topic("09.link", Kind.TIMES, {"network": "vgg16", "batch": 256, "fast": LINK, "slow": 3},
       _draw_link, stops=_LONGER,
       words=lambda n: {**n, "label": labelled(n["network"]), "times": f"{n['fast'] / n['slow']:g}",
                        **_sums(n)},
       gives=("no longer hides", "ceases to hide"),
       shows=({"link": 3 * units.DECIMAL["GB"]},))  # fmt: skip
def link(n: Numbers) -> Truth:
    """How many times as long compute waits over a slower link, planned."""
    fast, slow = _waits(n, n["fast"]), _waits(n, n["slow"])
    times, there = slow / fast, timed(n["network"], "conv", n["batch"], CARD, n["slow"])
    copied = Fraction(there.busy(OUT) + there.busy(IN))
    whole = timed(n["network"], "conv", n["batch"], CARD, n["fast"])
    causes = [
        Cause("like_the_link", Fraction(n["fast"], n["slow"])),
        Cause("nothing_hidden", copied / fast),
        Cause("still_hidden", Fraction(1)),
        Cause("whole_step", Fraction(there.seconds / whole.seconds)),
    ]
    told: dict[str, object] = {
        "fast_waits": f"{float(fast):.2f}", "slow_waits": f"{float(slow):.2f}",
        "few": _waiting(whole), "many": _waiting(there), "copies": _copies(there),
    }  # fmt: skip
    return Truth(times, (planned(times),), tuple(distinct(times, causes)), told)


def _sums(n: Numbers) -> dict[str, str]:
    """Seconds over the faster link: of computing, of copying, and of waiting."""
    found = timed(n["network"], "conv", n["batch"], CARD, n["fast"])
    copied = found.busy(OUT) + found.busy(IN)
    seconds = {"works": found.busy(), "copied": copied, "waits": found.stalled()}
    return {name: f"{each:.2f}" for name, each in seconds.items()}


def _copies(there: Schedule) -> int:
    return sum(slot.op.kind in (OUT, IN) for slot in there.slots)


def _waiting(there: Schedule) -> int:
    """Operations of compute that wait for a copy."""
    return sum(slot.op.stream == "compute" and slot.stall > 0 for slot in there.slots)

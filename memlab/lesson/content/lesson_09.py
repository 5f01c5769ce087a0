"""Lesson 09, offload: idle maps, what the host holds, a slower link, a faster card."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from random import Random

from memlab import units
from memlab.lesson.content.lesson_07 import built, labelled
from memlab.lesson.content.tools import known, planned, step_of
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lesson.question import Kind, Numbers, Part, Truth, topic
from memlab.planner.book import plan
from memlab.planner.streams import IN, OUT, Schedule, clock
from memlab.step.build import training_step
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place
from memlab.techniques.offload import offload

CARD = "titan x"
"""The card of vDNN (C4)."""
LINK = 12
"""GB/s of its link, as it is measured."""

# -- what lessons 02 and 08 said ----------------------------------------------------------------

_KINDS = ("weights", "maps", "gradients", "workspace")
"""The four kinds of memory of vDNN (C1)."""


@topic("09.kinds", Kind.CHOICE, {"network": "vgg16", "batch": 128}, None, options=_KINDS,
       part=Part.RECALL, words=lambda n: {**n, "label": labelled(n["network"])},
       gives=("maps take most", "mostly feature maps"))  # fmt: skip
def kinds(n: Numbers) -> Truth:
    """Which of four kinds of memory is the largest at the peak of a training step (C1, C2)."""
    roles = plan(step_of(built(n["network"]), "sgd")).roles(n["batch"])
    weights = (Role.PARAMETER, Role.PARAMETER_GRADIENT)
    nbytes = {
        "weights": sum(roles.get(role, 0) for role in weights),
        "maps": roles.get(Role.FEATURE_MAP, 0) + roles.get(Role.INPUT, 0),
        "gradients": roles.get(Role.GRADIENT_MAP, 0),
        "workspace": roles.get(Role.WORKSPACE, 0),
    }
    told = {name: f"{100 * size / sum(nbytes.values()):.0f}" for name, size in nbytes.items()}
    return Truth(max(nbytes, key=lambda name: nbytes[name]), seen=dict(told))


topic("09.paid", Kind.CHOICE, {}, None, options=("operations", "digits", "nothing"),
      part=Part.RECALL,
      gives=("more operations", "pays with time"))(known("operations"))  # fmt: skip

# -- what lies idle -----------------------------------------------------------------------------

_NETWORKS = ("vgg16", "alexnet", "overfeat", "googlenet", "resnet18", "resnet50")
_SHARES = {"quarter": Fraction(2, 5), "half": Fraction(3, 5), "most": Fraction(4, 5)}
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
                        "waits": f"{float(_waits(n, n['fast'])):.2f}"},
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
        "more": f"{100 * (there.seconds / whole.seconds - 1):.0f}",
    }  # fmt: skip
    return Truth(times, (planned(times),), tuple(distinct(times, causes)), told)


def _copies(there: Schedule) -> int:
    return sum(slot.op.kind in (OUT, IN) for slot in there.slots)


def _waiting(there: Schedule) -> int:
    """Operations of compute that wait for a copy."""
    return sum(slot.op.stream == "compute" and slot.stall > 0 for slot in there.slots)


@topic("09.faster", Kind.CHOICE, {"network": "vgg16", "batch": 256, "other": "h100"}, None,
       options=("shorter", "same", "longer"), part=Part.CHANGE,
       gives=("a faster card waits", "hides less"))  # fmt: skip
def faster(n: Numbers) -> Truth:
    """Whether compute waits longer for the same copies where it is faster itself."""
    one, other = (timed(n["network"], "conv", n["batch"], card, LINK)
                  for card in (CARD, n["other"]))  # fmt: skip
    ratio = other.stalled() / one.stalled()
    told: dict[str, object] = {
        "one": f"{one.stalled():.2f}",
        "other": f"{other.stalled():.2f}",
        "share": f"{100 * one.stalled() / one.seconds:.0f}",
        "more": f"{100 * other.stalled() / other.seconds:.0f}",
    }
    return Truth("longer" if ratio > 1.05 else "shorter" if ratio < 0.95 else "same", seen=told)

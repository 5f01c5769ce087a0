"""Lesson 09, offload.

Cards: idle maps, bytes in the host's memory, a slower link. Exercises: the reference count at a
fork, and the choice of the maps to offload.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from random import Random
from typing import Any

from memlab import units
from memlab.assemble.step import training_step
from memlab.clocks.streams import IN, OUT, Schedule, clock
from memlab.errors import InputError, shorten
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson import returned_values
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import planned, step_of, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.misconceptions import Mistake, distinct_causes
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.pictures.values.number_text import figure, three_digits
from memlab.step.op import Phase
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


@topic("09.kinds", AnswerKind.CHOICE, {"network": "vgg16", "batch": 8, "large": 256}, None,
       options=_KINDS, part=Purpose.RECALL, words=with_label,
       gives=("weights take most", "mostly weights", "more than the maps"))  # fmt: skip
def kinds(n: Numbers) -> Truth:
    """Answer of 09.kinds: the largest of four kinds of memory at the peak of a small batch (C1,
    C9)."""
    small, large = (_kinds(n["network"], n[batch]) for batch in ("batch", "large"))
    told = {name: f"{100 * share:.0f}" for name, share in small.items()}
    told |= {"large": n["large"], "then": f"{100 * large['maps']:.0f}", "small": n["batch"]}
    return Truth(max(small, key=lambda name: small[name]), seen=told)


def _kinds(network: str, batch: int) -> dict[str, float]:
    """Share of each kind of memory; the input counts with the maps."""
    roles = plan(step_of(zoo.build(network), "sgd")).roles(batch)
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


@topic("09.paid", AnswerKind.CHOICE, {"network": "vgg16", "batch": 256, "k": 2}, None,
       options=("few", "third", "half", "twice"), part=Purpose.RECALL,
       words=with_label,
       gives=("a third longer", "a third more"))  # fmt: skip
def paid(n: Numbers) -> Truth:
    """Answer of 09.paid: the added time of a step that keeps every k-th stage, by
    the clock (E1)."""
    before = without_workspace(n["network"])
    again = clock(recompute(before, "every", k=n["k"]), n["batch"], CARD)
    added = again.seconds / clock(before, n["batch"], CARD).seconds - 1
    item = next((name for name, most in _ADDED.items() if added <= most), "twice")
    return Truth(item, seen={"percent": f"{100 * added:.0f}"})


# -- what lies idle -----------------------------------------------------------------------------

_NETWORKS = ("vgg16", "alexnet", "overfeat", "googlenet", "resnet18", "resnet50")
_SHARES = {"quarter": Fraction(2, 5), "half": Fraction(3, 5), "most": Fraction(17, 20)}
"""The largest share of an option; above them it is nearly all."""


def _draw_idle(chance: Random) -> Numbers:
    return {"network": chance.choice(_NETWORKS), "batch": chance.choice((32, 64, 128))}


@topic("09.idle", AnswerKind.CHOICE, {"network": "vgg16", "batch": 256}, _draw_idle,
       options=("quarter", "half", "most", "nearly"),
       words=with_label,
       gives=("idle share", "lies idle", "lie idle", "nearly all", "88 %"),
       shows=({"network": "vgg16", "asked": False},))  # fmt: skip
def idle(n: Numbers) -> Truth:
    """Answer of 09.idle: byte-seconds of feature maps that no operation uses, over all of theirs,
    planned (C10)."""
    name = n["network"]
    step = in_place_step(name) if name == "vgg16" else step_of(zoo.build(name), "sgd")
    share = clock(step, n["batch"], CARD).idle_share()
    item = next((name for name, most in _SHARES.items() if share <= most), "nearly")
    return Truth(item, seen={"share": f"{100 * share:.0f}"})


@cache
def in_place_step(network: str) -> Step:
    """Training step in place and without workspace, so that feature maps are what remains to
    offload."""
    return in_place(without_workspace(network))


@cache
def without_workspace(network: str) -> Step:
    """Training step of a network whose convolutions need no workspace."""
    return training_step(zoo.build(network), "sgd", algorithm="implicit-gemm")


@cache
def _moved(network: str, policy: str) -> Step:
    return in_place(offload(without_workspace(network), policy))


# -- moved, not saved ---------------------------------------------------------------------------


def _draw_host(chance: Random) -> Numbers:
    return {
        "network": chance.choice(("vgg16", "alexnet", "googlenet", "resnet18")),
        "policy": chance.choice(("conv", "all")),
        "batch": chance.choice((64, 128, 256)),
    }


def _falls(n: Numbers) -> int:
    """Bytes by which the peak of the device falls."""
    before, after = plan(in_place_step(n["network"])), plan(_moved(n["network"], n["policy"]))
    return before.peak(n["batch"]) - after.peak(n["batch"])


@topic("09.host", AnswerKind.CHOICE, {"network": "vgg16", "policy": "conv", "batch": 256},
       _draw_host,
       options=("none", "less", "same", "more"),
       words=lambda n: {**with_label(n), "saved": three_digits(_falls(n))},
       gives=("9.30 GB", "9.3 GB", "moves memory", "does not remove", "moved, not saved"),
       shows=({"policy": "conv", "network": "vgg16"},))  # fmt: skip
def host(n: Numbers) -> Truth:
    """Answer of 09.host: bytes in the host's memory, compared with the bytes saved on the device
    (C5, C7)."""
    plain, ledger = plan(in_place_step(n["network"])), plan(_moved(n["network"], n["policy"]))
    saved, there = _falls(n), ledger.peak(n["batch"], HOST)
    before, peak = plain.peak_at(n["batch"]), ledger.peak_at(n["batch"])
    less = before.nbytes - _inside(ledger, before.row.name, n["batch"])
    told = {
        "there": three_digits(there), "saved": three_digits(saved),
        "peak": three_digits(peak.nbytes), "at": peak.row.name, "before": before.row.name,
        "less": three_digits(less),
        "still": three_digits(ledger.timeline(n["batch"], HOST)[peak.index]),
    }  # fmt: skip
    ratio = Fraction(there, saved) if saved else Fraction(2)
    alike = Fraction(19, 20) < ratio < Fraction(21, 20)
    return Truth("same" if alike else "more" if ratio > 1 else "less", seen=told)


def _inside(ledger: Ledger, operation: str, batch: int) -> int:
    """Bytes of the device while an operation runs."""
    at = next(number for number, row in enumerate(ledger.rows) if row.name == operation)
    return ledger.timeline(batch)[at]


# -- the link -----------------------------------------------------------------------------------


@cache
def timed(network: str, policy: str, batch: int, card: str, link: int) -> Schedule:
    """Schedule of a step with offload, over a link of ``link`` GB/s."""
    return clock(_moved(network, policy), batch, card, f"{link} GB/s")


def _stalled(n: Numbers, link: int) -> Fraction:
    return Fraction(timed(n["network"], "conv", n["batch"], CARD, link).stalled())


def _draw_link(chance: Random) -> Numbers:
    fast, slow = chance.choice(((12, 3), (12, 4), (12, 2), (16, 4), (8, 2), (6, 2), (16, 8)))
    return {"network": "vgg16", "batch": chance.choice((32, 64, 128)), "fast": fast, "slow": slow}


_LONGER = ("1", "1.5", "2", "3", "4", "5", "6", "8", "10", "13", "15", "20", "25", "30", "50",
           "100")  # fmt: skip


@topic("09.link", AnswerKind.TIMES, {"network": "vgg16", "batch": 256, "fast": LINK, "slow": 3},
       _draw_link, stops=_LONGER,
       words=lambda n: {**with_label(n), "times": f"{n['fast'] / n['slow']:g}",
                        **_sums(n)},
       gives=("no longer hides", "ceases to hide"),
       shows=({"link": 3 * units.DECIMAL["GB"]},))  # fmt: skip
def link(n: Numbers) -> Truth:
    """Answer of 09.link: the time that compute waits over a slow link, over that with a fast one,
    planned."""
    fast, slow = _stalled(n, n["fast"]), _stalled(n, n["slow"])
    times, there = slow / fast, timed(n["network"], "conv", n["batch"], CARD, n["slow"])
    copied = Fraction(there.busy(OUT) + there.busy(IN))
    whole = timed(n["network"], "conv", n["batch"], CARD, n["fast"])
    causes = [
        Mistake("like_the_link", Fraction(n["fast"], n["slow"])),
        Mistake("nothing_hidden", copied / fast),
        Mistake("still_hidden", Fraction(1)),
        Mistake("whole_step", Fraction(there.seconds / whole.seconds)),
    ]
    told = {
        "fast_waits": f"{float(fast):.2f}", "slow_waits": f"{float(slow):.2f}",
        "few": _waiting(whole), "many": _waiting(there), "copies": _copies(there),
    }  # fmt: skip
    before = Fraction(whole.busy(OUT) + whole.busy(IN))
    left = {"least": copied - Fraction(there.busy()), "most": copied - (before - fast)}
    told |= {name: figure(float(max(wait, Fraction(0)) / fast), 2) for name, wait in left.items()}
    return Truth(times, (planned(times),), tuple(distinct_causes(times, causes)), told)


def _sums(n: Numbers) -> dict[str, str]:
    """Seconds of computing, copying and waiting over the faster link, for texts."""
    sums = timed(n["network"], "conv", n["batch"], CARD, n["fast"])
    copied = sums.busy(OUT) + sums.busy(IN)
    seconds = {"works": sums.busy(), "copied": copied, "waits": sums.stalled()}
    return {name: f"{duration:.2f}" for name, duration in seconds.items()}


def _copies(there: Schedule) -> int:
    return sum(slot.op.kind in (OUT, IN) for slot in there.slots)


def _waiting(there: Schedule) -> int:
    """Number of compute operations that wait for a copy."""
    return sum(slot.op.stream == "compute" and slot.stall > 0 for slot in there.slots)


# -- exercise: which maps go --------------------------------------------------------------------

BATCH, SIDE = 64, 32
"""Images, their height and width."""
UNIT = 4 * BATCH * SIDE**2
"""Bytes of a map for each channel."""
MOST, LAST = 7, 64
"""The most maps that may go, and the channels behind them."""
Chosen = tuple[int, ...]
"""Numbers of maps from 0, rising."""


@lru_cache(maxsize=512)
def _chain(maps: tuple[int, ...]) -> Step:
    """Training step of convolutions that read maps of these bytes, and of two more."""
    first, *others = (nbytes // UNIT for nbytes in maps)
    x = network("chain", image=(first, SIDE, SIDE))
    for channels in (*others, LAST, LAST):
        x = x.conv(channels, 3, pad="same", bias=False)
    return training_step(x.max_pool("all").flatten().linear(2).cross_entropy(), "sgd")


@lru_cache(maxsize=512)
def _alone(maps: tuple[int, ...]) -> Schedule:
    return clock(_chain(maps), BATCH, CARD)


@lru_cache(maxsize=4096)
def nanoseconds(maps: tuple[int, ...], chosen: Chosen) -> int:
    """Nanoseconds of the step that offloads these maps."""
    names = ["input" if number == 0 else f"conv{number}" for number in chosen]
    step = _chain(maps)
    moved = offload(step, maps=names) if names else step
    return round(1e9 * clock(moved, BATCH, CARD, f"{LINK} GB/s").seconds)


def counted(a: Arguments, chosen: Sequence[int]) -> int:
    """Nanoseconds of the plain step and the waits of each offloaded map; quick, for comparing
    choices."""
    return round(1e9 * (_alone(tuple(a["maps"])).seconds + sum(waits(a, n) for n in chosen)))


def waits(a: Arguments, number: int) -> float:
    """Seconds that compute waits for a map to leave and to return."""
    return sum(_way(a, number, half) for half in ("forward", "backward"))


def _way(a: Arguments, number: int, half: str) -> float:
    return max(0.0, float(a["maps"][number] / a["link"] - a[half][number]))


def arguments(maps: list[int], room: int) -> Arguments:
    """Arguments of a case; the seconds of compute that can hide each copy are
    those of the clock."""
    slots = _alone(tuple(maps)).slots

    def seconds(number: int, phase: Phase) -> float:
        layer = f"conv{number}"
        return sum(s.seconds for s in slots if s.op.layer == layer and s.op.phase is phase)

    count = range(len(maps))
    return {
        "maps": maps,
        "forward": [seconds(n + 1, Phase.FORWARD) for n in count],
        "backward": [seconds(n + 2, Phase.BACKWARD) for n in count],
        "link": LINK * units.DECIMAL["GB"],
        "room": room,
    }


def drawn(chance: Random, count: int) -> Arguments:
    """Draw ``count`` maps, and room for some of them."""
    maps = [UNIT * chance.randint(8, 160) for _ in range(count)]
    stay = chance.sample(maps, chance.randrange(count))
    return arguments(maps, sum(stay))


def choices(a: Arguments) -> list[Chosen]:
    """All choices of maps to offload that leave no more bytes than there is room for."""
    count = len(a["maps"])
    every = (c for n in range(count + 1) for c in combinations(range(count), n))
    return [chosen for chosen in every if stays(a, chosen) <= a["room"]]


def stays(a: Arguments, chosen: Sequence[int]) -> int:
    """Bytes of the maps that are not offloaded."""
    return int(sum(a["maps"]) - sum(a["maps"][number] for number in chosen))


def _with(choose: Callable[[Arguments], Sequence[int]]) -> Slip:
    return lambda truth, a: counted(a, choose(a))


def _in_order(key: Callable[[Arguments, int], float]) -> Slip:
    """Slip that offloads maps in order of a key until the others fit."""

    def choose(a: Arguments) -> list[int]:
        chosen: list[int] = []
        for number in sorted(range(len(a["maps"])), key=lambda n: (key(a, n), n)):
            if stays(a, chosen) > a["room"]:
                chosen.append(number)
        return chosen

    return _with(choose)


def _longer(a: Arguments, number: int) -> float:
    """The longer of the two waits for a map, to leave or to return."""
    return max(_way(a, number, half) for half in ("forward", "backward"))


def _by(half: str) -> Slip:
    """Slip with the best choice for somebody who counts one direction only."""
    return _with(lambda a: min(choices(a), key=lambda c: sum(_way(a, n, half) for n in c)))


_OFFLOAD_SLIPS: dict[str, Slip] = {
    "all_go": _with(lambda a: range(len(a["maps"]))),
    "from_the_first": _in_order(lambda a, n: n),
    "largest": _in_order(lambda a, n: -a["maps"][n]),
    "shortest": _in_order(waits),
    "way_out": _by("forward"),
    "fewest_bytes": _with(lambda a: max(choices(a), key=lambda c: stays(a, c))),
}
_OFFLOAD_TRAPS: dict[str, Slip] = {
    "way_back": _by("backward"),
    "longer_way": _with(lambda a: min(choices(a), key=lambda c: sum(_longer(a, n) for n in c))),
    "per_byte": _in_order(lambda a, n: waits(a, n) / a["maps"][n]),
}


def _score(given: Any, a: Arguments) -> int:
    """Nanoseconds of the step that offloads the chosen maps.

    Raises:
        InputError: the value is no choice among these maps, or leaves too many bytes.
    """
    last, numbers = len(a["maps"]) - 1, returned_values.read(given)
    chosen = set() if numbers is None else {*numbers.flat}
    if numbers is None or len(numbers.shape) != 1 or not chosen <= {*range(last + 1)}:
        raise InputError(
            f"Of {last + 1} maps a choice is a list of numbers from 0 to {last}, "
            f"got {shorten(given)}."
        )
    moved = tuple(sorted(map(int, chosen)))
    if (left := stays(a, moved)) > a["room"]:
        raise InputError(f"That leaves {left:,} B on the device, and room is {a['room']:,} B.")
    return nanoseconds(tuple(a["maps"]), moved)


@task("09.offloaded", lambda chance, size: drawn(chance, min(1 + size // 2, MOST)),
      slips=_OFFLOAD_SLIPS, traps=_OFFLOAD_TRAPS, score=_score, timed=True,
      edge=lambda a: not a["room"], seconds=3)  # fmt: skip
def offloaded(
    maps: list[int], forward: list[float], backward: list[float], link: int, room: int
) -> int:
    """Nanoseconds of the step with the best of all choices, by the clock."""
    a = {"maps": maps, "forward": forward, "backward": backward, "link": link, "room": room}
    return nanoseconds(tuple(maps), min(choices(a), key=lambda chosen: counted(a, chosen)))

"""Lesson 08, recompute.

Cards: fewest maps, half of the saving, stages of two networks. Exercise: the choice of the maps to
keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, pairwise
from math import isqrt
from random import Random
from typing import Any

from memlab import strings
from memlab.assemble.step import training_step
from memlab.clocks import measured_rates, roofline
from memlab.errors import InputError, shorten
from memlab.ledger.plan import plan
from memlab.lesson import chains, returned_values
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.chains import ALIKE, BATCH
from memlab.lesson.content.lesson_07 import address
from memlab.lesson.content.shared_truths import (
    known,
    measured,
    planned,
    with_label,
)
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.misconceptions import Mistake, distinct_causes
from memlab.networks import zoo
from memlab.pictures.recompute import Schedules, schedules, subject
from memlab.pictures.techniques.frontier import LINE, Frontier
from memlab.pictures.values.number_text import three_digits
from memlab.techniques.recompute import recompute
from memlab.techniques.recompute.chain_optimum import frontier
from memlab.techniques.recompute.step_as_chain import cuts

_ON = measured_rates.recorded()
"""The machine of the lesson's text."""

# -- what lesson 07 said ------------------------------------------------------------------------

topic("08.waiting", AnswerKind.CHOICE, {}, None, options=("none", "last", "read"),
      part=Purpose.RECALL, gives=("backward still reads", "backward will read",
      "wait for backward"))(known("read"))  # fmt: skip


@topic("08.fault", AnswerKind.CHOICE, {"fault": "backward", "batch": 4}, None,
       options=("error", "loss", "gradients"), part=Purpose.RECALL,
       gives=("bit for bit", "memory bugs are silent"))  # fmt: skip
def fault(n: Numbers) -> Truth:
    """Answer of 08.fault: the visible effect of a wrong address that backward writes to; the step
    of lesson 07 runs again."""
    return address(n)


# -- keep every k-th map ------------------------------------------------------------------------


SAMPLES = 2500
"""Samples in the view under the answer: the feature maps are much larger than the parameters."""


def _draw_best(chance: Random) -> Numbers:
    return {"layers": chance.choice((36, 64, 144, 196, 256))}


@cache
def least(layers: int) -> tuple[int, int]:
    """Least bytes of maps alive with every k-th map kept, the input among them, and the smallest k
    that reaches it (E1)."""
    step = training_step(chains.alike(layers), "sgd")
    every = (k for k in range(2, layers) if layers % k == 0)
    return min((chains.held(plan(recompute(step, "every", k=k)), source=True), k) for k in every)


_FEWER = ("1", "1.5", "2", "3", "4", "5", "6", "7", "8", "10", "15", "20", "30", "50", "100")


@topic("08.best", AnswerKind.TIMES, {"layers": 100}, _draw_best, stops=_FEWER,
       words=lambda n: {**n, "all": n["layers"] + 1},
       gives=("square root", "√n", "k + n/k", "n/k", "2·√n", "20 maps"),
       shows=({"recompute": "every", "k": 10},))  # fmt: skip
def best(n: Numbers) -> Truth:
    """Answer of 08.best: bytes of maps alive in the plain step over those with the best k, planned
    and measured (E1)."""
    from memlab.runtime.run import run

    layers = n["layers"]
    held, k = least(layers)
    step = recompute(training_step(chains.alike(layers), "sgd"), "every", k=k)
    seen = chains.held(run(step, BATCH).measured, source=True)
    every = Fraction(chains.held(plan(training_step(chains.alike(layers), "sgd")), source=True))
    causes = [
        Mistake("half_kept", Fraction(layers + 1, layers // 2 + 2)),
        *(Mistake("stored_alone", alone) for alone in _checkpoints_alone(layers, k)),
        Mistake("one_kept", Fraction(layers + 1)),
        Mistake("no_fewer", Fraction(1)),
    ]
    view = Schedules(training_step(chains.alike(layers)), SAMPLES)
    peaks = {"plain": three_digits(view.plain.peak), "peak": three_digits(view.every[k].peak)}
    told = {"held": held // ALIKE, "k": k, **peaks}
    figures = planned(every / held), measured(every / seen)
    return Truth(every / held, figures, tuple(distinct_causes(every / held, causes)), told)


def _checkpoints_alone(layers: int, k: int) -> list[Fraction]:
    """Return the factors that people get who count the checkpoints only: with the input among
    them, without it, and with it among all feature maps alone."""
    checkpoints = layers // k
    return [
        Fraction(layers + 1, checkpoints + 1),
        Fraction(layers, checkpoints),
        Fraction(layers + 1, checkpoints),
    ]


@topic("08.hundred", AnswerKind.CHOICE, {"layers": 100}, None, options=("lower", "half", "plain"),
       part=Purpose.CHANGE, gives=("no checkpoint", "all at once"))  # fmt: skip
def hundred(n: Numbers) -> Truth:
    """Answer of 08.hundred: bytes of maps with a segment as long as the chain, compared with those
    of the plain step and of k = 20."""
    step = training_step(chains.alike(n["layers"]), "sgd")

    def held(k: int) -> int:
        return chains.held(plan(recompute(step, "every", k=k)), source=True)

    one, plain = held(n["layers"]), chains.held(plan(step), source=True)
    view = Schedules(training_step(chains.alike(n["layers"])), SAMPLES)
    wave = view.keeping(n["layers"])
    told = {"peak": three_digits(wave.peak), "more": view.more(wave)}
    return Truth("plain" if one == plain else "lower" if one < held(20) else "half", seen=told)


# -- stages that are not alike ------------------------------------------------------------------

_OTHERS = ("gpt_small", "vit_s", "resnet18", "resnet101", "vgg16", "googlenet")


@cache
def times_less(network: str, batch: int) -> Fraction:
    """Peak of the plain step over that with every stage recomputed."""
    step = training_step(zoo.build(network), "momentum")
    return Fraction(plan(step).peak(batch), plan(recompute(step, "every", k=1)).peak(batch))


def _stage_words(n: Numbers) -> Numbers:
    other = times_less("resnet50", n["batch"])
    return {**with_label(n), "other": f"{float(other):.1f}"}


@topic("08.stages", AnswerKind.CHOICE, {"network": "gpt_small", "batch": 32},
       lambda chance: {"network": chance.choice(_OTHERS), "batch": chance.choice((16, 32))},
       options=("less", "same", "more"), words=_stage_words,
       gives=("4.2 times", "attention matrices", "matrices of attention", "small output"),
       shows=({"what": "gpt_small", "recompute": "every"},
              {"what": "gpt_small", "k": 1}))  # fmt: skip
def stages(n: Numbers) -> Truth:
    """Answer of 08.stages: the saving by recompute of every stage in one network, compared with
    ResNet-50, planned."""
    reruns, other = (times_less(name, n["batch"]) for name in (n["network"], "resnet50"))
    step = training_step(zoo.build(n["network"]), "momentum")
    again = recompute(step, "every", k=1)
    more = (
        Fraction(roofline.total(again, n["batch"], _ON) / roofline.total(step, n["batch"], _ON)) - 1
    )
    told = {"found": f"{float(reruns):.1f}", "percent": f"{float(100 * more):.0f}"}
    alike = Fraction(4, 5) < reruns / other < Fraction(5, 4)
    return Truth("same" if alike else "more" if reruns > other else "less", seen=told)


# -- half of the saving -------------------------------------------------------------------------

_CHAINS = ("resnet18", "resnet34", "resnet50", "googlenet", "vgg16")


def _draw_half(chance: Random) -> Numbers:
    return {"network": chance.choice(_CHAINS), "batch": chance.choice((8, 16, 32))}


@cache
def extra(network: str, batch: int) -> tuple[Fraction, Fraction]:
    """Added time of the recompute with the least peak, and of that with half of the saving, as
    shares of the plain step's time by the clock (E6)."""
    step = training_step(zoo.build(network), "momentum")
    chain = cuts(step, _ON).chain(batch)
    points = frontier(chain)
    (least, most), (plain, cost) = points[0], points[-1]
    half = min(spent for nbytes, spent in points if 2 * nbytes <= least + plain)
    whole = round(1e9 * roofline.total(step, batch, _ON))
    return Fraction(most - cost, whole), Fraction(half - cost, whole)


def _part(whole: Fraction, half: Fraction) -> str:
    """Name of the option for ``half`` over ``whole``: less, half (within a tenth of it), more or
    all."""
    if half == whole:
        return "all"
    part = half / whole
    return "less" if part < Fraction(9, 20) else "half" if part <= Fraction(11, 20) else "more"


@topic("08.half", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32}, _draw_half,
       options=("all", "more", "half", "less"),
       words=with_label,
       gives=("first bytes", "little work", "compute little", "6.7 %", "cheap to make",
              "early stage"),
       shows=({"stop": 3},))  # fmt: skip
def half(n: Numbers) -> Truth:
    """Answer of 08.half: the part of the added time that half of the saving costs, on the chain's
    frontier (E6)."""
    more_work = extra(n["network"], n["batch"])
    whole, less = (f"{float(100 * share):.1f}" for share in more_work)
    every = schedules(subject(n["network"]), n["batch"])
    again = _listed(Frontier(every, LINE).half.again)
    told = {"whole": whole, "part": less, "again": again, "stages": every.stages}
    return Truth(_part(*more_work), seen=told)


def _listed(stages: Sequence[int]) -> str:
    """Return numbers of stages in words: ``'stages 3 to 6'``, ``'stages 1, 2 and 7'``."""
    first, last = stages[0], stages[-1]
    in_a_row = len(stages) > 2 and last - first == len(stages) - 1
    key = "range" if in_a_row else "several" if len(stages) > 1 else "one"
    return strings.get(
        f"ask.08.half.again.{key}", first=first, last=last, numbers=strings.series(stages)
    )


# -- exercise -----------------------------------------------------------------------------------

Kept = tuple[int, ...]
"""Numbers of maps from 0, rising."""
MOST = 9
"""The most maps: there are 256 choices then."""


@lru_cache(maxsize=4096)
def most_held(maps: tuple[int, ...], kept: Kept) -> int:
    """Most bytes of maps alive in backward of a step that keeps these maps (E1, E5)."""
    step = training_step(chains.layers(maps), "sgd")
    names = [f"fc{number + 1}" for number in kept]
    return chains.held(plan(recompute(step, "keep", layers=names)))


def counted(maps: Sequence[int], kept: Sequence[int]) -> int:
    """Most bytes of maps alive in backward, by the lengths of the segments; quick, for comparing
    choices and for slips."""
    stored = [maps[number] for number in kept]
    return max(sum(stored[:n]) + sum(part) for n, part in enumerate(segments(maps, kept)))


def segments(maps: Sequence[int], kept: Sequence[int]) -> list[Sequence[int]]:
    """Maps between those that are kept, from the first segment to the last."""
    ends = [-1, *kept, len(maps)]
    return [maps[one + 1 : two] for one, two in pairwise(ends)]


def choices(count: int) -> list[Kept]:
    """All choices of maps to keep; the last map is never among them, as it is not dropped."""
    return [kept for n in range(count) for kept in combinations(range(count - 1), n)]


def _maps(chance: Random, size: int) -> list[int]:
    """Draw the bytes of at least 2 maps, so that something can be kept."""
    return [chains.KB * chance.randint(1, 200) for _ in range(min(1 + size, MOST))]


def _draw_maps(chance: Random, size: int) -> Arguments:
    return {"maps": _maps(chance, size)}


def _with(kept: Callable[[list[int]], Sequence[int]]) -> Slip:
    """Slip with the bytes of another choice."""
    return lambda truth, a: counted(a["maps"], kept(a["maps"]))


def _every_root(maps: list[int]) -> Sequence[int]:
    k = (isqrt(4 * len(maps)) + 1) // 2
    return range(k - 1, len(maps) - 1, k)


def _single(order: Callable[..., int]) -> Slip:
    """Slip that keeps one map alone: the smallest, or the largest."""
    return _with(lambda maps: [order(range(len(maps) - 1), key=lambda n: maps[n])])


_CHOICE_SLIPS: dict[str, Slip] = {
    "nothing_saved": _with(lambda maps: []),
    "every_root": _with(_every_root),
    "middle": _with(lambda maps: [(len(maps) - 1) // 2]),
    "smallest": _single(min),
    "largest": _single(max),
    "one_alone": lambda truth, a: min(
        counted(a["maps"], [number]) for number in range(len(a["maps"]) - 1)
    ),
}


def _score(given: Any, a: Arguments) -> int:
    """Bytes of the step that keeps the chosen maps.

    Raises:
        InputError: the value is no choice among these maps.
    """
    last, numbers = len(a["maps"]) - 2, returned_values.read(given)
    chosen = set() if numbers is None else {*numbers.flat}
    if numbers is None or len(numbers.shape) != 1 or not chosen <= {*range(last + 1)}:
        allowed = f"a list of numbers from 0 to {last}, or []" if last else "[0] or []"
        allowed += "; the last feature map is always kept"
        raise InputError(f"Of {last + 2} maps a choice is {allowed}, got {shorten(given)}.")
    return most_held(tuple(a["maps"]), tuple(sorted(map(int, chosen))))


def _best(maps: list[int], most: int = MOST) -> Kept:
    """Best choice of at most ``most`` maps."""
    few = (kept for kept in choices(len(maps)) if len(kept) <= most)
    return min(few, key=lambda kept: counted(maps, kept))


def _by_steps(maps: list[int], start: Kept, change: Callable[[Kept, int], Kept]) -> Kept:
    """Return the maps to keep that a greedy search finds: it makes the change that lowers the peak
    most, as long as one does."""
    kept = start
    while True:
        changed = [change(kept, number) for number in range(len(maps) - 1)]
        best = min(changed, key=lambda other: counted(maps, other), default=kept)
        if counted(maps, best) >= counted(maps, kept):
            return kept
        kept = best


def _added(kept: Kept, number: int) -> Kept:
    return tuple(sorted({*kept, number}))


def _removed(kept: Kept, number: int) -> Kept:
    return tuple(other for other in kept if other != number)


_CHOICE_TRAPS: dict[str, Slip] = {
    "two_at_most": _with(lambda maps: _best(maps, 2)),
    "three_at_most": _with(lambda maps: _best(maps, 3)),
    "adding": _with(lambda maps: _by_steps(maps, (), _added)),
    "removing": _with(lambda maps: _by_steps(maps, tuple(range(len(maps) - 1)), _removed)),
}


@task("08.checkpoints", _draw_maps, slips=_CHOICE_SLIPS, traps=_CHOICE_TRAPS, score=_score,
      edge=lambda a: len(a["maps"]) == 2, seconds=6)  # fmt: skip
def checkpoints(maps: list[int]) -> int:
    """Most bytes of maps alive in backward, with the best of all choices."""
    return most_held(tuple(maps), _best(maps))

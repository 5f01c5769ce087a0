"""Lesson 11, fit the budget.

Cards: recompute and offload together, in place after recompute, the time of 16 bits with recompute.
Exercises: two techniques one after the other, and the cheapest pair for a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations
from random import Random
from typing import Any

from memlab import strings
from memlab.assemble.step import training_step
from memlab.clocks.streams import clock
from memlab.errors import InputError, shorten
from memlab.ledger.plan import plan
from memlab.lesson import chains, returned_values
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.chains import BATCH
from memlab.lesson.content.lesson_08 import counted as recomputed
from memlab.lesson.content.lesson_08 import segments
from memlab.lesson.content.shared_truths import known, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.material.case_rows import IMAGES, MACHINE, machine_name
from memlab.networks import zoo
from memlab.pictures.values.number_text import percent, three_digits
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.techniques.offload import offload
from memlab.techniques.recompute import recompute
from memlab.techniques.registry import Applied, applied, ordered

# -- what lessons 07 and 09 said ----------------------------------------------------------------

topic("11.overwrites", AnswerKind.CHOICE, {}, None, options=("size", "read", "forward"),
      part=Purpose.RECALL, gives=("no later operation reads",))(known("read"))  # fmt: skip

topic("11.hidden", AnswerKind.CHOICE, {}, None, options=("host", "operation", "never"),
      part=Purpose.RECALL, gives=("no longer than the operation",))(known("operation"))  # fmt: skip


# -- techniques together ------------------------------------------------------------------------

_CLOSE = 0.03
"""Difference of two peaks, as a part of the larger one, that counts as none."""


def _uses(batch: int) -> dict[str, Applied]:
    """Techniques that the cards put together, by name. Of the schedules with the least peak,
    ``chain`` is the one with the least time on the card of the case, and ``least`` the one that the
    memory view shows."""
    return {
        "chain": applied("recompute", "chain", batch=batch, device=MACHINE),
        "least": applied("recompute", "chain", batch=batch),
        "every": applied("recompute", "every", k=1),
        "cheap": applied("recompute", "cheap"),
        "half": applied("precision", "mixed fp16"),
        "offload": applied("offload", "all"),
        "in_place": applied("in_place"),
    }


@cache
def together(network: str, batch: int, *names: str) -> Step:
    """Return the training step of a network under some techniques, in the order of the registry.

    Args:
        network: a name of ``memlab.zoo``.
        batch: the batch that a search is made at.
        names: keys of the table of techniques, such as ``"chain"`` and ``"offload"``.
    """
    step, uses = training_step(zoo.build(network), "momentum"), _uses(batch)
    for use in ordered(uses[name] for name in names):
        step = use(step)
    return step


@cache
def _peak(network: str, batch: int, *names: str) -> int:
    return plan(together(network, batch, *names)).peak(batch)


@cache
def _seconds(network: str, batch: int, *names: str) -> float:
    return clock(together(network, batch, *names), batch, MACHINE).seconds


def _extra(n: Numbers, *names: str) -> float:
    """Percent of time that techniques add to the plain step by the clock; below 0 they save it."""
    asked = n["network"], n["batch"]
    return 100 * (_seconds(*asked, *names) / _seconds(*asked) - 1)


def _draw_both(chance: Random) -> Numbers:
    network = chance.choice(("resnet50", "resnet101", "vit_s", "gpt_small"))
    how = chance.choice(("chain", "every", "cheap", "half"))
    return {"network": network, "batch": chance.choice((32, 64, 128)), "how": how,
            "other": "offload"}  # fmt: skip


def _both_words(n: Numbers) -> Numbers:
    asked = n["network"], n["batch"]
    sizes = sorted(_peak(*asked, name) for name in (n["how"], n["other"]))
    return {
        **_named(n), "plain": three_digits(_peak(*asked)),
        "first": strings.get(f"ask.11.both.first.{n['how']}"),
        "one": three_digits(_peak(*asked, n["how"])),
        "two": three_digits(_peak(*asked, n["other"])),
        "low": three_digits(sizes[0]), "high": three_digits(sizes[1]),
    }  # fmt: skip


def _named(n: Numbers) -> Numbers:
    return {**with_label(n), "images": n["batch"], "machine": machine_name()}


@topic("11.both", AnswerKind.CHOICE,
       {"network": "resnet50", "batch": IMAGES, "how": "chain", "other": "offload"}, _draw_both,
       options=("less", "low", "between", "high"), words=_both_words,
       gives=("save no byte", "nothing of it has gone", "need not add up"),
       shows=({"recompute": "chain", "offload": "all"},))  # fmt: skip
def both(n: Numbers) -> Truth:
    """Answer of 11.both: the peak under two techniques, beside the peaks under each alone."""
    asked, names = (n["network"], n["batch"]), (n["how"], n["other"])
    low, high = sorted(_peak(*asked, name) for name in names)
    peak = _peak(*asked, *names)
    ledger = plan(together(*asked, *names))
    told = {
        "peak": three_digits(peak), "at": _peak_in(n, *names),
        "alone": f"{_extra(n, n['how']):.0f}", "then": f"{_extra(n, *names):.0f}",
        "host": three_digits(ledger.peak(n["batch"], HOST)),
    }  # fmt: skip
    return Truth(_beside(peak, low, high), seen=told)


def _peak_in(n: Numbers, *names: str) -> str:
    """Name of the operation of the peak; of one that runs more than twice, without the number."""
    ledger = plan(together(n["network"], n["batch"], *names))
    return ledger.peak_at(n["batch"]).row.name.partition(",")[0]


def _beside(peak: int, low: int, high: int) -> str:
    """Option for a peak beside the peaks under each technique alone."""
    if peak < (1 - _CLOSE) * low:
        return "less"
    if peak <= (1 + _CLOSE) * low:
        return "low"
    return "between" if peak < (1 - _CLOSE) * high else "high"


def _draw_in_place(chance: Random) -> Numbers:
    networks = ("resnet18", "resnet34", "resnet50", "resnet101", "vgg16", "alexnet", "gpt_small")
    return {"network": chance.choice(networks), "batch": chance.choice((32, 64, 128, 256))}


def _saved(n: Numbers, *names: str) -> int:
    """Bytes that in place saves of the peak of a step."""
    asked = n["network"], n["batch"]
    return _peak(*asked, *names) - _peak(*asked, *names, "in_place")


def _saved_at_peak(n: Numbers, *names: str) -> int:
    """Bytes that in place saves in the operation of the peak."""
    asked = n["network"], n["batch"]
    before, after = (plan(together(*asked, *more)) for more in (names, (*names, "in_place")))
    peak = before.peak_at(n["batch"])
    return peak.nbytes - after.timeline(n["batch"])[peak.index]


def _in_place_words(n: Numbers) -> Numbers:
    asked = n["network"], n["batch"]
    peaks = {"plain": _peak(*asked), "again": _peak(*asked, "least"), "saved": _saved(n)}
    return {**_named(n), **{name: three_digits(nbytes) for name, nbytes in peaks.items()}}


_ALIKE = (0.8, 1.25)
"""Bounds of a ratio of two savings that count as alike."""


@topic("11.in_place", AnswerKind.CHOICE, {"network": "resnet50", "batch": IMAGES}, _draw_in_place,
       options=("none", "less", "same", "more"), words=_in_place_words,
       gives=("only at the peak", "a sum that may overwrite"),
       shows=({"recompute": "chain", "in_place": True},))  # fmt: skip
def overwritten_again(n: Numbers) -> Truth:
    """Answer of 11.in_place: the bytes that in place saves after recompute, beside those that it
    saves of the plain step."""
    before, after = _saved(n), _saved(n, "least")
    plain, peak = (_peak(n["network"], n["batch"], *names) for names in ((), ("least",)))
    told = {"before": three_digits(before), "after": three_digits(after),
            "share": percent(after, peak), "small": percent(before, plain),
            "was": _peak_in(n), "at": _peak_in(n, "least"),
            "here": three_digits(_saved_at_peak(n, "least"))}  # fmt: skip
    return Truth(_compared(after, before, peak), seen=told)


def _compared(after: int, before: int, peak: int) -> str:
    """Option for bytes that are saved now, beside those that were saved before."""
    if 1000 * after < peak:
        return "none"
    low, high = (bound * before for bound in _ALIKE)
    return "less" if after < low else "same" if after <= high else "more"


def _draw_time(chance: Random) -> Numbers:
    network, batch = chance.choice((("resnet101", 128), ("resnet34", 256), ("resnet34", 64),
                                    ("vit_s", 128), ("vit_s", 256), ("gpt_small", 64),
                                    ("googlenet", 64)))  # fmt: skip
    return {"network": network, "batch": batch}


def _time_words(n: Numbers) -> Numbers:
    return {**_named(n), "half": f"{-_extra(n, 'half'):.0f}", "again": f"{_extra(n, 'chain'):.0f}"}


_SAME_TIME = 5.0
"""Percent of time that nobody notices."""


@topic("11.time", AnswerKind.CHOICE, {"network": "resnet50", "batch": IMAGES}, _draw_time,
       options=("slower", "same", "faster"), words=_time_words,
       gives=("nearly multiply", "also runs in 16 bits", "12 % shorter"),
       shows=({"format": "mixed fp16", "recompute": "chain"},))  # fmt: skip
def both_times(n: Numbers) -> Truth:
    """Answer of 11.time: the time of a step in 16 bits with recompute, beside the plain step."""
    extra, names = _extra(n, "half", "chain"), ("half", "chain")
    factors = [1 + _extra(n, name) / 100 for name in names]
    how = strings.get(f"ask.11.time.{'longer' if extra > 0 else 'shorter'}")
    told = {
        "size": f"{abs(extra):.0f}", "how": how,
        "one": f"{factors[0]:.2f}", "two": f"{factors[1]:.2f}",
        "product": f"{factors[0] * factors[1]:.2f}", "found": f"{1 + extra / 100:.2f}",
        "peak": three_digits(_peak(n["network"], n["batch"], *names)),
    }  # fmt: skip
    return Truth("same" if abs(extra) <= _SAME_TIME else "slower" if extra > 0 else "faster",
                 seen=told)  # fmt: skip


@topic("11.order", AnswerKind.CHOICE, {"network": "resnet18", "batch": IMAGES}, None,
       options=("same", "lower", "refused"), part=Purpose.CHANGE,
       gives=("comes before", "is refused"))  # fmt: skip
def order(n: Numbers) -> Truth:
    """Answer of 11.order: the result of recompute after offload."""
    uses, step = _uses(n["batch"]), training_step(zoo.build(n["network"]), "momentum")
    try:
        swapped = uses["chain"](uses["offload"](step))
    except InputError as refused:
        return Truth("refused", seen={"reason": str(refused)})
    before = _peak(n["network"], n["batch"], "chain", "offload")
    return Truth("lower" if plan(swapped).peak(n["batch"]) < before else "same")


# -- exercise: one technique after the other ----------------------------------------------------

MOST = 9
"""The most feature maps of a chain."""


@lru_cache(maxsize=4096)
def _composed(maps: tuple[int, ...], kept: tuple[int, ...]) -> list[int]:
    """Most bytes of feature maps on the device in backward, and on the host, planned: recompute
    keeps some maps, and these wait on the host."""
    names = [f"fc{number + 1}" for number in kept]
    step = recompute(training_step(chains.layers(maps), "sgd"), "keep", layers=names)
    ledger = plan(offload(step, maps=names, prefetch="needed") if names else step)
    return [chains.held(ledger), ledger.peak(BATCH, HOST)]


def _draw_composed(chance: Random, size: int) -> Arguments:
    count = chance.randint(2, min(2 + size, MOST))
    maps = [chains.KB * chance.randint(1, 200) for _ in range(count)]
    return {"maps": maps, "kept": sorted(chance.sample(range(count - 1), chance.randrange(count)))}


def _parts(a: Arguments) -> Iterator[tuple[int, int]]:
    """Yield the bytes of each segment, and those of the checkpoint in front of it: 0 for the
    first."""
    maps, fronts = a["maps"], [0, *(a["maps"][number] for number in a["kept"])]
    return zip(map(sum, segments(maps, a["kept"])), fronts, strict=True)


def _waiting(a: Arguments) -> int:
    """Bytes of all checkpoints."""
    return sum(int(a["maps"][number]) for number in a["kept"])


def _with_checkpoint(a: Arguments) -> int:
    """Largest sum of a segment and the checkpoint in front of it, also for the last segment."""
    return max(int(segment + front) for segment, front in _parts(a))


def _with_next(a: Arguments) -> int:
    """Largest sum of a segment and the checkpoints on both sides of it."""
    parts, behind = list(_parts(a)), [a["maps"][number] for number in a["kept"]]
    sums = (sum(part) + after for part, after in zip(parts, [*behind, 0], strict=True))
    return max(int(nbytes) for nbytes in sums)


_COMPOSED_SLIPS: dict[str, Slip] = {
    "recompute_alone": lambda truth, a: [recomputed(a["maps"], a["kept"]), _waiting(a)],
    "offload_alone": lambda truth, a: [max(a["maps"]), sum(a["maps"][:-1])],
    "segment_alone": lambda truth, a: [max(part for part, _ in _parts(a)), _waiting(a)],
    "last_back": lambda truth, a: [_with_checkpoint(a), _waiting(a)],
    "one_on_host": lambda truth, a: [
        truth[0],
        max((a["maps"][number] for number in a["kept"]), default=0),
    ],
    "added": lambda truth, a: [recomputed(a["maps"], a["kept"]) - _waiting(a), _waiting(a)],
}
_COMPOSED_TRAPS: dict[str, Slip] = {
    "both_sides": lambda truth, a: [_with_next(a), truth[1]],
    "nothing_on_host": lambda truth, a: [truth[0], 0],
    "all_on_host": lambda truth, a: [truth[0], sum(a["maps"])],
    "no_checkpoint_alone": lambda truth, a: [_segments_with_front(a), truth[1]],
}


def _segments_with_front(a: Arguments) -> int:
    """As the truth, but the last checkpoint is never counted."""
    *parts, (last, _) = _parts(a)
    return max([last, *(segment + front for segment, front in parts)])


@task("11.composed", _draw_composed, slips=_COMPOSED_SLIPS, traps=_COMPOSED_TRAPS,
      edge=lambda a: not a["kept"])  # fmt: skip
def composed(maps: list[int], kept: list[int]) -> list[int]:
    """Most bytes of feature maps on the device in backward, and bytes on the host."""
    return _composed(tuple(maps), tuple(kept))


# -- exercise: the cheapest pair ----------------------------------------------------------------

PLANS = (("resnet50", 256), ("resnet18", 128), ("gpt_small", 32), ("googlenet", 128))
"""Networks and batches whose pairs are planned."""
OFFERED = (
    applied("precision", "mixed fp16"),
    applied("eight_bit_states"),
    applied("recompute", "every", k=1),
    applied("recompute", "cheap"),
    applied("offload", "all"),
    applied("in_place"),
    applied("accumulate", 2),
)
"""Techniques that pairs are made of."""
Pair = tuple[int, int]


@cache
def _planned_pair(network: str, batch: int, uses: frozenset[Applied]) -> tuple[int, int] | None:
    """Bytes at the peak and nanoseconds of a step under one or two techniques; None where memlab
    refuses them."""
    step = training_step(zoo.build(network), "momentum")
    parts = next((use.args[0] for use in uses if use.name == "accumulate"), 1)
    try:
        for use in ordered(uses):
            step = use(step)
    except InputError:
        return None
    samples = batch // parts
    return plan(step).peak(samples), round(1e9 * clock(step, samples, MACHINE).seconds)


def _table(network: str, batch: int, uses: Sequence[Applied]) -> dict[str, list[list[int | None]]]:
    """Tables of bytes and of nanoseconds: a row and a column for each technique."""
    cells = [
        [_planned_pair(network, batch, frozenset((one, other))) for other in uses] for one in uses
    ]
    return {
        name: [[cell and cell[place] for cell in row] for row in cells]
        for place, name in enumerate(("peak", "time"))
    }


def pairs(a: Arguments) -> list[Pair]:
    """All pairs of two techniques that memlab does not refuse."""
    every = combinations(range(len(a["peak"])), 2)
    return [(i, j) for i, j in every if a["peak"][i][j] is not None]


def fitting(a: Arguments) -> list[Pair]:
    """Pairs whose step fits the budget."""
    return [(i, j) for i, j in pairs(a) if a["peak"][i][j] <= a["budget"]]


def drawn(chance: Random, count: int) -> Arguments:
    """Draw a network, ``count`` techniques and a budget that a pair of them meets."""
    network, batch = chance.choice(PLANS)
    a: Arguments = dict(_table(network, batch, chance.sample(OFFERED, count)))
    bytes_of_pairs = sorted(a["peak"][i][j] for i, j in pairs(a))
    least = chance.choice(bytes_of_pairs)
    return a | {"budget": least + chance.choice((0, chance.randrange(least // 10)))}


def _least_time(a: Arguments, among: Sequence[Pair]) -> int:
    return int(min((a["time"][i][j] for i, j in among), default=0))


def _chosen(choose: Callable[[Arguments], Pair]) -> Slip:
    """Slip with the time of another pair."""

    def slip(truth: Any, a: Arguments) -> int:
        i, j = choose(a)
        return int(a["time"][i][j])

    return slip


def _alone(a: Arguments, table: str, pair: Pair) -> int:
    """Sum of what a table says of each of two techniques alone."""
    return sum(int(a[table][number][number]) for number in pair)


def _alone_that_fit(a: Arguments) -> list[Pair]:
    """Techniques but the first that fit alone, each as a pair with itself."""
    return [(n, n) for n in range(1, len(a["peak"])) if a["peak"][n][n] <= a["budget"]]


_PAIR_SLIPS: dict[str, Slip] = {
    "fewest_bytes": _chosen(lambda a: min(fitting(a), key=lambda p: a["peak"][p[0]][p[1]])),
    "added_time": _chosen(lambda a: min(fitting(a), key=lambda p: _alone(a, "time", p))),
    "first_that_fits": _chosen(lambda a: fitting(a)[0]),
    "nearest": _chosen(lambda a: max(fitting(a), key=lambda p: a["peak"][p[0]][p[1]])),
}
_PAIR_TRAPS: dict[str, Slip] = {
    "below": lambda truth, a: _least_time(
        a, [(i, j) for i, j in pairs(a) if a["peak"][i][j] < a["budget"]]
    ),
    "one_alone": lambda truth, a: _least_time(a, [*fitting(a), *_alone_that_fit(a)]),
    "last_that_fits": _chosen(lambda a: fitting(a)[-1]),
    "bytes_alone": _chosen(lambda a: min(fitting(a), key=lambda p: _alone(a, "peak", p))),
    "bytes_times_time": _chosen(
        lambda a: min(fitting(a), key=lambda p: a["peak"][p[0]][p[1]] * a["time"][p[0]][p[1]])
    ),
}


def _score(given: Any, a: Arguments) -> int:
    """Nanoseconds of the step under a pair of techniques.

    Raises:
        InputError: the value is no pair, one that memlab refuses, or one that does not fit.
    """
    last, numbers = len(a["peak"]) - 1, returned_values.read(given)
    chosen = set() if numbers is None else {*numbers.flat}
    if numbers is None or numbers.shape != (2,) or len(chosen & {*range(last + 1)}) != 2:
        raise InputError(f"A pair is two numbers from 0 to {last}, got {shorten(given)}.")
    i, j = sorted(map(int, chosen))
    if (nbytes := a["peak"][i][j]) is None:
        raise InputError(f"memlab refuses {i} and {j} together: peak[{i}][{j}] is None.")
    if nbytes > a["budget"]:
        raise InputError(
            f"{i} and {j} together need {nbytes:,} B, and the budget is {a['budget']:,} B."
        )
    return int(a["time"][i][j])


@task("11.cheapest_pair", lambda chance, size: drawn(chance, min(3 + size // 4, len(OFFERED))),
      slips=_PAIR_SLIPS, traps=_PAIR_TRAPS, score=_score, timed=True, seconds=6,
      edge=lambda a: len(fitting(a)) == 1)  # fmt: skip
def cheapest_pair(peak: list[list[int | None]], time: list[list[int | None]], budget: int) -> int:
    """Nanoseconds of the fastest step that fits under two techniques."""
    a: Arguments = {"peak": peak, "time": time, "budget": budget}
    return _least_time(a, fitting(a))

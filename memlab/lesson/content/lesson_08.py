"""Lesson 08, recompute: maps kept and made again, one more forward, half the saving, few slots."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from random import Random

from memlab.lesson import chains
from memlab.lesson.chains import ALIKE, BATCH
from memlab.lesson.content.tools import measured, planned
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.planner import clock, slots
from memlab.planner.book import plan
from memlab.planner.chains import frontier
from memlab.step.build import training_step
from memlab.techniques.cuts import cuts
from memlab.techniques.recompute import recompute

# -- keep every k-th map ------------------------------------------------------------------------

_SHAPES = ((48, 4), (60, 4), (64, 4), (80, 5), (90, 5), (60, 12), (96, 16), (100, 20))


def _draw_kept(chance: Random) -> Numbers:
    layers, k = chance.choice(_SHAPES)
    return {"layers": layers, "k": k}


def _kept_causes(layers: int, k: int) -> list[Cause]:
    stored = layers // k
    return [
        Cause("all_maps", Fraction((layers + 1) * ALIKE)),
        Cause("stored_alone", Fraction(stored * ALIKE)),
        Cause("segment_alone", Fraction(k * ALIKE), {"k": k}),
        Cause("no_input", Fraction((stored + k - 1) * ALIKE)),
    ]


@topic("08.kept", Kind.AMOUNT, {"layers": 100, "k": 4}, _draw_kept,
       words=lambda n: {**n, "all": n["layers"] + 1})  # fmt: skip
def kept(n: Numbers) -> Truth:
    """Bytes of maps and input where every k-th map is kept, planned and measured (E1)."""
    from memlab.runtime.run import run

    step = recompute(training_step(chains.alike(n["layers"]), "sgd"), "every", k=n["k"])
    due = chains.held(plan(step), source=True)
    seen = chains.held(run(step, BATCH).measured, source=True)
    causes = distinct(due, _kept_causes(n["layers"], n["k"]))
    told: dict[str, object] = {
        "stored": n["layers"] // n["k"], "all": n["layers"] + 1, "count": due // ALIKE, "k": n["k"],
    }  # fmt: skip
    return Truth(Fraction(due), (planned(due), measured(seen)), tuple(causes), told)


# -- one more forward ---------------------------------------------------------------------------

_LONGER = ("0.25", "0.33", "0.50", "0.67", "0.75", "1.00", "1.10", "1.20", "1.25", "1.33", "1.40",
           "1.50", "1.67", "1.75", "2.00", "2.50", "3.00", "4.00")  # fmt: skip


def _draw_longer(chance: Random) -> Numbers:
    return {"backward": chance.choice((1, 2, 3)), "again": chance.choice((1, 2, 3))}


def _longer_causes(backward: int, again: int) -> list[Cause]:
    return [
        Cause("forward_alone", Fraction(1 + again)),
        Cause("added_alone", Fraction(again, 1 + backward)),
        Cause("of_backward", 1 + Fraction(again, backward)),
        Cause("no_longer", Fraction(1)),
    ]


@topic("08.longer", Kind.TIMES, {"backward": 2, "again": 1}, _draw_longer, stops=_LONGER,
       decimals=2)  # fmt: skip
def longer(n: Numbers) -> Truth:
    """How many times as long a step takes that runs forward again (E1)."""
    backward, again = n["backward"], n["again"]
    due = Fraction(1 + backward + again, 1 + backward)
    told: dict[str, object] = {"plain": 1 + backward, "all": 1 + backward + again}
    causes = distinct(due, _longer_causes(backward, again))
    return Truth(due, (planned(due),), tuple(causes), told)


# -- half of the saving -------------------------------------------------------------------------

_CHAINS = ("resnet18", "resnet34", "resnet50", "googlenet", "vgg16")


def _draw_half(chance: Random) -> Numbers:
    return {"network": chance.choice(_CHAINS), "batch": chance.choice((8, 16, 32))}


def _network(name: str) -> Network:
    """ResNets as v1.5, as in the lesson."""
    return zoo.build(name, variant="v1.5" if name.startswith("resnet") else None)


@cache
def extra(network: str, batch: int) -> tuple[Fraction, Fraction]:
    """The time that the chain of the least peak takes more than the plain step, and that of half
    the saving, as shares of the plain one by the clock (E6)."""
    step = training_step(_network(network), "momentum")
    found = cuts(step).chain(batch)
    points = frontier(found)
    (least, most), (plain, cost) = points[0], points[-1]
    half = min(spent for nbytes, spent in points if 2 * nbytes <= least + plain)
    whole = round(1e9 * clock.total(step, batch))
    return Fraction(most - cost, whole), Fraction(half - cost, whole)


def _part(whole: Fraction, half: Fraction) -> str:
    """Half of the time to a tenth of it, less, more or all of it."""
    if half == whole:
        return "all"
    part = half / whole
    return "less" if part < Fraction(9, 20) else "half" if part <= Fraction(11, 20) else "more"


@topic("08.half", Kind.CHOICE, {"network": "resnet50", "batch": 32}, _draw_half,
       options=("all", "more", "half", "less"),
       words=lambda n: {**n, "label": _network(n["network"]).label})  # fmt: skip
def half(n: Numbers) -> Truth:
    """The part of the extra time that half of the saving takes, on the chain's frontier (E6)."""
    found = extra(n["network"], n["batch"])
    whole, less = (f"{float(100 * share):.1f}" for share in found)
    return Truth(_part(*found), seen={"whole": whole, "part": less})


# -- few slots ----------------------------------------------------------------------------------

_RUNS = (*(f"{tenths / 10:.1f}" for tenths in range(10, 50)), "5.0", "10.0", "20.0", "50.0",
         "100.0", "250.5", "500.5", "1000.5")  # fmt: skip


def _draw_runs(chance: Random) -> Numbers:
    return {
        "steps": chance.choice((400, 500, 1000, 2000)),
        "slots": chance.choice((10, 20, 25, 40, 50)),
    }


def _runs_causes(steps: int, count: int, forwards: int) -> list[Cause]:
    return [
        Cause("as_saved", Fraction(steps, count), {"slots": count}),
        Cause("one_slot", Fraction(steps + 1, 2)),
        Cause("step_time", Fraction(forwards + 2 * steps, 3 * steps)),
        Cause("once", Fraction(1)),
    ]


@topic("08.runs", Kind.TIMES, {"steps": 1000, "slots": 50}, _draw_runs, stops=_RUNS, decimals=1)
def runs(n: Numbers) -> Truth:
    """Forward runs of a step of a long chain on average: by the recurrence, and counted in the
    schedule (A11, E2)."""
    steps, count = n["steps"], n["slots"]
    forwards = slots.internal_state(steps, count)
    counted = sum(run > 0 for run in slots.internal_schedule(steps, count))
    causes = distinct(Fraction(forwards, steps), _runs_causes(steps, count, forwards))
    extra_time = slots.extra_time(steps, forwards)
    told: dict[str, object] = {"forwards": f"{forwards:,}", "percent": f"{100 * extra_time:.1f}"}
    due = Fraction(forwards, steps)
    return Truth(due, (planned(Fraction(counted, steps)),), tuple(causes), told)

"""Functions for the expressions on an instructor page: figures of plans, of cards, of claims."""

import itertools
import math
from functools import cache

import memlab
from memlab import claims, counting, units, zoo
from memlab.lesson.card_question import topics
from memlab.lesson.content.lesson_01 import convolutions
from memlab.lesson.misconceptions import NEAR, judge
from memlab.lesson.typed_guess import Guess
from memlab.measure import lecture_layer
from memlab.measure.recorded_figures import load
from tests.lessons import numerals

UNIT = 10**8
"""Bytes for each sign of a bar on the board."""


@cache
def plan(network, optimizer="momentum", format="fp32"):
    """The planned training step of a network of the zoo."""
    return memlab.plan(memlab.training_step(zoo.build(network), optimizer, format))


def at_peak(network, batch, optimizer="momentum"):
    """The floor and the mountain of the operation at the peak, in bytes."""
    ledger = plan(network, optimizer)
    fixed, each = ledger.line()
    index = ledger.peak_at(batch).index
    return int(fixed[index]), batch * int(each[index])


def case_part(label):
    """The bytes of one part of the case, if nothing is freed."""
    parts = memlab.views.graphics_cards("resnet50", 256).rows.parts
    return next(nbytes for part, nbytes in parts.items() if part.label == label)


def floor(*chosen):
    return at_peak(*chosen)[0]


def mountain(*chosen):
    return at_peak(*chosen)[1]


def inside(network, batch, operation, optimizer):
    """The bytes that are alive inside one operation."""
    ledger = plan(network, optimizer)
    names = [row.name for row in ledger.rows]
    return int(ledger.timeline(batch)[names.index(operation)])


def block(network, name, batch, *chosen):
    """The bytes of one block of a step."""
    entries = plan(network, *chosen).entries
    return next(entry for entry in entries if entry.name == name).size.at(batch)


def passes(network, optimizer):
    """The first batch at which the mountain is larger than the floor."""
    parts = (at_peak(network, batch, optimizer) for batch in itertools.count(1))
    return next(batch for batch, (low, high) in enumerate(parts, 1) if high > low)


def trained(depth, optimizer="sgd"):
    """The planned training step of so many convolutions, as in lesson 01."""
    return memlab.plan(memlab.training_step(convolutions(depth), optimizer))


def predicted(batch):
    """The peak of a prediction with 4 convolutions, without the workspace, in bytes."""
    step = memlab.inference_step(convolutions(4))
    return memlab.plan(step).peak(batch, workspace=False)


def claim(name):
    """One published figure."""
    return next(row for row in claims.find(name) if row.id == name)


def kept(network, batch, *kinds):
    """The outputs of the layers of some kinds that are alive at the peak, in bytes."""
    names = {node.name for node in zoo.build(network).nodes if node.kind in kinds}
    ledger = plan(network)
    alive = ledger.alive(ledger.peak_at(batch).index)
    return sum(entry.size.at(batch) for entry in alive if entry.name in names)


def counted(network, batch):
    """Bytes counted by the text of A5: outputs of convolutions and sums."""
    return 4 * batch * counting.find("conv-sums").values(zoo.build(network))


def recorded(name):
    """The seconds of a way to convolve, as `memlab bench lowering` recorded them."""
    return load(lecture_layer.FILE).line(name).value


@cache
def revealed(name):
    return topics()[name].truth(topics()[name].first)


def seen(name, key):
    """A number of bytes that a card tells with its answer."""
    return units.parse(revealed(name).seen[key])


def cause(name, mistake):
    return next(cause.value for cause in revealed(name).causes if cause.name == mistake)


def close(name, guess):
    """True if a card takes a guess as right, and calls it close."""
    topic, truth = topics()[name], revealed(name)
    read = topic.read(guess)
    assert isinstance(read, Guess)
    judged = judge(read, truth.value, truth.causes, topic.rule)
    return judged.close and judged.right


NAMES = numerals.NAMES | {
    "math": math,
    "convolutions": convolutions,
    "plan": plan,
    "floor": floor,
    "mountain": mountain,
    "inside": inside,
    "kept": kept,
    "block": block,
    "passes": passes,
    "case_part": case_part,
    "revealed": revealed,
    "trained": trained,
    "predicted": predicted,
    "claim": claim,
    "close": close,
    "NEAR": NEAR,
    "counted": counted,
    "recorded": recorded,
    "asked": lambda name: topics()[name].first,
    "truth": lambda name: revealed(name).value,
    "cause": cause,
    "seen": seen,
    "single": plan("linear1", "sgd", "fp64"),
    "UNIT": UNIT,
}

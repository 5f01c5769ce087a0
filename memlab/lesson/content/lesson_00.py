"""Lesson 00, start: the case of the course, the peak when the batch doubles, and the images that
fit a card."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from memlab import units
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Truth, topic
from memlab.lesson.content.shared_truths import peak_of, planned, step_of, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.misconceptions import Mistake, distinct_causes
from memlab.networks import zoo
from memlab.step.tensor import Role
from memlab.techniques.no_reuse import no_reuse

# -- the case of the course ---------------------------------------------------------------------

_CASE = {"network": "resnet50", "batch": 256, "card": 12}
_OTHERS = (("vgg11", 256), ("vgg16", 128), ("resnet34", 256), ("googlenet_bn", 256),
           ("resnet101", 128), ("resnet50", 128))  # fmt: skip
"""Steps that need 2 to 5 cards of 12 GB if nothing is freed."""
_IMAGES = (Role.INPUT, Role.FEATURE_MAP, Role.GRADIENT_MAP)


def _draw_case(chance: Random) -> Numbers:
    name, batch = chance.choice(_OTHERS)
    return {**_CASE, "network": name, "batch": batch}


@topic("00.case", AnswerKind.AMOUNT, _CASE, _draw_case, words=with_label,
       gives=("6 cards", "six cards"))  # fmt: skip
def case(n: Numbers) -> Truth:
    """Answer of 00.case: the peak of a training step in which nothing is freed (D1)."""
    net, batch = zoo.build(n["network"]), n["batch"]
    ledger, card = plan(no_reuse(step_of(net))), n["card"] * units.DECIMAL["GB"]
    at = ledger.peak_at(batch)
    roles = ledger.roles(batch, at.index)
    maps = roles[Role.FEATURE_MAP] + roles[Role.GRADIENT_MAP]
    causes = [
        Mistake("one_card", Fraction(card)),
        Mistake("freed", Fraction(peak_of(net, batch))),
        Mistake("forward_alone", Fraction(at.nbytes - roles[Role.GRADIENT_MAP])),
        Mistake("no_images", Fraction(at.nbytes - sum(roles[role] for role in _IMAGES))),
        Mistake("images_alone", Fraction(roles[Role.INPUT])),
    ]
    seen = {"cards": f"{at.nbytes / card:.1f}", "share": f"{100 * maps / at.nbytes:.0f}"}
    return Truth(Fraction(at.nbytes), (planned(at.nbytes),),
                 tuple(distinct_causes(at.nbytes, causes)), seen)  # fmt: skip


# -- twice the batch ----------------------------------------------------------------------------

_DOUBLE = {"network": "alexnet", "optimizer": "sgd", "batch": 64}


_HALF = Fraction(3, 2)
"""Factor between the two answers of a peak that does not double."""
_DOUBLED = (("vgg11", 4), ("vgg11", 8), ("vgg16", 4), ("vgg16", 8), ("vgg16", 64),
            ("resnet18", 16), ("resnet18", 32), ("resnet34", 16))  # fmt: skip
"""Steps of which one half is mostly floor and the other mostly mountain."""


def _draw_double(chance: Random) -> Numbers:
    name, batch = chance.choice(_DOUBLED)
    return {**_DOUBLE, "network": name, "batch": batch}


def _double_words(n: Numbers) -> Numbers:
    parameters = f"{zoo.build(n['network']).parameters / 10**6:.1f}"
    return {**with_label(n), "twice": 2 * n["batch"], "parameters": parameters}


_GROWTH = ("same", "little", "less", "double", "more")


@topic("00.double", AnswerKind.CHOICE, _DOUBLE, _draw_double, options=_GROWTH, words=_double_words,
       gives=("floor", "mountain"), shows=({"what": "alexnet", "batch": 128},))  # fmt: skip
def double(n: Numbers) -> Truth:
    """Answer of 00.double: the peak at twice the batch, compared with that at the batch (A12)."""
    net = zoo.build(n["network"])
    small, large = (peak_of(net, batch, n["optimizer"]) for batch in (n["batch"], 2 * n["batch"]))
    figures = (
        planned(small, f"batch {n['batch']}"),
        planned(large, f"batch {2 * n['batch']}"),
    )
    over = (large > small, large > _HALF * small, large >= 2 * small, large > 2 * small)
    name = _GROWTH[sum(over)]
    return Truth(name, figures, seen={"ratio": f"{large / small:.2f}"})


# -- exercise: how many images fit --------------------------------------------------------------

GB = units.DECIMAL["GB"]


def _draw_card(chance: Random, size: int) -> Arguments:
    """Draw a card with the bytes of a step. In many cases some number of images fills the card to
    the last byte, or lacks one byte; in some, the fixed bytes fill it or are more than it has."""
    card = chance.randint(1, 2 * size)
    each = chance.randint(1, 4 * size) * 10 ** chance.choice((6, 7, 8))
    fixed = chance.randint(0, card * GB)
    full = (card * GB - fixed) % each
    fixed += chance.choice((0, full, full + 1))
    over = card * GB + chance.choice((0, 1, each, chance.randint(1, GB)))
    return {"card": card, "fixed": chance.choice((fixed, fixed, fixed, over)), "each": each}


def _left(arguments: Arguments, unit: str = "GB") -> int:
    """Bytes of the card beside the fixed ones; the card has its memory in ``unit``."""
    return int(arguments["card"] * units.UNITS[unit] - arguments["fixed"])


def _at_least_0(slip: Slip) -> Slip:
    """Slip with the numbers below 0 replaced by 0."""
    return lambda truth, a: max(0, slip(truth, a))


_BELOW: dict[str, Slip] = {
    "gib": lambda truth, a: _left(a, "GiB") // a["each"],
    "strict": lambda truth, a: (_left(a) - 1) // a["each"],
    "one_more": lambda truth, a: _left(a) // a["each"] + 1,
    "not_whole": lambda truth, a: _left(a) / a["each"],
}
_FIT_SLIPS: dict[str, Slip] = {
    "below": lambda truth, a: _left(a) // a["each"],
    "no_fixed": lambda truth, a: a["card"] * GB // a["each"],
    "in_gb": lambda truth, a: _left(a, "B") // a["each"],
    "in_gb.0": lambda truth, a: 0,
    "summed": lambda truth, a: a["card"] * GB // (a["fixed"] + a["each"]),
    "one_more.0": lambda truth, a: truth + 1,
    "one_more.up": lambda truth, a: max(0, -(-_left(a) // a["each"])),
    "one_more.round": lambda truth, a: max(0, round(_left(a) / a["each"])),
    **_BELOW,
    **{f"{name}.0": _at_least_0(slip) for name, slip in _BELOW.items() if name != "one_more"},
}


_FIT_TRAPS: dict[str, Slip] = {"one_byte": lambda truth, a: max(0, (_left(a) + 1) // a["each"])}


@task("00.images_that_fit", _draw_card, slips=_FIT_SLIPS, traps=_FIT_TRAPS,
      edge=lambda a: _left(a) < 0)  # fmt: skip
def images_that_fit(card: int, fixed: int, each: int) -> int:
    """Return the most images that fit a card of ``card`` GB."""
    return max(0, (units.parse(f"{card} GB") - fixed) // each)

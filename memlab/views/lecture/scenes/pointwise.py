"""Scene 7: under 1 x 1 the matrix is the input, so nothing is made; and how often that is so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from memlab.networks.graph import Network
from memlab.views.copies import windows
from memlab.views.lecture import facts
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import LEFT, RIGHT, Sheet, U, say, slot
from memlab.views.svg import Box

TOP, TALL = 556, 44


def make() -> Scene:
    """One copy, then none, then a whole network."""
    sheet, lowered = Sheet(steps=3), windows.lower(1)
    with sheet.step(0, 0):
        sheet.title("pointwise.title")
        sheet.hero(f"{len(lowered.copies)} ×", "copies.input")
        sheet.use("picture", *slot(4))
        sheet.square(*slot(4), U, class_="edge")
    sheet.input()
    with sheet.step(1):
        sheet.title("pointwise.found")
        sheet.hero(facts.amount(facts.lowered(facts.layer(1))), "pointwise.used")
        sheet.label(slot(4)[0], slot(4)[1] - 16, "pointwise.none")
        sheet.use("ghost", *slot(4))
    with sheet.step(2):
        counts = _strip(sheet, facts.pointwise_network())
    other = facts.pointwise_network("v1")
    others = len(facts.by_copy(facts.convolutions(other))[0])
    twins = [say("pointwise.twin"), say("pointwise.twin_none"), say("pointwise.twin_net", **counts)]
    return Scene(
        "pointwise",
        sheet,
        twins,
        say("pointwise.notes", other=other.label, others=others, **counts),
    )


def _strip(sheet: Sheet, network: Network) -> dict[str, Any]:
    nodes = facts.convolutions(network)
    none, part, whole = facts.by_copy(nodes)
    ratio = facts.factor(part[0])
    counts: dict[str, Any] = {
        "all": len(nodes), "none": len(none), "parts": len(part), "whole": len(whole),
        "part": facts.part(ratio), "pointwise": len(none) + len(part),
        "stride": facts.conv(part[0]).stride, "network": network.label,
    }  # fmt: skip
    sheet.say(LEFT, 534, "pointwise.net", 30, **counts)
    pitch = (RIGHT - LEFT) / len(nodes)
    for index, node in enumerate(nodes):
        _box(sheet, LEFT + index * pitch, TOP, TALL, min(facts.factor(node), Fraction(1)))
    for x, filled, key in (
        (LEFT, Fraction(0), "pointwise.zero"),
        (460, ratio, "pointwise.quarter"),
        (880, Fraction(1), "pointwise.more"),
    ):
        _box(sheet, x, 632, 32, filled)
        sheet.say(x + 34, 659, key, 30, **counts)
    return counts


def _box(sheet: Sheet, x: float, y: float, tall: float, filled: Fraction) -> None:
    """A convolution: filled as far as its copy reaches."""
    wide = 16
    if filled:
        level = y + tall * (1 - float(filled))
        sheet.rect(Box(x, level, x + wide, y + tall), class_="on")
    if filled < 1:
        sheet.rect(Box(x + 1, y + 1, x + wide - 1, y + tall - 1), class_="hollow")

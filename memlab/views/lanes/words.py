"""The sentences about vector lanes, for the picture and for its text."""

from __future__ import annotations

from memlab import strings
from memlab.bench.curves import Curve, Measured, ratios
from memlab.views.speed.words import ratio

WARP_BITS, WARP_LANES = 32, 32
"""Bits of a value, and threads, of a GPU warp."""


def say(key: str, **values: object) -> str:
    """A text of these views."""
    return strings.get(f"lanes.{key}", **values)


def reference(found: Measured) -> Curve:
    """The format whose lanes the marks count: fp32 where it was measured, else the first."""
    named = {each.format: each for each in found.curves}
    return named.get("fp32", found.curves[0])


def title(found: Measured) -> str:
    """What was measured, and on what."""
    points = [point.lanes for curve in found.curves for point in curve.points]
    values = {"least": min(points), "most": max(points), "processor": found.machine.processor}
    return say("title_forced", **values, target=found.target) if found.target else say(
        "title", **values
    )  # fmt: skip


def headline(found: Measured) -> list[str]:
    """Which width was found, and how; what the registers hold, and how that is known."""
    one = reference(found)
    return [measured(one), *fall(one), f"{registers(found, one)} {_against(found, one)}"]


def measured(curve: Curve) -> str:
    """The width of one format by its own curve."""
    values = {
        "format": curve.format,
        "lanes": curve.knee.lanes,
        "bits": curve.width,
        "deviation": percent(curve.deviation),
    }
    if curve.ends:
        return say("measured", **values, beyond=_beyond(curve))
    return say("unbroken", **values)


def _beyond(curve: Curve) -> str:
    """What wider loops gain."""
    return say("more", gain=percent(curve.gain)) if curve.gain else say("no_more")


def fall(curve: Curve) -> list[str]:
    """How deep the slowest loop beyond the knee falls, where one does."""
    if not curve.falls:
        return []
    knee = curve.knee
    low = min(
        (each for each in curve.points if each.lanes > knee.lanes), key=lambda each: each.rate
    )
    part = ratio(low.rate / knee.rate)
    return [say("fall", format=curve.format, lanes=low.lanes, part=part, ring=knee.lanes)]


def registers(found: Measured, curve: Curve) -> str:
    """The width by the processor's features, or by those of the target that was forced."""
    lanes = found.bits // curve.bits
    key = "registers_forced" if found.target else "registers" if found.feature else None
    values = {"bits": found.bits, "lanes": lanes, "format": curve.format}
    return say(key or "registers_plain", **values, feature=found.feature)


def _against(found: Measured, curve: Curve) -> str:
    """The two widths side by side."""
    if not curve.ends or curve.width == found.bits:
        return say("agree") if curve.ends else ""
    if curve.width < found.bits:
        count = found.bits // curve.width
        return say("parts", bits=found.bits, count=count, part=curve.width)
    return say("wider", count=curve.width // found.bits)


def details(found: Measured) -> list[str]:
    """The other formats, and what the compiler does by itself."""
    one = reference(found)
    others = [each for each in found.curves if each is not one]
    lines = [" ".join([measured(each), *fall(each)]) for each in others]
    if len(found.curves) > 1:
        values = ratios(found)
        listed = " : ".join(ratio(value) for value in values.values())
        lines.append(say("ratios", formats=" : ".join(values), ratios=listed))
    if any(each.falls for each in found.curves):
        lines.append(say("falls", registers=found.registers))
    return [*lines, _chosen(found)]


def _chosen(found: Measured) -> str:
    if not found.chosen_bits:
        return say("chosen_none")
    counts = [say("register_count", kind=kind, count=count) for kind, count in found.chosen.items()]
    return say("chosen", bits=found.chosen_bits, counts=", ".join(counts))


def notes(found: Measured) -> list[str]:
    """How the figures were taken, where and when, and what is missing."""
    count = len(found.curves[0].points[0].samples)
    lines = [say("missing", formats=", ".join(found.missing))] if found.missing else []
    lines.append(say("samples", count=count, clock=say(found.clock)))
    return [*lines, say("where", machine=found.machine)]


def marks(found: Measured) -> list[tuple[int, str]]:
    """Lanes of the reference that are marked, each with its label, from few to many."""
    one, feature = reference(found), found.feature or say("mark.unnamed")
    if found.target:
        feature = say("mark.forced", feature=feature)
    width = found.bits // one.bits
    values = {"bits": found.bits, "lanes": width, "format": one.format, "feature": feature}
    if one.ends and one.width == found.bits:
        lines = [(width, say("mark.both", **values))]
    else:
        lines = [(width, say("mark.registers", **values))]
        if one.ends:
            knee = {"bits": one.width, "lanes": one.knee.lanes, "format": one.format}
            lines.append((one.knee.lanes, say("mark.measured", **knee)))
    if one.bits == WARP_BITS:
        lines.append((WARP_LANES, say("mark.warp", lanes=WARP_LANES, format=one.format)))
    return sorted(lines)


def billions(rate: float) -> str:
    """Three digits: ``'57.0'``."""
    return ratio(rate / 1e9)


def at(curve: Curve) -> str:
    """Where a curve bends: ``'57.0 at 4 lanes, 128 bits'``."""
    knee = curve.knee
    return say("at", number=billions(knee.rate), lanes=knee.lanes, bits=curve.width)


def percent(part: float) -> str:
    """``'1.5 %'``."""
    return f"{100 * part:.1f} %"

"""The sentences about techniques side by side, for the picture and for its text."""

from __future__ import annotations

from memlab import strings, units
from memlab.planner import clock
from memlab.views.speed.words import duration
from memlab.views.techniques.measure import Measured
from memlab.views.techniques.rows import BEST, Row, Rows


def say(key: str, **values: object) -> str:
    """A text of this view."""
    return strings.get(f"techniques.{key}", **values)


def title(found: Rows) -> str:
    """``'ResNet-50 v1, batch 8: techniques for one step, bytes against time'``."""
    return say("title", network=found.network, batch=f"{found.batch:,}")


def headline(found: Rows) -> str:
    """Which technique takes the least bytes, and what it costs."""
    row = found.least
    ratios = {key: ratio(found.ratio(row, key)) for key in ("plain", "no_reuse")}
    values = {"name": name(row, found), "peak": units.short(row.peak)}
    return say("least", **values, **ratios, extra=percent(found.extra(row)))


def name(row: Row, found: Rows) -> str:
    """``'chain, 697 MB'``."""
    budget = "" if found.budget is None else units.short(found.budget)
    return say(f"name.{row.key}", budget=budget)


def point(row: Row, found: Rows) -> list[tuple[str, bool]]:
    """A name and its figures beside a point; True for bold."""
    more = f", {percent(found.extra(row))}" if row.again else ""
    return [(name(row, found), True), (f" {units.short(row.peak)}{more}", False)]


def ratio(value: float) -> str:
    """``'0.552'``."""
    return f"{value:,.3f}"


def percent(value: float) -> str:
    """``'+20.2 %'``, ``'−3.1 %'``, ``'+0.0 %'``."""
    return f"{'−' if value < -0.05 else '+'}{abs(value):,.1f} %"


def seconds(cost: int) -> str:
    """Nanoseconds as seconds: ``'2.592430455'``."""
    return f"{cost / 10**9:,.9f}"


def distance(row: Row, found: Rows) -> str:
    """How far a row is from what is proved: the optimum where it is known, else a lower bound."""
    placement = row.placement
    if placement is not None:
        if placement.how == "exact" or not placement.waste:
            return say("distance.proved")
        return say("distance.arena", bytes=units.short(placement.waste))
    if row.key in (*BEST, "exact"):
        return say("distance.exact" if row.key == "exact" else "distance.optimum")
    if row.optimum is not None:
        later = found.extra(row) - found.percent(row.optimum.cost)
        key = "alike" if abs(later) < 0.05 else "more" if later > 0 else "less"
        return say(f"distance.{key}", time=percent(abs(later)).removeprefix("+"))
    return say("distance.floor", ratio=f"{row.peak / found.floor.nbytes:,.2f}")


def measured(seen: Measured, slower: float | None) -> str:
    """What runs used, and whether the results are those of the plain step."""
    values = {
        "bytes": units.exact(seen.nbytes),
        "residual": units.exact(seen.residual),
        "time": duration(seen.seconds),
        "slower": percent(slower or 0.0),
    }
    return f"{say('measured', **values)}; {results(seen)}"


def results(seen: Measured) -> str:
    """Whether they are those of the plain step."""
    if not seen.other:
        return say("alike")
    return say("unlike", names=", ".join(say(f"result.{each}") for each in seen.other))


def notes(found: Rows) -> list[str]:
    """What the line and the bound are, where the budget comes from, what is left out."""
    machine = clock.rates().machine
    numbers = {"stages": found.stages, "all": found.schedules, "operations": found.operations}
    lines = []
    if found.trades:
        key = "line" if len(found.trades) > 1 else "one"
        lines.append(say(f"note.{key}", count=len(found.trades), **numbers))
    lines.append(say("note.floor", operation=found.floor.operation))
    if found.budget is not None:
        key = "given" if found.given else "halfway"
        lines.append(say(f"note.{key}", budget=units.exact(found.budget)))
    lines += [say(f"note.{key}", **numbers) for key in found.left_out]
    lines.append(say("note.planned", machine=machine["processor"], date=machine["date"]))
    return [*lines, say("note.measured")] if found.measured else lines

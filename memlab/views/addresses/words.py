"""The sentences of the address map, for the picture and for its text."""

from __future__ import annotations

from memlab import strings
from memlab.views.addresses import scale
from memlab.views.addresses.packed import Overlap, Packed
from memlab.views.addresses.room import Room
from memlab.views.addresses.rows import Rows, Run
from memlab.views.addresses.scale import amount
from memlab.views.addresses.source import PUBLISHED
from memlab.views.addresses.state import State
from memlab.views.network import stack as network

NAMED = 2
"""Blocks, or overlaps, that are named; the others are counted."""


def say(key: str, /, **values: object) -> str:
    """A text of this view."""
    return strings.get(f"addresses.{key}", **values)


def how(name: str) -> str:
    """A placing as people say it."""
    return say(f"how.{name.replace(' ', '_')}")


def whole(nbytes: int, unit: str) -> str:
    """An amount in the unit of the axis: ``'2,585.4 MiB'``."""
    return f"{scale.plain(nbytes, unit)} {unit}"


def title(state: State) -> str:
    """What is shown: ``'ResNet-50 v1.5, batch 32, in place, best fit'``."""
    found = state.source
    placed = how(state.placement.how)
    if state.beside:
        placed = say("and", first=placed, second=how(state.beside))
    batch = "" if found.toy else strings.get("network.batch", batch=f"{state.batch:,}")
    inside = say("in_place") if state.in_place else ""
    return ", ".join(filter(None, [found.label, batch, inside, placed, state.stage]))


def headline(rows: Rows) -> list[tuple[str, bool]]:
    """The equation: arena, lower bound, waste; of two maps their two arenas."""
    if len(rows.maps) > 1:
        arenas = say("or", first=amount(rows.maps[0].arena), second=amount(rows.maps[1].arena))
        return [(say("another_order"), False), (f" {arenas}", True)]
    packed = rows.packed
    if packed.waste < 0:
        return [(say("too_small", arena=amount(packed.arena), missing=amount(-packed.waste)), True)]
    arena, (bound, waste), unit = scale.parts(packed.arena, packed.bound, packed.waste)
    values = {"bound": bound, "waste": waste, "unit": unit}
    return [(say("arena", arena=arena, unit=unit), True), (f"  {say('equation', **values)}", False)]


def sentences(rows: Rows) -> list[tuple[str, bool]]:
    """What is wrong first; then how much is alive at once, and what this placing saves."""
    packed, state = rows.packed, rows.state
    found = [(text, True) for text in faults(packed)]
    if state.scored:
        found.append((score(rows), True))
    elif state.moving:
        found.append((say("moving"), False))
    values = {
        "count": f"{len(packed.rows):,}",
        "total": amount(packed.total),
        "bound": amount(packed.bound),
        "index": f"{packed.busiest + 1:,}",
    }
    found += [(text, False) for text in (zoomed(rows), before(rows)) if text]
    found.append((say("together_toy" if packed.source.toy else "together", **values), False))
    if len(rows.maps) == 1 and not packed.overlaps:
        found.append((saved(packed), False))
    return [pair for pair in found if pair[0]]


def zoomed(rows: Rows) -> str:
    """Which stage is shown, and how much of all it is."""
    packed = rows.packed
    if not packed.stage:
        return ""
    born = [row for row in packed.rows if packed.born(row)]
    values = {"stage": packed.stage, "count": f"{len(born):,}", "all": f"{len(packed.rows):,}"}
    return say("zoomed", amount=amount(sum(row.size for row in born)), **values)


def before(rows: Rows) -> str:
    """How a network is counted, and what is there beside the arena."""
    source, arena = rows.source, rows.packed.arena
    there = source.before(rows.state.batch)
    if source.toy or not there:
        return ""
    key = "published" if source.name == PUBLISHED else "before"
    return say(key, before=amount(there), sum=amount(there + arena))


def room(found: Room) -> str:
    """The name of a budget at its line."""
    return network.budget_words(found.budget) if found.budget.live else say(
        "room", name=found.budget.name)  # fmt: skip


def verdict(found: Room, packed: Packed) -> str:
    """Whether the arena has room in a budget."""
    values = {"before": amount(found.before), "room": amount(found.nbytes), "name": room(found)}
    return say(f"verdict.{'fits' if packed.arena <= found.nbytes else 'refused'}", **values)


def cheap(packed: Packed) -> str:
    """How many blocks are cheap to make again; nothing where none is."""
    count, total = len(packed.cheap), sum(row.size for row in packed.cheap)
    return say("key.cheap", count=f"{count:,}", amount=amount(total)) if count else ""


def faults(packed: Packed) -> list[str]:
    """The blocks that live together and share bytes."""
    found = [_fault(fault) for fault in packed.overlaps[:NAMED]]
    more = len(packed.overlaps) - NAMED
    return [*found, say("more_faults", count=f"{more:,}")] if more > 0 else found


def _fault(fault: Overlap) -> str:
    """``'A and D both live at operation 5.'``"""
    names = {"first": fault.first.name, "second": fault.second.name}
    return say("fault", index=f"{fault.operation + 1:,}", **names)


def score(rows: Rows) -> str:
    """The learner's top beside the lower bound and the optimum."""
    packed = rows.packed
    best, proved = packed.source.best(rows.state.batch)
    values = {"top": amount(packed.arena), "bound": amount(packed.bound), "best": amount(best)}
    text = say("score" if proved else "score_known", **values)
    if packed.overlaps:
        return f"{text} {say('score_faulty')}"
    more = packed.arena - best
    if more > 0:
        return f"{text} {say('score_above', amount=amount(more))}"
    return f"{text} {say('score_best' if more == 0 else 'score_better')}"


def saved(packed: Packed) -> str:
    """What this placing saves against an address of its own for every block."""
    if packed.placement.how == "no reuse":
        return say("saved.own")
    if packed.arena >= packed.total:
        return say("saved.nothing")
    if not packed.waste:
        return say("saved.proved")
    return say("saved.some", amount=amount(packed.total - packed.arena), total=amount(packed.total))


def result(packed: Packed) -> str:
    """What a placing gives, in few words."""
    key = "faulty" if packed.overlaps else "waste" if packed.waste else "proved"
    return say(f"result.{key}", arena=amount(packed.arena), waste=amount(packed.waste))


def so_far(top: int) -> str:
    """The same while blocks are still to come."""
    return say("result.now", arena=amount(top))


# -- parts of a cut, and the key ----------------------------------------------------------------


def run(run: Run) -> str:
    """The name of a part of the cut."""
    return strings.get(run.name) if strings.has(run.name) else run.name


def others(runs: list[Run]) -> str:
    """The parts that have no line of their own."""
    blocks = sum(len(found.rows) for found in runs)
    return say("cut_others", count=f"{len(runs):,}", blocks=f"{blocks:,}")


def key(kind: str, packed: Packed, small: int) -> str:
    """What a filling means."""
    if kind == "small" and packed.stage:
        return say("key.others", count=f"{small:,}")
    if kind == "small":
        least = amount(-(-packed.arena // 200))
        return say("key.small", count=f"{small:,}", amount=least)
    if kind == "free":
        return say("key.free")
    if kind == "cheap":
        return cheap(packed)
    if kind in ("kept", "short"):
        return say(f"{'toy_kind' if packed.source.toy else 'key'}.{kind}")
    return strings.get(f"role.{kind}.one")

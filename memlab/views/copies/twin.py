"""The shifted copies in words, from the rows of the picture."""

from __future__ import annotations

from memlab import units
from memlab.views.copies import counts, words
from memlab.views.copies import layer as layers
from memlab.views.copies.rows import Rows
from memlab.views.copies.windows import LETTER, SIZE, kinds
from memlab.views.copies.words import say


def write(rows: Rows) -> str:
    """The twin of the picture: print it, read it aloud, put it on a page without Python."""
    parts = [_head(rows), _example(rows), _pin(rows), _counts(rows), _strip(rows), _run(rows)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(rows: Rows) -> list[str]:
    state = rows.state
    sizes = {"written": units.exact(rows.written), "total": units.exact(rows.total)}
    source = units.exact(rows.source)
    formula = layers.source_formula(rows.node, state.batch)
    lines = [
        f"{words.title(state)}.",
        step(rows),
        say("twin.bytes", input=source, **sizes),
        say("twin.input", formula=formula, input=source),
        words.formula(rows) or say("twin.none"),
    ]
    if rows.count:
        now, end = words.times(rows.now), words.times(rows.end)
        whole = rows.end == rows.factor
        key = "twin.equal" if whole else "twin.unequal"
        lines[2] += " " + say(
            key, now=now, end=end, factor=words.times(rows.factor), why=words.simple(rows)
        )
    lines.append(words.factor(rows, "twin.factor"))
    beyond = [f"{words.beyond(rows)}."] if words.beyond(rows) else []
    return lines + beyond + [text for text, _ in words.verdicts(rows)]


def step(rows: Rows) -> str:
    """What the last step wrote."""
    if not rows.count:
        return f"{words.found(rows)}."
    if rows.current is None:
        return say("twin.nothing", count=rows.count)
    (ky, kx), copy = rows.current, _last(rows)
    zeros = copy.count("0")
    return say("twin.step", number=rows.step, count=rows.count, ky=ky, kx=kx, zeros=zeros,
               values=len(copy) - zeros, shift=words.shift(rows, rows.step - 1))  # fmt: skip


def _last(rows: Rows) -> str:
    """The last copy, as far as it is kept: a character for each cell."""
    return kinds(rows.lowered.copies[rows.step - 1][: rows.kept * rows.lowered.places])


def _example(rows: Rows) -> list[str]:
    if not rows.count:
        return []
    lowered = rows.lowered
    cells = {
        "values": rows.values, "zeros": rows.zeros, "cells": rows.cells, "all": lowered.cells,
    }  # fmt: skip
    copies = say("twin.copy" if rows.step == 1 else "twin.copies", count=rows.step)
    why = words.why(rows)
    line = say(
        "twin.drawn", size=SIZE, copies=copies, why=f": {why}" if why else "",
        places=lowered.places, pixels=SIZE**2, now=words.times(rows.covered),
        **{name: f"{n:,}" for name, n in cells.items()},
    )  # fmt: skip
    tile = [text for text, _ in words.notes(rows)] if rows.tiled and not rows.pin else []
    return [line, *tile, *_beside(rows)]


def _beside(rows: Rows) -> list[str]:
    """Input and last copy, side by side in characters."""
    if not rows.step:
        return []
    places, found = rows.lowered.places, _last(rows)
    copy = [found[row * places : (row + 1) * places] for row in range(SIZE)]
    pairs = zip(LETTER, copy, strict=True)
    head = say("twin.beside", number=rows.step)
    return [head, *(f"  {one}   {other}".rstrip() for one, other in pairs)]


def _pin(rows: Rows) -> list[str]:
    return words.pinned(rows, rows.pin) if rows.pin and rows.count else []


def _counts(rows: Rows) -> list[str]:
    if not (rows.state.counts and rows.count):
        return []
    table = [rows.counts[row * SIZE : (row + 1) * SIZE] for row in range(SIZE)]
    lines = ["  " + " ".join(f"{count:2}" for count in row) for row in table]
    _, *sums = counts.sums(rows)
    return [f"{counts.title(rows)}:", *lines, *(f"{line}." for line in sums)]


def _strip(rows: Rows) -> list[str]:
    if not rows.pointwise:
        return []
    nodes = layers.convolutions(rows.state.network)
    none, part, whole = layers.by_copy(nodes)
    return [
        say("twin.strip", network=words.published(rows), all=len(nodes), none=len(none),
            parts=len(part), whole=len(whole))
    ]  # fmt: skip


def _run(rows: Rows) -> list[str]:
    done = words.done(rows.state)
    return [done] if done else []

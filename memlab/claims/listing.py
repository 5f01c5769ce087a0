"""The rows that ``memlab claims`` was asked for, as text: a line for each, or a paragraph where one
was asked for by its id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import TextWrapper

from memlab.claims import verdicts
from memlab.claims.table import SURE, Claim, OwnFigure, figures, find, of_text, table, text
from memlab.claims.verdicts import VERDICTS
from memlab.errors import InputError, known, shorten

NARROW, WIDE = 60, 120
"""Columns: no fewer and no more are used."""
ID, CLAIMED, OURS, VERDICT = 25, 13, 14, 21
INDENT = 12
LATER = "runs on request"
"""Stands for a verdict where something would have to be run."""
LEGEND = (
    "claimed: the figure as the text prints it. memlab: what comes out, in the same unit. "
    "sure: {sure}. A row's id shows its claim, its call and its note: memlab claims A4. "
    "What {later} does so with its id, or with --measure. Our own figures: memlab claims --own."
)


def listing(claims: Sequence[Claim], width: int, run: bool = False) -> str:
    """Return every claim as a line under its text, and an explanation of the words at the end."""
    width = _within(width)
    order = {names: i for i, names in enumerate(dict.fromkeys(claim.text for claim in claims))}
    rows = sorted(claims, key=lambda claim: order[claim.text])
    head = _line("claim", "claimed", "memlab", "verdict", "sure")
    parts = [head]
    for names, group in groupby(rows, lambda claim: claim.text):
        parts.append("\n" + "\n".join(_fill(str(text(name)), width) for name in names))
        parts += [_row(claim, run) for claim in group]
    parts.append("\n" + _fill(_legend(claims), width))
    return "\n".join(parts)


def own(figures: Iterable[OwnFigure], width: int, run: bool = False) -> str:
    """Return every figure of memlab's own with its value, how it is computed, and what it means."""
    width = _within(width)
    parts = ["Figures of memlab's own: no text claims them, so they have no verdict.\n"]
    for figure in figures:
        value = figure.result if run or not figure.runs else LATER
        parts.append(_fill(f"{figure.id}  {value} ({figure.way})", width))
        parts.append(_fill(figure.what, width, 4))
    return "\n".join(parts)


def paragraph(row: Claim | OwnFigure, width: int) -> str:
    """Return everything that is known about a claim or a figure, as a paragraph."""
    said = {"claim": row.claim, "claimed": row.claimed} if isinstance(row, Claim) else {}
    said |= {"figure": row.what} if isinstance(row, OwnFigure) else {}
    said["computed"] = f"{row.result} ({row.way})"
    said |= {"verdict": row.verdict} if isinstance(row, Claim) else {}
    said |= {"note": row.note, "call": _broken(row.call, width - INDENT)}
    said |= {"given": ", ".join(f"{name} {value:,}" for name, value in row.given.items())}
    lines = [_fill(f"{key:10}{value}", width, 2, INDENT) for key, value in said.items() if value]
    word = "text" if isinstance(row, Claim) else "after"
    lines += [_fill(f"{word:10}{text(name)}", width, 2, INDENT) for name in row.named]
    if isinstance(row, Claim):
        lines.append(_fill(f"{'sure':10}{row.certainty}", width, 2, INDENT))
    return "\n".join([row.id, *lines])


def paragraphs(rows: Iterable[Claim | OwnFigure], width: int) -> str:
    """Several rows as text, with an empty line between two."""
    return "\n\n".join(paragraph(row, _within(width)) for row in rows)


def _broken(call: str, width: int) -> str:
    """Return a call broken into lines that fit the width. The spaces go inside the brackets, so the
    result is still valid Python."""
    words = call.split(" ")
    return " ".join(word if len(word) <= width else word.replace("(", "( ") for word in words)


def _row(claim: Claim, run: bool) -> str:
    due = run or not claim.runs
    ours = verdicts.beside(claim.claimed, claim.computed) if due else ""
    sure = " ".join(word[0] for word in claim.sure)
    return _line(claim.id, claim.claimed, ours, claim.verdict if due else LATER, sure)


def _line(id: str, claimed: str, ours: str, verdict: str, sure: str) -> str:
    """Return the line of a claim. An id that is too long gets its own line."""
    start = f"{id}\n{'':{ID}}" if len(id) >= ID else f"{id:{ID}}"
    return f"{start}{claimed:{CLAIMED}} {ours:{OURS}} {verdict:{VERDICT}} {sure}".rstrip()


def _legend(claims: Iterable[Claim]) -> str:
    used = {word for claim in claims for word in claim.sure}
    sure = ", ".join(f"{word[0]} = {word}: {SURE[word]}" for word in SURE if word in used)
    return LEGEND.format(sure=sure, later=LATER)


def _within(width: int) -> int:
    return max(NARROW, min(width, WIDE))


def _fill(words: str, width: int, first: int = 0, further: int | None = None) -> str:
    wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent = " " * first
    wrapper.subsequent_indent = " " * (first if further is None else further)
    return wrapper.fill(words)


@dataclass(frozen=True)
class RowSelection:
    """Rows to list, and whether they are listed in full, which they are where a row was asked for
    by its id."""

    rows: Sequence[Claim | OwnFigure]
    run: bool
    full: bool
    own: bool

    def printed(self, width: int) -> str:
        """Return the rows as text that is ``width`` columns wide."""
        if self.full:
            return paragraphs(self.rows, width)
        if self.own:
            return own([row for row in self.rows if isinstance(row, OwnFigure)], width, self.run)
        claims = [row for row in self.rows if isinstance(row, Claim)]
        return listing(claims, width, self.run)


def rows(
    id: str | None = None,
    text: str | None = None,
    verdict: str | None = None,
    own: bool = False,
    measure: bool = False,
) -> RowSelection:
    """Return the claims that match. With an id, memlab's own figures of that row are included; with
    ``own``, only these.

    Raises:
        InputError: no such id, text or verdict, none that is all of them, or a verdict of our own.
    """
    if own and verdict is not None:
        raise InputError("figures of memlab's own have no verdict; leave out --verdict, or --own.")
    claims: list[Claim | OwnFigure] = [*(figures() if own else table())]
    if id is not None:
        claims = [row for row in find(id) if isinstance(row, OwnFigure) or not own]
    run = measure or id is not None
    if text is not None:
        claims = of_text(claims, text)
    if verdict is not None:
        wanted = known("verdict", verdict, VERDICTS)
        due = (row for row in claims if isinstance(row, Claim) and (run or not row.runs))
        claims = [row for row in due if row.verdict == wanted]
    if not claims:
        given = {"id": id, "--text": text, "--verdict": verdict, "--own": own or None}
        words = " and ".join(f"{name} {shorten(what)}" for name, what in given.items() if what)
        raise InputError(f"no row is all of {words}; leave one of them out.")
    return RowSelection(claims, run, id is not None, own)

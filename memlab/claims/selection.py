"""What ``memlab claims`` was asked for: which rows, and whether what needs a run is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memlab import claims
from memlab.claims import as_text
from memlab.claims.table import Claim, Figure
from memlab.claims.verdicts import VERDICTS
from memlab.errors import InputError, known, shorten


@dataclass(frozen=True)
class Asked:
    """Rows, and whether they are told in full: where one was asked for by its id."""

    rows: Sequence[Claim | Figure]
    run: bool
    full: bool
    own: bool

    def printed(self, width: int) -> str:
        """As text of so many columns."""
        if self.full:
            return as_text.paragraphs(self.rows, width)
        if self.own:
            return as_text.own(
                [row for row in self.rows if isinstance(row, Figure)], width, self.run
            )
        found = [row for row in self.rows if isinstance(row, Claim)]
        return as_text.listing(found, width, self.run)


def rows(
    id: str | None = None,
    text: str | None = None,
    verdict: str | None = None,
    own: bool = False,
    measure: bool = False,
) -> Asked:
    """The claims, and with an id our figures of that row as well; ``own`` leaves these alone.

    Raises:
        InputError: no such id, text or verdict, none that is all of them, or a verdict of our own.
    """
    if own and verdict is not None:
        raise InputError("figures of memlab's own have no verdict; leave out --verdict, or --own.")
    found: list[Claim | Figure] = [*(claims.figures() if own else claims.table())]
    if id is not None:
        found = [row for row in claims.find(id) if isinstance(row, Figure) or not own]
    run = measure or id is not None
    if text is not None:
        found = claims.of_text(found, text)
    if verdict is not None:
        wanted = known("verdict", verdict, VERDICTS)
        due = (row for row in found if isinstance(row, Claim) and (run or not row.runs))
        found = [row for row in due if row.verdict == wanted]
    if not found:
        given = {"id": id, "--text": text, "--verdict": verdict, "--own": own or None}
        words = " and ".join(f"{name} {shorten(what)}" for name, what in given.items() if what)
        raise InputError(f"no row is all of {words}; leave one of them out.")
    return Asked(found, run, id is not None, own)

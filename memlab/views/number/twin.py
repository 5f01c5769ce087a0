"""A number in words, from the rows of the picture."""

from __future__ import annotations

from memlab.views.network.twin import columns
from memlab.views.number import words
from memlab.views.number.rows import Rows


def write(rows: Rows) -> str:
    """The twin of the picture: print it, read it aloud."""
    head = [f"{words.title(rows.state)}.", words.headline(rows), words.note(rows)]
    cells = [
        [words.say(f"field.{name}"), bits, meaning] for name, bits, meaning in words.fields(rows)
    ]
    fields = [*(f"  {line}" for line in columns(cells, left=3)), words.formula(rows)]
    foot = [words.error(rows), words.beside(rows)]
    table = [words.say("everywhere"), *(f"  {x}" for x in columns(words.everywhere(rows)))]
    return "\n\n".join("\n".join(filter(None, part)) for part in (head, fields, foot, table))

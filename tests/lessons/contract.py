"""The lesson contract: each rule takes a lesson and returns what breaks it, as sentences.

CONTRIBUTING.md has the contract in words.
"""

from tests.lessons import asked, form, lock, minutes, outputs, structure

OLD = frozenset({"07", "08"})
"""Lessons that do not have the form yet: `ALWAYS` holds for them, and `FORM` may fail."""
ALWAYS = (
    structure.title,
    structure.preparation,
    structure.objectives,
    structure.glossary_words,
    structure.limits,
    structure.key_points,
    structure.length,
    structure.cell_lines,
    structure.forbidden,
    asked.stubs,
    asked.exercises,
    asked.subgoals,
    asked.hidden,
    asked.asking,
    outputs.figures,
    outputs.notes,
    outputs.numbers,
)
FORM = (
    form.recalls,
    form.cards,
    form.revised,
    form.gates,
    form.blocks,
    form.first_view,
    form.unasked,
    form.case,
    form.onward,
    form.codes,
    lock.locked,
    minutes.long_enough,
)
RULES = (*ALWAYS, *FORM)
MEASURING = (asked.hidden, lock.locked, minutes.long_enough)
"""Rules that plan and run what a card asks."""

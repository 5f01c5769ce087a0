"""The lesson contract: each rule takes a lesson and returns what breaks it, as sentences.

docs/add_a_lesson.md has the contract in words.
"""

from tests.lessons import asked, case_figures, form, lock, minutes, outputs, structure

RULES = (
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
    form.recalls,
    form.cards,
    form.folded,
    form.revised,
    form.gates,
    form.blocks,
    form.opening,
    form.unasked,
    form.case,
    case_figures.foretold,
    form.onward,
    form.codes,
    lock.locked,
    minutes.long_enough,
)
MEASURING = (asked.hidden, lock.locked, minutes.long_enough)
"""Rules that plan and run what a card asks."""

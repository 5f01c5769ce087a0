"""The lesson contract: each rule takes a lesson and returns what breaks it, as sentences.

CONTRIBUTING.md has the contract in words.
"""

from tests.lessons import asked, outputs, structure

RULES = (
    structure.title,
    structure.preparation,
    structure.objectives,
    structure.glossary_words,
    structure.blocks,
    structure.limits,
    structure.key_points,
    structure.length,
    structure.cell_lines,
    structure.forbidden,
    asked.cards,
    asked.gates,
    asked.stubs,
    asked.exercises,
    asked.subgoals,
    asked.first_view,
    asked.hidden,
    asked.asking,
    outputs.figures,
    outputs.notes,
    outputs.numbers,
)

"""Answers of cards, in every form in which a notebook could give them away."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from html import unescape
from typing import Any

from lessons import stored
from memlab import strings, units
from memlab.lesson import sentences
from memlab.lesson.card_question import AnswerKind, Attempt, Question

LONG = 4
"""Digits from which on a number alone gives an answer away."""
TOLD = re.compile(r"""\b(?:aria-label|alt|title|data-[\w-]+)=(?:"([^"]*)"|'([^']*)')""")


def found(notebook: dict[str, Any], secrets: Mapping[str, Iterable[str]]) -> list[str]:
    """Places where a notebook holds a form of the truth of a question, in its cells or their
    outputs."""
    texts = {cell["id"]: text_of(cell) for cell in notebook["cells"]}
    return [
        f"cell {id} holds the truth of {name!r}: {form}"
        for name, forms in secrets.items()
        for form in forms
        for id, text in texts.items()
        if holds(text, form)
    ]


def holds(text: str, form: str) -> bool:
    """True if a number stands in a text, and not as a part of another one."""
    return re.search(rf"(?<![\w.,]){re.escape(form)}(?!\w|[.,]\d)", text) is not None


def forms(topic: Question) -> list[str]:
    """Forms in which its truth and the figures beside it may be written, but for those of the
    question."""
    truth = topic.truth(topic.first)
    asked = sentences.question(Attempt(topic, topic.first))
    value = set() if isinstance(truth.value, str) else written(truth.value, topic.kind)
    figures = (written(figure.value, topic.kind) for figure in truth.figures)
    new = [forms for forms in figures if not any(holds(asked, form) for form in forms)]
    named = {form for form in value if holds(asked, form)}
    return sorted((value - named).union(*new))


def written(value: Fraction, kind: AnswerKind) -> set[str]:
    """A ratio with a decimal point; a count of many digits; bytes with all digits and in units, to
    1, 2 and 3 decimals."""
    if kind is AnswerKind.TIMES:
        texts = {sentences.number(value), *(f"{float(value):.{n}f}" for n in (2, 3))}
        return set() if value.denominator == 1 else {text for text in texts if "." in text}
    if kind is AnswerKind.COUNT:
        texts = {str(value), f"{value.numerator:,}"}
        return {text for text in texts if len(str(value)) >= LONG}
    nbytes = round(value)
    digits = {str(nbytes), f"{nbytes:,}", f"{nbytes:_}"} if len(str(nbytes)) >= LONG else set()
    shown = set(re.findall(r"\d[\d.,]* \w+", f"{units.short(nbytes)}; {units.both(nbytes)}"))
    finer = {units.in_unit(nbytes, text.split()[1], n) for text in shown for n in (1, 2)}
    return digits | shown | (finer if nbytes >= units.DECIMAL["kB"] else set()) if nbytes else set()


def text_of(cell: dict[str, Any]) -> str:
    """Text of a cell and its outputs, also of pictures for a screen reader or a script."""
    parts = ["".join(cell["source"])]
    for output in cell.get("outputs", []):
        parts.append(stored.text_of_output(output))
        markup = "".join("".join(text) for text in output.get("data", {}).values())
        parts += [unescape(one or other) for one, other in TOLD.findall(markup)]
    return "\n".join(parts)


def not_asking(text: str, topic: Question) -> list[str]:
    """Faults of the stored output of a card: no question, or a reveal."""
    name = topic.name.partition(".")[2]
    wanted = sentences.question(Attempt(topic, topic.first))
    shown = [strings.get("card.again", name=name), strings.get("card.right")]
    shown.append(strings.get("card.verdict.right"))
    faults = [] if flat(wanted) in flat(text) else ["does not show its question"]
    return faults + [f"shows {said!r}" for said in shown if flat(said) in flat(text)]


def flat(text: str) -> str:
    return " ".join(text.split())

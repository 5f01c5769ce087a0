"""Sentences of cards and exercises, for their text and for their widgets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from memlab import strings, units
from memlab.lesson import typed_guess as guesses
from memlab.lesson.card_question import AnswerKind, Attempt, Purpose, Question, RevealBar
from memlab.lesson.marked_text import plain
from memlab.lesson.misconceptions import GuessVerdict, Mistake
from memlab.lesson.typed_guess import Guess
from memlab.pictures.values.number_text import three_digits

ALIKE = Fraction(2, 100)
"""Relative difference below which a reader takes two numbers for the same."""
SENTENCE = re.compile(r"\S.*?(?:[.?!](?=\s|$)|[\u3002\uff1f\uff01])|\S.*$")
"""A sentence that ends with a full stop or question mark, English or Chinese."""
STOPS = ".。"
"""Full stops, English and Chinese."""
STEMS = {2: "twice doubl half halv", 3: "thrice tripl third", 4: "quadrupl quarter fourth"}
STEMS |= {5: "fifth", 6: "sixth", 8: "eighth", 9: "ninth", 10: "tenth", 16: "sixteen"}
FACTORS = {word: n for n, word in enumerate(guesses.WORDS) if n > 1}
FACTORS |= {stem: n for n, stems in STEMS.items() for stem in stems.split()}
"""English words that say how many times, without their endings."""
ENDINGS = re.compile(r"(?:fold|e|es|ed|ing|s)$")
SIGNS = {sign: n for n, sign in enumerate("一二三四五六七八九", 1)} | dict.fromkeys("两双半", 2)
TENS = {"十": 10, "百": 100, "千": 1000}
"""Chinese numerals."""
RUN = re.compile(f"[{''.join((*SIGNS, *TENS))}]+")
DOUBLED = re.compile("[翻加]倍|翻番")


def refusal_text(turn: Attempt, revealed: str = "locked") -> str:
    """Return the sentence that refuses an action which the state of an attempt does not allow;
    ``revealed`` is the key of the sentence for an attempt whose answer is shown."""
    keys = {"open": "first", "skipped": "skipped", "locked": "waiting", "diagnosed": "diagnosed"}
    return strings.get(f"card.{keys.get(turn.state, revealed)}", name=turn.topic.handle)


def card_text(rounds: list[Attempt]) -> str:
    """Return a card as text: the question, how to answer it, the answer if it is shown, and a line
    for each earlier attempt."""
    turn, name = rounds[-1], rounds[-1].topic.handle
    parts = [" ".join(heading(turn)), *_options(turn)]
    if turn.open:
        parts.append(how_to_answer(turn.topic))
    elif turn.state == "diagnosed":
        parts += [*_table(_guesses(turn)), hint(turn)]
        parts.append(strings.get("card.revise", name=name))
    elif not turn.revealed:
        key = "skipped" if turn.skipped else "waits"
        parts.append(strings.get(f"card.{key}", guess=given(turn), name=name))
    else:
        parts += reveal(turn)
        if turn.topic.draw is not None:
            parts.append(strings.get("card.again", name=name))
    return "\n".join(parts + earlier_attempts(rounds))


def heading(turn: Attempt) -> tuple[str, str]:
    """Return the purpose of a card in a word or two, and its question."""
    return strings.get(f"card.heading.{turn.topic.part}"), question(turn)


def question(turn: Attempt) -> str:
    """Return the question with its numbers filled in."""
    return _text(turn, "question")


def how_to_answer(topic: Question) -> str:
    """Return the sentence that shows how to answer in code."""
    guess = strings.get(f"card.example.{topic.kind}")
    key = "predict" if topic.part is Purpose.PREDICT else "other"
    values = {"name": topic.handle, "full": topic.name, "guess": guess}
    return strings.get(f"card.how.{key}", **values)


def option(turn: Attempt, name: str) -> str:
    """Return the text of an option."""
    return _text(turn, f"option.{name}")


def given(turn: Attempt) -> str:
    """Return the guess for display: an option by its text, a ratio as ``"9 times"``, an amount or a
    count as typed."""
    return _answer(turn, turn.typed)


def revised(turn: Attempt) -> str:
    """Return the revision for display: an option by its text, a ratio as ``"9 times"``, an amount
    or a count as typed."""
    return _answer(turn, turn.retyped)


def _answer(turn: Attempt, typed: str) -> str:
    if not typed:
        return strings.get("card.none")
    if turn.topic.kind is AnswerKind.CHOICE:
        return option(turn, typed).rstrip(STOPS)
    return number_text(typed, turn.topic.kind)


def number_text(typed: str, kind: AnswerKind) -> str:
    """Return a number as it was typed, a ratio with the word for times."""
    return times_of(typed) if kind is AnswerKind.TIMES else typed


def reveal(turn: Attempt) -> list[str]:
    """Return the lines of an answer that is shown: guesses, planned and measured figures below each
    other, then the diagnosis and the finding."""
    assert turn.truth is not None
    rows = _guesses(turn)
    if isinstance(turn.truth.value, str):
        rows.append((strings.get("card.right"), truth_text(turn)))
    rows += [(figure_name(f), amount(f.value, turn.topic.kind)) for f in turn.truth.figures]
    return [*_table(rows), *said(turn)]


def _guesses(turn: Attempt) -> list[tuple[str, str]]:
    """Return the guess, its reason and the revision, as far as there are any, each
    with its label."""
    rows = [(strings.get("card.guess"), given(turn))]
    if turn.because:
        rows.append((strings.get("card.because"), turn.because))
    if turn.retyped:
        rows.append((strings.get("card.revision"), revised(turn)))
    return rows


def _table(rows: list[tuple[str, str]]) -> list[str]:
    wide = max(len(name) for name, _ in rows)
    return [f"{name:{wide}}  {value}" for name, value in rows]


def figure_name(figure: RevealBar) -> str:
    """Return the label of a figure: how it was obtained, and its own label where
    there are several."""
    if not figure.origin:
        return figure.label
    origin = strings.get(f"run.origin.{figure.origin}")
    return f"{origin}, {figure.label}" if figure.label else origin


def said(turn: Attempt) -> list[str]:
    """Return the diagnosis of each guess, one sentence on the result, and the finding."""
    return [*diagnoses(turn), *filter(None, [seen(turn)]), *finding(turn)]


def diagnoses(turn: Attempt) -> list[str]:
    """Return the diagnosis of the guess, and of its revision; empty without them."""
    lines = [] if turn.verdict is None else [diagnosis(turn, turn.verdict, turn.typed)]
    if turn.second is not None:
        again = diagnosis(turn, turn.second, turn.retyped)
        lines.append(strings.get("card.second", said=again))
    return lines


def corrections(turn: Attempt) -> list[str]:
    """Return the diagnoses of the wrong guesses alone. What the first one says about both is not
    said twice."""
    verdicts = [verdict for verdict in (turn.verdict, turn.second) if verdict is not None]
    lines = [
        line
        for line, verdict in zip(diagnoses(turn), verdicts, strict=True)
        if not verdict.right or verdict.unit
    ]
    if lines[1:]:
        _, _, thought = lines[0].partition(". ")
        lines[1] = lines[1].removesuffix(f" {thought}") if thought else lines[1]
    return lines


def seen(turn: Attempt) -> str:
    """Return one sentence on the result of the plan or the run, and one more where the result was
    recorded elsewhere; empty where a question of an instructor's own has none."""
    assert turn.truth is not None
    told = _text(turn, "seen", **turn.truth.seen)
    return f"{told} {turn.truth.recorded}".strip()


def finding(turn: Attempt) -> list[str]:
    """Return the explanation of the answer, by paragraph; empty after the first numbers."""
    return [plain(part) for part in marked_finding(turn)]


def marked_finding(turn: Attempt) -> list[str]:
    """Return the explanation of the answer with the marks of bold words and code, for a widget;
    empty for an attempt on new numbers."""
    assert turn.truth is not None
    if turn.again or not has(turn.topic, "finding"):
        return []
    text = _marked(turn, "finding", **turn.truth.seen)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def diagnosis(turn: Attempt, verdict: GuessVerdict, typed: str | None = None) -> str:
    """Return one sentence on a guess: that it is right, or how far off it is and the likely
    mistake."""
    typed = turn.typed if typed is None else typed
    if verdict.right:
        if turn.topic.kind is AnswerKind.CHOICE:
            return strings.get("card.verdict.chosen")
        if not verdict.unit:
            key = "close" if verdict.close else "exact" if verdict.ratio == 1 else "right"
            return strings.get(f"card.verdict.{key}")
        return strings.get("card.verdict.unit", unit=verdict.unit, guess=typed)
    if turn.topic.kind is AnswerKind.CHOICE:
        return _wrong(turn, typed) or strings.get("card.hint.choice", text="").rstrip()
    if verdict.cause is None:
        return _unexplained_text(turn, verdict)
    cause = _cause(turn, verdict.cause)
    return strings.get("card.verdict.cause", off=_off(turn, verdict), cause=cause)


def _off(turn: Attempt, verdict: GuessVerdict) -> str:
    """Return how far off a guess is in words: a count only on which side, anything else also how
    many times."""
    if turn.topic.kind is AnswerKind.COUNT:
        return _hint_side(turn, verdict.ratio, Fraction(1))
    return distance_text(verdict.ratio)


def _wrong(turn: Attempt, typed: str) -> str:
    """Return the diagnosis of a wrong option; empty where an instructor gave none."""
    return _text(turn, f"wrong.{typed}", **(turn.truth.seen if turn.truth else {}))


def _cause(turn: Attempt, cause: Mistake) -> str:
    key = f"cause.{cause.name}"
    return _text(turn, key) if turn.topic.texts else strings.get(key, **cause.values)


def _unexplained_text(turn: Attempt, verdict: GuessVerdict) -> str:
    """Return the sentence on a wrong guess that no known mistake explains: how far off it is, and a
    hint at the idea of the question."""
    think = _text(turn, "far") if has(turn.topic, "far") else ""
    if not turn.topic.near:
        return strings.get("card.verdict.other", think=think)
    if verdict.close or not verdict.ratio:
        return strings.get(f"card.verdict.{'counted' if verdict.close else 'zero'}")
    return strings.get("card.verdict.far", off=_off(turn, verdict), think=think).strip()


# -- the diagnosis alone, from which no answer follows ------------------------------------------


def hint(turn: Attempt) -> str:
    """Return the diagnosis of a wrong guess, without the answer: too small or too large, and the
    likely mistake. Sentences from which the answer follows are left out."""
    verdict, truth = turn.verdict, turn.truth
    assert verdict is not None
    assert truth is not None
    if isinstance(truth.value, str):
        return strings.get("card.hint.choice", text=_wrong(turn, turn.typed)).rstrip()
    assert isinstance(turn.guess, Guess)
    side = _hint_side(turn, turn.guess.value, truth.value)
    far = _text(turn, "far") if has(turn.topic, "far") else ""
    text = _cause(turn, verdict.cause) if verdict.cause else far
    silent_text = _before_secret(text, turn.guess.value, truth.value)
    key = "cause" if verdict.cause and silent_text else "far"
    return strings.get(f"card.hint.{key}", side=side, text=silent_text).strip()


def _hint_side(turn: Attempt, guess: Fraction, truth: Fraction) -> str:
    """Return "too small" or "too large" in words; for an address, that it is another one."""
    if not turn.topic.near:
        return strings.get("card.hint.other")
    return strings.get(f"card.hint.{'small' if guess < truth else 'large'}")


def _before_secret(text: str, guess: Fraction, truth: Fraction) -> str:
    """Return the sentences of a text before the first one that holds the true value, or the factor
    between guess and truth."""
    secrets = {truth} | ({guess / truth, truth / guess} if guess and truth else set())
    sentences = []
    for sentence in SENTENCE.findall(text):
        if any(
            abs(n - secret) < ALIKE * secret for n in _numbers_in(sentence) for secret in secrets
        ):
            break
        sentences.append(sentence)
    return " ".join(sentences)


def _numbers_in(sentence: str) -> list[Fraction]:
    """Return every number of a sentence, in digits, with or without a unit, or in words."""
    fractions = [Fraction(n) for n in _spelled_numbers(sentence) if n > 1]
    for digits, unit in re.findall(r"(\d[\d,]*(?:\.\d+)?)\s*(%|[A-Za-z]*)", sentence):
        number = Fraction(digits.replace(",", ""))
        fractions += [number, number / 100 if unit == "%" else number * units.UNITS.get(unit, 1)]
    return fractions


def _spelled_numbers(sentence: str) -> Iterator[int]:
    """Yield the numbers that English and Chinese words stand for: halves, fourfold; 0 for other
    words."""
    for word in re.findall(r"[a-z]+", sentence.lower()):
        yield FACTORS.get(word) or FACTORS.get(ENDINGS.sub("", word), 0)
    for run in RUN.findall(DOUBLED.sub("两", sentence)):
        above, digit = 0, 0
        for sign in run:
            above += (digit or 1) * TENS.get(sign, 0)
            digit = SIGNS.get(sign, 0)
        yield above + digit


def distance_text(ratio: Fraction) -> str:
    """Return the ratio of a guess to the truth in words: ``"Exactly 32 times too small"``, ``"About
    1.13 times too large"``; empty for 0."""
    if not ratio:
        return ""
    side, ratio = ("small", 1 / ratio) if ratio < 1 else ("large", ratio)
    if ratio.denominator == 1:
        return strings.get("card.verdict.exactly", ratio=number(ratio), side=_side(side))
    digits = f"{float(ratio):,.{2 if ratio < 2 else 1 if ratio < 10 else 0}f}"
    return strings.get("card.verdict.about", ratio=digits, side=_side(side))


def earlier_attempts(rounds: list[Attempt]) -> list[str]:
    """Return one line with question, guess and truth for each attempt before the current one."""
    return [
        strings.get(
            "card.before", question=question(turn), guess=given(turn), truth=truth_text(turn)
        )
        for turn in rounds[:-1]
    ]


def truth_text(turn: Attempt) -> str:
    """Return the true answer of an attempt in words."""
    assert turn.truth is not None
    if isinstance(turn.truth.value, str):
        return option(turn, turn.truth.value).rstrip(STOPS)
    return amount(turn.truth.value, turn.topic.kind)


def short_truth(turn: Attempt) -> str:
    """Return the true answer of an attempt in words, bytes with three digits."""
    assert turn.truth is not None
    value = turn.truth.value
    if isinstance(value, Fraction) and turn.topic.kind is AnswerKind.AMOUNT:
        return three_digits(round(value))
    return truth_text(turn)


def origin(turn: Attempt) -> str:
    """Return how the figures of an answer were found: planned, or measured too; empty if it has
    none of both."""
    assert turn.truth is not None
    origins = {figure.origin for figure in turn.truth.figures}
    known = [figure.value for figure in turn.truth.figures if figure.origin]
    if "measured" in origins and "planned" in origins:
        same = "equal" if turn.topic.kind is AnswerKind.AMOUNT else "alike"
        return strings.get(f"card.origin.{same if len({*known}) == 1 else 'measured'}")
    return strings.get("card.origin.planned") if "planned" in origins else ""


def amount(value: Fraction, kind: AnswerKind) -> str:
    """Return a number of bytes with every digit, from 1,000 on also with three; or a ratio, or a
    count."""
    if kind is AnswerKind.TIMES:
        return times_of(number(value))
    if kind is AnswerKind.COUNT:
        return number(value)
    nbytes = round(value)
    return units.exact(nbytes) + (f" = {three_digits(nbytes)}" if nbytes >= 1000 else "")


def number(value: Fraction) -> str:
    """Return a ratio with 3 significant digits, or with all of them if it is whole
    or at least 999."""
    if value.denominator == 1:
        return f"{value.numerator:,}"
    return f"{float(value):,.0f}" if value >= 999 else f"{float(value):.3g}"


def times_of(text: str) -> str:
    """Return a number with the word for times: ``"9"`` becomes ``"9 times"``."""
    return strings.get("card.times", number=text)


def _side(side: str) -> str:
    return strings.get(f"card.verdict.{side}")


def _options(turn: Attempt) -> list[str]:
    texts = {name: option(turn, name) for name in turn.topic.options}
    return [f"  {text}" if text == name else f"  {name}: {text}" for name, text in texts.items()]


def _text(turn: Attempt, key: str, **values: object) -> str:
    return plain(_marked(turn, key, **values))


def has(topic: Question, key: str) -> bool:
    """True if a question has a text of that key: its own, or one in ``memlab/strings``."""
    return key in topic.texts if topic.texts else strings.has(f"ask.{topic.name}.{key}")


def _marked(turn: Attempt, key: str, **values: object) -> str:
    """Return a text of a question with its values; empty where an instructor gave none."""
    named = {**turn.words, **values}
    if own := turn.topic.texts:
        return own.get(key, "").format(**named)
    return strings.get(f"ask.{turn.topic.name}.{key}", **named)

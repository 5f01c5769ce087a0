"""Numerals in prose, in code and in outputs: their values, and whether they are right."""

import ast
import re
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import memlab
from memlab import claims, counting, formats, free_memory, units, zoo
from memlab.claims import revolve

SCALES: dict[str, Any] = {
    **units.UNITS,
    "KB": 1000,
    "%": Fraction(1, 100),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "million": 10**6,
    "billion": 10**9,
}
"""Units that are part of the number: 26 MB is not 26 MiB. B, bytes, x and times are not."""
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
SMALL = 10
"""Whole numbers up to this count things in a sentence, where no unit follows."""
NUMERAL = re.compile(
    r"(?<![\w.])(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?P<part>\.\d+)?"
    r"(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}|\*\*\d{1,3}|e[+-]?\d{1,3})?"
    r"(?:(?P<short>[kMG])(?!\w)|\s?(?P<unit>%|×|(?:[kKMGT]B|[KMGT]iB|B|bytes?|times|x"
    r"|s|ms|seconds?|[mb]illion)(?!\w)))?"
)
NOT_CHECKED = re.compile(
    r"```.*?```|`[^`]*`"  # code
    r"|(?<!!)\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|https?://\S+"  # links; the alt text of a figure stays
    r"|^\#\ \d\d\ |\blessons?\ \d\d(?:(?:,|\ and|\ to)\ \d\d)*"
    r"|^\d+\ minutes\.\ (?:Needs:|Click\ a\ cell)"
    r"|^\ *\d+\.\ "  # list markers
    r"|\((?:[^()\d]*(?:19|20)\d\d[;)])+"  # years in a citation: (He et al., 2016)
    r"|\b[^\W\d_][\w'-]*\d[\w-]*",  # names: ResNet-50, fp32, conv1, claim A12
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
NAMES = {
    "memlab": memlab,
    "claims": claims,
    "counting": counting,
    "this_machine": free_memory,
    "formats": formats,
    "revolve": revolve,
    "units": units,
    "zoo": zoo,
}
"""What the expressions of a numbers cell may use."""


class Numeral(NamedTuple):
    """A numeral and its value, which lies within `half` of the number it stands for."""

    text: str
    value: Fraction
    half: Fraction
    unit: str
    exponent: bool

    @property
    def key(self) -> tuple[Fraction, str]:
        """Key by which the same number is recognised elsewhere."""
        return self.value, self.unit if self.unit in SCALES and self.unit != "B" else ""

    @property
    def counts(self) -> bool:
        """True if the numeral has to be computed or checked."""
        whole = self.value.denominator == 1 and "." not in self.text
        return bool(self.unit) or self.exponent or not whole or self.value > SMALL

    def fits(self, value: Any) -> bool:
        """True if a value is this number, to the printed digits, in its unit or not yet in it."""
        scales = (Fraction(1), Fraction(SCALES.get(self.unit, 1)))
        return any(
            abs(self.value * scale - Fraction(value)) <= self.half * scale for scale in scales
        )


def prose(markdown: str) -> str:
    """Part of a markdown cell that is checked."""
    return NOT_CHECKED.sub(" ", markdown)


def find(text: str) -> list[Numeral]:
    """The numerals of a text; an extent such as 3x28x28 is three."""
    text = re.sub(r"(?<=\d)(?:[x×]| × )(?=\d)", "·", re.sub(r"(?<=\d)_(?=\d)", "", text))
    return [_numeral(match) for match in NUMERAL.finditer(text)]


def keys(text: str) -> set[tuple[Fraction, str]]:
    """Numbers for which a text is evidence: each numeral, with and without its unit."""
    numbers = find(text)
    return {numeral.key for numeral in numbers} | {(numeral.value, "") for numeral in numbers}


def _numeral(match: re.Match[str]) -> Numeral:
    part, raised = match["part"] or "", (match["raised"] or "").translate(RAISED)
    value = Fraction(match["whole"].replace(",", "") + part)
    half = Fraction(0) if raised else Fraction(1, 2 * 10 ** max(len(part) - 1, 0))
    if raised.startswith("e"):
        value *= Fraction(10) ** int(raised[1:])
    elif raised:
        value = Fraction(value ** int(raised.removeprefix("**")))
    unit = match["short"] or match["unit"] or ""
    return Numeral(match[0].strip(), value, half, unit, bool(raised))


# -- the numbers cells of a source --------------------------------------------------------------


def table(source: str) -> dict[str, str]:
    """Numeral to expression; empty where the cell is no dict of texts."""
    try:
        given = ast.literal_eval(source)
    except (SyntaxError, ValueError):
        return {}
    texts = [*given, *given.values()] if isinstance(given, dict) else [None]
    return given if all(isinstance(text, str) for text in texts) else {}


def faults(given: dict[str, str]) -> list[str]:
    """Faults of a numbers cell."""
    breaks = []
    for text, expression in given.items():
        numbers = find(text)
        if [numeral.text for numeral in numbers] != [text]:
            breaks.append(f"{text!r} is not one numeral")
            continue
        value = evaluate(expression)
        if isinstance(value, str):
            breaks.append(f"{text!r}: {expression} fails with {value}")
        elif not numbers[0].fits(value):
            breaks.append(f"{text!r} is {value}: {expression}")
    return breaks


@cache
def evaluate(expression: str) -> Any:
    """The number that comes out, or what went wrong as a text."""
    try:
        value = eval(expression, dict(NAMES))
        Fraction(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"no number: {value!r}" if isinstance(value, (bool, str)) else value

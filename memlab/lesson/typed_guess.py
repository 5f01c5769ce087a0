"""A guess as it was typed: its value, and how far its last digit reaches.

People write numbers in many ways: 6,422,528, 6 422 528, 6.4e6, 2,5, 1/4, nine, 225 %. What is clear
is read, and its text is then that of the reading; what is not is asked about in one sentence.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from numbers import Integral

from memlab import units
from memlab.errors import InputError, printed, shorten
from memlab.strings import gettext as _

TWINS = {"kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB"}
"""Units that texts mix up. Each is read as the other too, in both directions."""
_TWINS = TWINS | {binary: decimal for decimal, binary in TWINS.items()}
FLOAT = 10**12
"""A ratio that was computed has digits of no meaning: it reaches at least this share of itself."""
SHARE = 200
"""A fraction such as 1/3 reaches this share of itself, as a number of 3 digits does."""
_LONGEST = 40
"""Characters of a guess."""
LARGEST = 10**24
"""Nobody has so many bytes, and no ratio is so large, or 1 over it so small."""
_PREFIXES = {"kilo": "kB", "mega": "MB", "giga": "GB", "tera": "TB"}
_PREFIXES |= {"kibi": "KiB", "mebi": "MiB", "gibi": "GiB", "tebi": "TiB"}
_LONG = {f"{prefix}byte": unit for prefix, unit in _PREFIXES.items()}
_LONG |= {"字节": "B", "バイト": "B"}
_BITS = re.compile(r"(?:kilo|mega|giga|tera|kibi|mebi|gibi|tebi)?bits?", re.IGNORECASE)
WORDS = """zero one two three four five six seven eight nine ten eleven twelve""".split()  # noqa: SIM905 - shorter to read
_NAMED = {word: Fraction(n) for n, word in enumerate(WORDS)}
_NAMED |= {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4)}
_NAMED |= {"once": Fraction(1), "twice": Fraction(2), "thrice": Fraction(3)}
_SHARES = ("half", "third", "quarter")
_RAISED = {ord(raised): str(n) for n, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_QUOTES = "\"'`\u00b4\u2018\u2019\u201c\u201d\u00ab\u00bb\u300c\u300d "
_ABOUT = re.compile(
    r"(?:=|≈|≃|≅|~|\u223c|\+|about|around|roughly|approximately|approx\.?|ca\.?|circa|大约|约|約)\s*",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(.*?\d|[a-z]+)[\s\-]*([^\W\d_]*)", re.IGNORECASE | re.DOTALL)
_FOLD = re.compile(
    r"\s*(?:(?:x|×|times)(?: (?:as|more|larger|smaller|fewer|less|bigger|faster|slower)[a-z ]*)?"
    r"|-?\s*fold|倍)$",
    re.IGNORECASE,
)
_TIMES = re.compile(r"[*×·](?!\*)(?<!\*\*)|(?<=\d)\s*x\s*(?=\d)| x ", re.IGNORECASE)
"""Between the factors of a product."""


@dataclass(frozen=True, slots=True)
class Guess:
    """``value`` is in bytes or a plain number; the guess reaches ``half`` to both sides of it.

    ``half`` is half a unit of the last digit as it was typed: 6.4 MB reaches from 6.35 to 6.45.
    """

    text: str
    value: Fraction
    half: Fraction
    unit: str = ""

    def holds(self, figure: Fraction | int, slack: Fraction | int = 0) -> bool:
        """Whether the figure lies within the guess, or within ``slack`` of its value."""
        return abs(self.value - figure) <= max(self.half, slack)

    @property
    def twin(self) -> Guess | None:
        """The same digits in the unit that people take for this one: MiB for MB."""
        other = _TWINS.get(self.unit)
        if other is None:
            return None
        factor = Fraction(units.UNITS[other], units.UNITS[self.unit])
        return replace(self, value=self.value * factor, half=self.half * factor, unit=other)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written; ``decimals`` is how many it has, and None where it is no plain
    number: a product, a power, a fraction."""

    text: str
    value: Fraction
    half: Fraction
    decimals: int | None = None


def amount(given: object) -> Guess:
    """A guess in bytes from ``"6.4 MB"``, ``"6,422,528 B"``, ``"2,5 gigabytes"`` or a whole number
    of bytes.

    Raises:
        InputError: no number, no unit, a unit that is not one of memory, or bits.
    """
    typed = f"{printed(given)} B" if isinstance(given, Integral) else printed(given)
    if isinstance(given, float) and given.is_integer():
        typed = f"{given:.0f} B"
    text = _cleared(typed)
    match = _AMOUNT.fullmatch(text)
    number = _number(match[1]) if match else None
    unit = _unit(match[2]) if match and match[2] else None
    if number is None or unit is None or isinstance(given, bool):
        if number is not None and match and not match[2] and number.value.denominator == 1:
            raise InputError(_("{given} has no unit; if it is a number of bytes, write {number} B.",
                               given=shorten(typed), number=number.text))  # fmt: skip
        raise InputError(
            _("{given} is no amount of memory; give a number and its unit, such as 6.4 MB, 512 KiB "
              "or 96 B.", given=shorten(typed))
        )  # fmt: skip
    scale = units.UNITS[unit]
    return Guess(f"{number.text} {unit}", number.value * scale, number.half * scale, unit)


def times(given: object, decimals: int = 0) -> Guess:
    """A guess at a ratio from ``9``, ``"2.25"``, ``"9 times"``, ``"1/4"`` or ``"225 %"``.

    A question to 1 decimal takes 2 as 2.0, and holds nobody to more: 1.81 reaches to 1.86.

    Raises:
        InputError: no number.
    """
    typed = printed(given)
    number = None if isinstance(given, bool) else _ratio(_cleared(typed))
    if number is None:
        raise InputError(_("{given} is no number of times; give one such as 9 or 2.25.",
                           given=shorten(typed)))  # fmt: skip
    half = Fraction(1, 2 * 10**decimals) if decimals and number.value else number.half
    padded = "." + "0" * decimals if decimals and number.decimals == 0 else ""
    text = number.text if number.decimals is not None else _short(number.value)
    return Guess(text + padded, number.value, half)


# -- how numbers are written ----------------------------------------------------------------------


def _cleared(typed: str) -> str:
    """Digits and spaces of every script as those of a keyboard, 10⁶ as 10^6, without quotes, a full
    stop at the end or "about" before it; empty where it is too long to be a number."""
    if len(typed) > _LONGEST:
        return ""
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda raised: "^" + raised[0].translate(_RAISED), typed)
    text = "".join(map(_plain, text)).strip(_QUOTES).rstrip(".!?")
    return (
        _ABOUT.sub("", text, count=1).strip(_QUOTES) if _ABOUT.match(text) else text.strip(_QUOTES)
    )


def _plain(letter: str) -> str:
    if letter.isdecimal():
        return str(unicodedata.decimal(letter))
    if letter.isspace():
        return " "
    return unicodedata.normalize("NFKC", letter) if "\uff01" <= letter <= "\uff5e" else letter


def _unit(name: str) -> str | None:
    """The unit of a symbol or of a word.

    Raises:
        InputError: bits.
    """
    if _BITS.fullmatch(name):
        raise InputError(_("{given} are bits, 8 to a byte; give bytes, such as 6.4 MB.",
                           given=shorten(name)))  # fmt: skip
    single = name[:-1] if name.endswith("s") else name
    return units.named(name) or units.named(single) or _LONG.get(single.lower())


def _ratio(text: str) -> Number | None:
    """``"x9"``, ``"9-fold"``, ``"1/4"``, ``"9:1"``, ``"225 %"``, ``"a third"``, ``"nine"``."""
    text = re.sub(r"^(?:x|×)\s*(?=\d)|^an? (?=[a-z])", "", text, flags=re.IGNORECASE)
    for shape in (text, _FOLD.sub("", text) if _FOLD.search(text) else ""):
        if percent := re.fullmatch(r"(.*\d)\s*(?:%|percent|per cent)", shape):
            return _over(_number(percent[1]), Number("100", Fraction(100), Fraction(0)))
        parts = re.fullmatch(r"([^/:]+)[/:\u2044\u00f7]([^/:]+)", shape)
        if parts:
            return _over(_number(parts[1].strip()), _number(parts[2].strip()))
        if found := _number(shape):
            return found
    return None


def _over(one: Number | None, other: Number | None) -> Number | None:
    """A fraction, which is exact as far as people write it; a share in percent as it was typed."""
    if one is None or other is None or not other.value:
        return None
    value = one.value / other.value
    half = one.half / other.value if not other.half else value / SHARE
    return Number(_short(value), value, half if value else Fraction(0))


def _number(text: str) -> Number | None:
    """A number in words or digits, a power, or a product of such; None where it is none, or beyond
    anything that is taken."""
    found = _written(text)
    taken = found and (not found.value or Fraction(1, LARGEST) <= found.value <= LARGEST)
    return found if taken else None


def _written(text: str) -> Number | None:
    if text.lower() in _NAMED:
        value = _NAMED[text.lower()]
        half = value / SHARE if text.lower() in _SHARES else _least(value)
        return Number(_short(value), value, half, 0)
    factors = [_factor(part.strip()) for part in _TIMES.split(text)]
    found = [factor for factor in factors if factor is not None]
    if len(found) < len(factors):
        return None
    if len(found) == 1:
        return found[0]
    value = prod((factor.value for factor in found), start=Fraction(1))
    shares = [f.half / f.value for f in found if f.value and f.value.denominator > 1]
    half = max(shares, default=Fraction(0)) * value
    return Number(text, value, max(half, _least(value)))


def _factor(text: str) -> Number | None:
    """``"6.4"``, ``"6.4e6"`` or ``"10^6"``."""
    if power := re.fullmatch(r"(\d{1,3})\s*(?:\^|\*\*)\s*(\d{1,2})", text):
        value = Fraction(int(power[1]) ** int(power[2]))
        return Number(text, value, _least(value))
    if scaled := re.fullmatch(r"([^e]+)e\+?(-?\d{1,2})", text, re.IGNORECASE):
        plain, scale = _digits(scaled[1]), Fraction(10) ** int(scaled[2])
        return plain and Number(text, plain.value * scale, plain.half * scale)
    return _digits(text)


def _digits(text: str) -> Number | None:
    """A plain number, however its thousands and its decimals are set apart.

    A mark that may stand for thousands does: 2,500 is 2500. A single point never does.
    """
    for mark in (" ", "_", "'", "\u2019"):
        if re.fullmatch(rf"\d{{1,3}}(?:{mark}\d{{3}})+(?:[.,]\d+)?", text):
            text = text.replace(mark, "")
            whole, _point, rest = text.replace(",", ".").partition(".")
            return _of(whole, rest)
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", text):
        whole, _point, rest = text.replace(",", "").partition(".")
    elif re.fullmatch(r"[1-9]\d{0,2}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})", text):
        whole, _point, rest = text.replace(".", "").partition(",")
    elif re.fullmatch(r"\d+(?:[.,]\d*)?|[.,]\d+", text):
        whole, _point, rest = text.replace(",", ".").partition(".")
    else:
        return None
    return _of(whole, rest)


def _of(whole: str, rest: str) -> Number:
    """The number, and half a unit of its last digit; nothing is a rounded 0."""
    value = Fraction(f"{whole or 0}.{rest or 0}")
    half = Fraction(1, 2 * 10 ** len(rest)) if value else Fraction(0)
    text = f"{int(whole or 0):,}" + (f".{rest}" if rest else "")
    return Number(text, value, max(half, value / FLOAT), len(rest))


def _least(value: Fraction) -> Fraction:
    """How far a number reaches that was worked out; nothing is a rounded 0."""
    return Fraction(1, 2) if value and value.denominator == 1 else value / SHARE


def _short(value: Fraction) -> str:
    """A fraction in digits, 3 of them where it has no end."""
    return f"{float(value):.12g}" if len(f"{float(value):.12g}") <= 8 else f"{float(value):.3g}"

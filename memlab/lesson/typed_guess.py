"""Reading of a guess that was typed: its value, and the precision of its last digit.

People write numbers in many forms: 6,422,528, 6 422 528, 6.4e6, 2,5, 1½, a third, nine, 225 %. A
clear one is read, and its text is then that of the reading, with the same value; an unclear one is
refused with one sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from numbers import Integral

from memlab import units
from memlab.errors import InputError, printed, shorten
from memlab.strings import gettext as _

TWINS = {"kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB"}
"""Units that people confuse; a guess in one is also judged in the other, in both directions."""
_TWINS = TWINS | {binary: decimal for decimal, binary in TWINS.items()}
FLOAT = 10**12
"""A number counts as exact to value / FLOAT at best: computed digits beyond mean nothing."""
SHARE = 200
"""A fraction such as 1/3 counts as exact to value / SHARE, as a number of 3 digits does."""
_LONGEST = 40
"""Most characters of a guess."""
LARGEST = 10**24
"""Largest number that is read; 1 over it is the smallest one above 0."""
_PREFIXES = {"kilo": "kB", "mega": "MB", "giga": "GB", "tera": "TB"}
_PREFIXES |= {"kibi": "KiB", "mebi": "MiB", "gibi": "GiB", "tebi": "TiB"}
_LONG = {f"{prefix}byte": unit for prefix, unit in _PREFIXES.items()}
_LONG |= {"字节": "B", "バイト": "B"}
_BITS = re.compile(r"(?:kilo|mega|giga|tera|kibi|mebi|gibi|tebi|[kmgt]i?)?bits?", re.IGNORECASE)
WORDS = """zero one two three four five six seven eight nine ten eleven twelve""".split()  # noqa: SIM905 - shorter to read
_TEENS = """thirteen fourteen fifteen sixteen seventeen eighteen nineteen""".split()  # noqa: SIM905 - shorter to read
_TENS = """twenty thirty forty fifty sixty seventy eighty ninety""".split()  # noqa: SIM905 - shorter to read
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_COUNTS = {word: n for n, word in enumerate((*WORDS, *_TEENS))}
_COUNTS |= {word: n for n, word in zip(range(20, 100, 10), _TENS, strict=True)} | _SCALES
_COUNTS |= {"once": 1, "twice": 2, "thrice": 3, "double": 2, "triple": 3, "quadruple": 4}
_COUNTS |= {"nothing": 0, "none": 0, "the same": 1, "same": 1, "unchanged": 1}
_COUNTS |= {sign: n for n, sign in enumerate("零一二三四五六七八九十")} | {"两": 2}
_SHARES = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6}
_SHARES |= {"seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "sixteenth": 16}
_HALVES = {"halves": "half", "半": "half", "一半": "half"}
_MARKS = {"\u066a": "%", "\u066b": ".", "\u066c": ",", "\u2044": "/", "\u3002": "."}
"""Signs of other scripts: percent, decimals, thousands, a fraction, a full stop."""
_RAISED = {ord(raised): str(n) for n, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_QUOTES = "\"'`\u00b4\u2018\u2019\u201c\u201d\u00ab\u00bb\u300c\u300d "
_ABOUT = re.compile(
    r"(?:=|≈|≃|≅|~|\u223c|\+|about|around|roughly|approximately|approx\.?|ca\.?|circa|大约|约|約)\s*",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(.*?)[\s\-]*([^\W\d_]*)", re.DOTALL)
_ARTICLE = re.compile(r"^an? (?=[a-z])|(?<=[a-z\d])(?: of)? an?$", re.IGNORECASE)
"""Words in "a half" and in "half a GB"."""
_FOLD = re.compile(
    r"\s*(?:(?:x|×|times)(?: (?:as|more|larger|smaller|fewer|less|bigger|faster|slower)[a-z ]*)?"
    r"|-?\s*fold|倍)$|(?<=[a-z]) (?:as|of) [a-z ]+$",
    re.IGNORECASE,
)
_HEXADECIMAL = re.compile(r"0x[\da-f]", re.IGNORECASE)
_TIMES = re.compile(r"[*×·](?!\*)(?<!\*\*)|(?<=\d)\s*x\s*(?=\d)| x ", re.IGNORECASE)
"""Multiplication signs between the factors of a product."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess that was read from text: its ``value`` in bytes or as a plain number, plus or minus
    ``half``.

    ``half`` is half a unit of the last digit that was typed: 6.4 MB reaches from 6.35 to 6.45.
    """

    text: str
    value: Fraction
    half: Fraction
    unit: str = ""

    def holds(self, figure: Fraction | int, slack: Fraction | int = 0) -> bool:
        """True if a figure lies within ``half``, or within ``slack``, of the value."""
        return abs(self.value - figure) <= max(self.half, slack)

    @property
    def twin(self) -> Guess | None:
        """The guess with the same digits in the unit that people confuse with this one, MiB for MB;
        None without such a unit."""
        other = _TWINS.get(self.unit)
        if other is None:
            return None
        factor = Fraction(units.UNITS[other], units.UNITS[self.unit])
        return replace(self, value=self.value * factor, half=self.half * factor, unit=other)


@dataclass(frozen=True, slots=True)
class TypedNumber:
    """A number as it was typed. ``decimals`` is the number of its decimals; None for a product, a
    power or a fraction."""

    text: str
    value: Fraction
    half: Fraction
    decimals: int | None = None


def amount(given: object) -> Guess:
    """Return a guess in bytes from what was typed.

    Args:
        given: text such as ``"6.4 MB"``, ``"6,422,528 B"`` or ``"2,5 gigabytes"``, or a whole
            number of bytes.

    Raises:
        InputError: no number, no unit, a unit that is not one of memory, or bits.
    """
    typed = f"{printed(given)} B" if isinstance(given, Integral) else printed(given)
    if isinstance(given, float) and given.is_integer():
        typed = f"{given:.0f} B"
    text = _cleared_text(typed)
    number, unit = _number_and_unit(text)
    if number is None or unit is None or isinstance(given, bool):
        plain = None if isinstance(given, bool) else _number(_ARTICLE.sub("", text))
        if plain is not None and not plain.value:
            return Guess("0 B", plain.value, plain.half, "B")  # nothing needs no unit
        if plain is not None and plain.value.denominator == 1:
            raise InputError(_("{given} has no unit; if it is a number of bytes, write {number} B.",
                               given=shorten(typed), number=plain.text))  # fmt: skip
        raise InputError(
            _("{given} is no amount of memory; give a number and its unit, such as 6.4 MB, 512 KiB "
              "or 96 B.", given=shorten(typed))
        )  # fmt: skip
    scale = units.UNITS[unit]
    return Guess(f"{number.text} {unit}", number.value * scale, number.half * scale, unit)


def times(given: object, decimals: int = 0) -> Guess:
    """Return a guess at a ratio from what was typed.

    Args:
        given: ``9``, ``"2.25"``, ``"9 times"``, ``"1/4"`` or ``"225 %"``.
        decimals: number of decimals that the question asks for; with 1, a guess of 2 is read as 2.0
            and reaches from 1.95 to 2.05.

    Raises:
        InputError: ``given`` is no number.
    """
    typed = printed(given)
    number = None if isinstance(given, bool) else _ratio(_cleared_text(typed))
    if number is None:
        raise InputError(_("{given} is no number of times; give one such as 9 or 2.25.",
                           given=shorten(typed)))  # fmt: skip
    whole_decimals = decimals and number.value and (number.value * 10**decimals).denominator == 1
    half = Fraction(1, 2 * 10**decimals) if whole_decimals else number.half
    padded = "." + "0" * decimals if decimals and number.decimals == 0 else ""
    text = number.text if number.decimals is not None else _exact_text(number.value, number.text)
    return Guess(text + padded, number.value, half)


def count(given: object) -> Guess:
    """Return a guess at a number of things from what was typed.

    Args:
        given: a whole number, ``49``, ``"7·7"`` or ``"seven"``.

    Raises:
        InputError: ``given`` is no whole number.
    """
    typed = printed(given)
    if isinstance(given, float) and given.is_integer():
        typed = f"{given:.0f}"
    number = None if isinstance(given, bool) else _number(_cleared_text(typed))
    if number is None or number.value.denominator > 1:
        raise InputError(_("{given} is no whole number; give one such as 7 or 1,024.",
                           given=shorten(typed)))  # fmt: skip
    return Guess(_exact_text(number.value), number.value, _computed_half(number.value))


# -- how numbers are written ----------------------------------------------------------------------


def _cleared_text(typed: str) -> str:
    """Return typed text in plain form, or empty text where it is too long for a number.

    Digits and spaces of every script become those of a keyboard, and 10⁶ becomes 10^6. Quotes, a
    full stop at the end and "about" before the number are dropped.
    """
    if len(typed) > _LONGEST:
        return ""
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda raised: "^" + raised[0].translate(_RAISED), typed)
    text = "".join(map(_keyboard_letter, text)).strip(_QUOTES).rstrip(".!?")
    if re.match(r"\+.*%", text) or _HEXADECIMAL.match(text):
        return ""  # 50 % more, or half? and 0x10 is no product
    return (
        _ABOUT.sub("", text, count=1).strip(_QUOTES) if _ABOUT.match(text) else text.strip(_QUOTES)
    )


def _keyboard_letter(letter: str) -> str:
    if letter.isdecimal():
        return str(unicodedata.decimal(letter))
    if letter.isspace():
        return " "
    if unicodedata.category(letter) == "Cf":  # marks of direction, spaces of no width
        return ""
    if unicodedata.decomposition(letter).startswith("<fraction>"):  # 1½ is 1 1/2
        return " " + unicodedata.normalize("NFKC", letter).replace("\u2044", "/")
    wide = "\uff01" <= letter <= "\uff5e"
    return _MARKS.get(letter) or (unicodedata.normalize("NFKC", letter) if wide else letter)


def _number_and_unit(text: str) -> tuple[TypedNumber | None, str | None]:
    """Return the number and the unit of an amount, each None if it cannot be read."""
    match = _AMOUNT.fullmatch(text)
    if match is None or not match[2]:
        return None, None
    number = "1" if match[1].lower() in ("a", "an") else _ARTICLE.sub("", match[1])
    read = _number(number)
    return read, None if read is None else _unit(match[2])


def _unit(name: str) -> str | None:
    """Return the unit that a symbol or a word stands for; None if there is none.

    Raises:
        InputError: the unit is bits.
    """
    if _BITS.fullmatch(name):
        raise InputError(_("{given} are bits, 8 to a byte; give bytes, such as 6.4 MB.",
                           given=shorten(name)))  # fmt: skip
    single = name[:-1] if name.endswith("s") else name
    return units.named(name) or units.named(single) or _LONG.get(single.lower())


def _ratio(text: str) -> TypedNumber | None:
    """Read a ratio: ``"x9"``, ``"9-fold"``, ``"1/4"``, ``"9:1"``, ``"225 %"``, ``"a third"``,
    ``"nine"``."""
    text = _ARTICLE.sub("", re.sub(r"^(?:x|×)\s*(?=\d)", "", text, flags=re.IGNORECASE))
    for shape in (text, _FOLD.sub("", text) if _FOLD.search(text) else ""):
        if percent := re.fullmatch(r"(.*\d)\s*(?:%|percent|per cent)", shape):
            return _quotient(_number(percent[1]), TypedNumber("100", Fraction(100), Fraction(0)))
        parts = re.fullmatch(r"([^/:]+)[:\u00f7]([^/:]+)", shape)
        if parts:
            return _quotient(_number(parts[1].strip()), _number(parts[2].strip()))
        if number := _number(shape):
            return number
    return None


def _quotient(numerator: TypedNumber | None, denominator: TypedNumber | None) -> TypedNumber | None:
    """Return the quotient of two numbers. A fraction counts as exact to 0.5 %, a percentage to the
    digits that were typed."""
    if numerator is None or denominator is None or not denominator.value:
        return None
    value = numerator.value / denominator.value
    half = numerator.half / denominator.value if not denominator.half else value / SHARE
    text = _exact_text(value, f"{numerator.text}/{denominator.text}")
    return TypedNumber(text, value, half if value else Fraction(0))


def _number(text: str) -> TypedNumber | None:
    """Read a number in words or digits, a power, or a product of such; None if it is none, or is
    above ``LARGEST`` or below 1 over it."""
    number = _read_product(text)
    in_range = number and (not number.value or Fraction(1, LARGEST) <= number.value <= LARGEST)
    return number if in_range else None


def _read_product(text: str) -> TypedNumber | None:
    factors = [_factor(part.strip()) for part in _TIMES.split(text)]
    numbers = [factor for factor in factors if factor is not None]
    if len(numbers) < len(factors):
        return _number_in_words(" ".join(text.lower().split()))
    if len(numbers) == 1:
        return numbers[0]
    value = prod((factor.value for factor in numbers), start=Fraction(1))
    shares = [f.half / f.value for f in numbers if f.value and f.value.denominator > 1]
    half = max(shares, default=Fraction(0)) * value
    return TypedNumber(text, value, max(half, _computed_half(value)))


def _number_in_words(text: str) -> TypedNumber | None:
    """Read a number in words: ``"nine"``, ``"twenty-five"``, ``"two thirds"``, ``"1 and a half"``,
    ``"6.4 million"``."""
    text = _HALVES.get(text, text)
    if text in _COUNTS:
        return _whole_number(_COUNTS[text])
    if text in _SHARES:
        return _quotient(_whole_number(1), _whole_number(_SHARES[text]))
    for shape, join in _JOINED:
        if (match := shape.fullmatch(text)) and (first := _read_product(match[1])):
            second = _number_in_words(_HALVES.get(match[2], match[2].removesuffix("s")))
            return second and join(first, second)
    return None


def _whole_number(value: int) -> TypedNumber:
    return TypedNumber(f"{value:,}", Fraction(value), _computed_half(Fraction(value)), 0)


def _sum(first: TypedNumber, second: TypedNumber) -> TypedNumber:
    """Return the sum of a whole number and a fraction ("1 and a half"), or of tens and ones."""
    value = first.value + second.value
    return TypedNumber(
        _exact_text(value), value, _computed_half(value), 0 if value.denominator == 1 else None
    )


def _product(first: TypedNumber, second: TypedNumber) -> TypedNumber:
    """Return the product in "6.4 million" or "two thirds". A product above keeps the precision of
    the first number."""
    value = first.value * second.value
    half = first.half * second.value if second.value > 1 else value / SHARE
    return TypedNumber(_exact_text(value), value, half, 0 if value.denominator == 1 else None)


_JOINED: tuple[tuple[re.Pattern[str], Callable[[TypedNumber, TypedNumber], TypedNumber]], ...] = (
    (re.compile(rf"(.+) and (?:an? |one )?({'|'.join(_SHARES)})"), _sum),
    (re.compile(rf"({'|'.join(_TENS)})[ -]({'|'.join(WORDS[1:10])})"), _sum),
    (re.compile(rf"(.+?)[ -]({'|'.join(_SCALES)})s?"), _product),
    (re.compile(rf"([^/]*\d|{'|'.join(WORDS)})[ -](halves|(?:{'|'.join(_SHARES)})s?)"), _product),
)
"""Patterns of words that make a number together, and the function that combines them."""


def _factor(text: str) -> TypedNumber | None:
    """Read one factor of a product: ``"6.4"``, ``"6.4e6"``, ``"10^6"``, ``"1
    1/2"`` or ``"3/4"``."""
    if power := re.fullmatch(r"(\d{1,3})\s*(?:\^|\*\*)\s*(\d{1,2})", text):
        value = Fraction(int(power[1]) ** int(power[2]))
        return TypedNumber(text, value, _computed_half(value))
    if scaled := re.fullmatch(r"([^e]+)e\+?(-?\d{1,2})", text, re.IGNORECASE):
        plain, scale = _digits(scaled[1]), Fraction(10) ** int(scaled[2])
        return plain and TypedNumber(text, plain.value * scale, plain.half * scale)
    if mixed := re.fullmatch(r"(\d+)\s+(\d+)\s*/\s*([1-9]\d*)", text):
        value = int(mixed[1]) + Fraction(int(mixed[2]), int(mixed[3]))
        return TypedNumber(_exact_text(value), value, value / SHARE)
    if shared := re.fullmatch(r"([^/]+)/([^/]+)", text):
        return _quotient(_number(shared[1].strip()), _number(shared[2].strip()))
    if part := re.fullmatch(r"(.+)分之(.+)", text):
        return _quotient(_number(part[2]), _number(part[1]))
    return _digits(text)


def _digits(text: str) -> TypedNumber | None:
    """Read a plain number, with any usual separators of thousands and decimals.

    A mark that may stand for thousands does: 2,500 is 2500. A single point never does.
    """
    for mark in (" ", "_", "'", "\u2019"):
        if re.fullmatch(rf"\d{{1,3}}(?:{mark}\d{{3}})+(?:[.,]\d+)?", text):
            text = text.replace(mark, "")
            whole, _point, rest = text.replace(",", ".").partition(".")
            return _decimal_number(whole, rest)
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", text):
        whole, _point, rest = text.replace(",", "").partition(".")
    elif re.fullmatch(r"[1-9]\d{0,2}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})", text):
        whole, _point, rest = text.replace(".", "").partition(",")
    elif re.fullmatch(r"\d+(?:[.,]\d*)?|[.,]\d+", text):
        whole, _point, rest = text.replace(",", ".").partition(".")
    else:
        return None
    return _decimal_number(whole, rest)


def _decimal_number(whole: str, rest: str) -> TypedNumber:
    """Return a number from its digits before and after the decimal point; it is exact to half a
    unit of its last digit, and 0 is exact."""
    value = Fraction(f"{whole or 0}.{rest or 0}")
    half = Fraction(1, 2 * 10 ** len(rest)) if value else Fraction(0)
    text = f"{int(whole or 0):,}" + (f".{rest}" if rest else "")
    return TypedNumber(text, value, max(half, value / FLOAT), len(rest))


def _computed_half(value: Fraction) -> Fraction:
    """Half of the range that a computed number stands for: 1/2 for a whole number, 0.5 % for a
    fraction, 0 for 0."""
    return Fraction(1, 2) if value and value.denominator == 1 else value / SHARE


def _exact_text(value: Fraction, typed: str = "") -> str:
    """Return a value with all its digits; if they never end, as a fraction, or as it was typed if
    that fraction is long."""
    for decimals in range(13):
        if (value * 10**decimals).denominator == 1:
            whole, rest = divmod(int(value * 10**decimals), 10**decimals)
            return f"{whole:,}" + (f".{rest:0{decimals}}" if decimals else "")
    plain = f"{value.numerator}/{value.denominator}"
    return typed if typed and len(plain) > 12 else plain

"""A claimed figure as it was printed, and whether a computed value is that figure.

>>> verdict("25 MB", 26_561_576)
'right if MB means MiB'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from memlab import units
from memlab.errors import InputError, shorten

SCALES: dict[str, Decimal] = {
    **{name: Decimal(size) for name, size in units.UNITS.items()},
    "KB": Decimal(1000),
    "M": Decimal(10**6),
    "%": Decimal("0.01"),
    "": Decimal(1),
}
"""The units of claimed figures, in units of the computed ones."""
TWINS = {"kB": "KiB", "KB": "KiB", "MB": "MiB", "GB": "GiB"}
"""What a text may have meant by a decimal unit."""
TENTH = Decimal("0.1")
LEAST = 3
"""Digits of a computed value beside a claimed one."""
VERDICTS = ("right", *(f"right if {unit} means {twin}" for unit, twin in TWINS.items()), "differs")
_CLAIMED = re.compile(
    r"(?:(?P<relation>over|under|about) )?(?P<least>-?[\d,]*\d(?:\.\d+)?)(?: to (?P<most>[\d.]+))?"
    r"(?: (?P<unit>[A-Za-z%]+))?"
)


@dataclass(frozen=True)
class PrintedFigure:
    """Figure as a text prints it, with its digits and its unit.

    ``over`` and ``under`` stand where a text has words alone, and the limit is ours. ``about``
    stands where the text itself says about, nearly or roughly: within a tenth. ``most`` ends a
    range.
    """

    relation: str
    number: Decimal
    most: Decimal | None
    unit: str

    @property
    def places(self) -> int:
        """Number of digits after the decimal point."""
        exponent = self.number.as_tuple().exponent
        return max(0, -exponent) if isinstance(exponent, int) else 0

    def holds(self, value: Decimal) -> bool:
        """True if a value in the figure's unit equals the figure, to its printed digits."""
        shown = rounded(value, self.number)
        if self.most is not None:
            return self.number <= shown <= self.most
        if self.relation == "over":
            return value > self.number
        if self.relation == "under":
            return value < self.number
        if self.relation == "about":
            return abs(value - self.number) <= TENTH * abs(self.number)
        return shown == self.number


def parse(claimed: str) -> PrintedFigure:
    """Return a printed figure from its text. ``'over 2 GB'`` is a figure of 2 with a relation and a
    unit; ``'about 30 %'``, ``'2 to 3'`` and ``'61,100,840'`` are understood too.

    Raises:
        InputError: it is no such figure, or its unit is none.
    """
    match = _CLAIMED.fullmatch(claimed)
    unit = (match["unit"] or "") if match else ""
    if match is None or unit not in SCALES:
        raise InputError(f"{shorten(claimed)} is no claimed figure; try '25 MB' or 'over 50 %'.")
    most = Decimal(match["most"]) if match["most"] else None
    return PrintedFigure(
        match["relation"] or "", Decimal(match["least"].replace(",", "")), most, unit
    )


def verdict(claimed: str, computed: int | float) -> str:
    """Return the verdict on a claimed figure: whether the computed value agrees with it to the
    printed digits.

    Raises:
        InputError: ``claimed`` is no figure.
    """
    figure = parse(claimed)
    if figure.holds(_exact(computed) / SCALES[figure.unit]):
        return "right"
    twin = TWINS.get(figure.unit, "")
    if twin and figure.holds(_exact(computed) / SCALES[twin]):
        return f"right if {figure.unit} means {twin}"
    return "differs"


def as_printed(claimed: str, computed: int | float) -> int | float:
    """Return the computed value, rounded as the claimed figure is: ``('26 M', 25_557_032)`` gives
    26,000,000.

    Raises:
        InputError: ``claimed`` is no figure.
    """
    figure = parse(claimed)
    scale = SCALES[figure.unit]
    value = rounded(_exact(computed) / scale, figure.number) * scale
    return int(value) if value == int(value) else float(value)


def beside(claimed: str, computed: int | float) -> str:
    """Return the computed value as text in the unit of the claimed figure, or in the unit that the
    text must have meant, with one more digit and at least 3."""
    figure = parse(claimed)
    meant = verdict(claimed, computed).rpartition(" means ")[2]
    unit = meant if meant in SCALES else figure.unit
    value = _exact(computed) / SCALES[unit]
    leading = value.adjusted() if value else 0
    places = 0 if value == int(value) else max(figure.places + 1, LEAST - 1 - leading)
    return f"{value:,.{places}f} {unit}".rstrip()


def rounded(value: Decimal, like: Decimal) -> Decimal:
    """Return a value rounded to as many digits after the point as ``like`` has."""
    return value.quantize(like, ROUND_HALF_UP)


def _exact(computed: int | float) -> Decimal:
    return Decimal(str(computed))

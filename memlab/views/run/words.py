"""The sentences about a run, for the picture and for its text."""

from __future__ import annotations

from fractions import Fraction

from memlab import strings, units
from memlab.views import amounts
from memlab.views.run.rows import MOMENTS, Bar, Operation, Rows

LISTED = 6
"""Operations with a residual that are named; the others are counted."""


def title(rows: Rows) -> str:
    """What has run: ``'Single linear layer, fp32, SGD, training, batch 4'``."""
    return f"{rows.title}, {strings.get('network.batch', batch=f'{rows.batch:,}')}"


def origin(name: str) -> str:
    """Where figures come from: ``'planned'``, ``'measured here'``, ``'recorded'``."""
    return strings.get(f"run.origin.{name}")


def residual(rows: Rows) -> str:
    """``'Residual 0 B over 24 operations: before, inside, after.'``"""
    return strings.get(
        "run.residual",
        residual=units.exact(rows.residual),
        count=f"{len(rows.operations):,}",
        moments=", ".join(strings.get(f"run.moment.{name}") for name in MOMENTS),
    )


def verdict(rows: Rows) -> str:
    """How the guess compares with the plan; empty without a guess."""
    if rows.guess is None:
        return ""
    guess, planned = rows.guess.nbytes, rows.planned.nbytes
    if guess == planned:
        return strings.get("run.guess.right")
    if not guess or not planned:
        return strings.get("run.guess.nothing")
    more, less = max(guess, planned), min(guess, planned)
    ratio = Fraction(more, less)
    return strings.get(
        "run.guess.more" if guess > planned else "run.guess.less",
        ratio=f"{float(ratio):,.4g}",
        exactly=strings.get("run.guess.exactly") if ratio.denominator == 1 else "",
    )


def where(bar: Bar) -> str:
    """The operation of a peak; a guess has none."""
    if bar.at is None:
        return ""
    return strings.get("run.where", index=f"{bar.at + 1:,}", name=bar.name)


def amount(nbytes: int) -> str:
    """Every digit, and a short form beside it from 1 kB on."""
    short = units.short(nbytes)
    return units.exact(nbytes) + ("" if nbytes < 1000 else f" = {short}")


def differences(rows: Rows) -> list[str]:
    """One line for each operation with a residual, and one that counts those left out."""
    found = rows.differing
    listed = found if len(found) <= LISTED else found[: LISTED - 1]
    lines = [_difference(operation, rows) for operation in listed]
    more = len(found) - len(listed)
    return lines + ([strings.get("run.others", count=f"{more:,}")] if more else [])


def _difference(operation: Operation, rows: Rows) -> str:
    change = operation.residual
    return strings.get(
        "run.difference",
        index=f"{operation.index + 1:,}",
        name=operation.row.name,
        moment=strings.get(f"run.moment.{MOMENTS[operation.moment]}"),
        planned=units.exact(operation.planned[operation.moment]),
        measured=units.exact(operation.measured[operation.moment]),
        origin=origin(rows.origin),
        change=signed(change),
    )


def signed(nbytes: int) -> str:
    """A difference with its sign and every digit."""
    return f"{amounts.signed(nbytes)[0] if nbytes else ''}{units.exact(abs(nbytes))}"


def spoken(rows: Rows) -> str:
    """The bars and the residual in one line."""
    bars = [f"{origin(bar.origin)} {units.exact(bar.nbytes)}" for bar in rows.bars]
    return f"{', '.join(bars)}. {residual(rows)}"

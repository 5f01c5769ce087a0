"""Fields of the objects of a file, each checked, so that a damaged file gives no figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memlab import formats
from memlab.errors import (
    LARGEST,
    InputError,
    one_option,
    shorten,
    true_or_false,
    visible,
    whole_number,
)
from memlab.step.op import Phase
from memlab.step.storage import MEMORIES, Size
from memlab.step.tensor import Role

What = tuple[str | tuple[str, object], ...]
"""What a value is: a field, of what, of what; a block or an operation is a noun and its name. It
becomes a text where something is refused, and nowhere else."""
Check = Callable[[What, Any], object]
"""From what a value is, and the value as it was read, to what it stands for."""


def said(what: What) -> str:
    """Name of a value, for a sentence; the whole file is "it"."""
    parts = (part if isinstance(part, str) else f"{part[0]} {shorten(part[1])}" for part in what)
    return " of ".join(parts) or "it"


def refusal(what: What, given: object) -> InputError:
    """Return the error for a value of the wrong type."""
    return InputError(f"{said(what)} is {shorten(given)}.")


def fields(
    what: What, given: Any, checks: Mapping[str, Check], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the fields of an object, each checked. Fields in ``optional`` may be missing."""
    if not isinstance(given, dict):
        raise refusal(what, given)
    if len(what) == 1 and "name" in given:
        what = ((str(what[0]), given["name"]),)
    for name in checks:
        if name not in given and name not in optional:
            raise InputError(f"{said(what)} has no {name}.")
    for name in given:
        if name not in checks:
            raise InputError(f"{said(what)} has {shorten(name)}, which has no place here.")
    return {
        name: check((name, *what), given[name]) for name, check in checks.items() if name in given
    }


def each(noun: str, item: Check) -> Check:
    """Return a check for a list whose items all pass the given check."""

    def check(what: What, given: Any) -> tuple[Any, ...]:
        one = (noun, *what[1:])
        return tuple(item(one, value) for value in listed(what, given))

    return check


def listed(what: What, given: Any, length: int | None = None) -> Sequence[Any]:
    """Return the given list. A ledger that was never in a file has a tuple instead."""
    if not isinstance(given, list | tuple) or length not in (None, len(given)):
        raise refusal(what, given)
    return given


def one_of(what: str, registry: Mapping[str, object]) -> Check:
    """Return a check for a name in a registry, which gives the entry of that name."""
    return lambda _, given: one_option(what, given, registry)


def text(what: What, given: Any) -> str:
    """Return a text of one line."""
    if not isinstance(given, str) or visible(given) != given:
        raise refusal(what, given)
    return given


def truth(what: What, given: Any) -> bool:
    """Return a field of a file that must be true or false."""
    return true_or_false(said(what), given)


def count(what: What, given: Any, least: int = 0) -> int:
    """Return a whole number of at least ``least``."""
    if type(given) is not int:
        raise refusal(what, given)
    return given if least <= given <= LARGEST else whole_number(said(what), given, least)


def axis(what: What, given: Any) -> tuple[str, int]:
    """Return a named axis with its extent."""
    name, extent = listed(what, given, 2)
    return text(what, name), count(what, extent)


def batches(what: What, given: Any) -> range | None:
    """Return the range from the first batch to the one after the last, or None."""
    if given is None:
        return None
    first, end = listed(what, given, 2)
    start = count(what, first, least=1)
    last = end - 1 if type(end) is int else end
    return range(start, count(("the last", *what), last, least=start) + 1)


def size(what: What, given: Any) -> Size:
    """Return bytes that are a fixed part and a part per sample."""
    return Size(**fields(what, given, {"fixed": count, "per_sample": count}))


def by_name(names: Iterable[str]) -> dict[str, str]:
    """Return a registry of these names only."""
    return {name: name for name in names}


FORMAT = one_of("format", by_name(formats.FORMATS))
MEMORY = one_of("memory", by_name(MEMORIES))
PHASE = one_of("phase", {phase.value: phase for phase in Phase})
ROLE = one_of("role", {role.value: role for role in Role})

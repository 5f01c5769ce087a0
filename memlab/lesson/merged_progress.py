"""Two progress files of one learner as one: nothing that was answered in either is lost.

A browser has such files where a lesson is open twice, and where one is brought from another
computer. In whatever order files are merged, and however often, the result is the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

Record = dict[str, Any]


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> Record:
    """Return the progress of two records: every answer to a card once, and for each exercise the
    most checks and hints and the first success. The seed is that of the first answer."""
    first, second = sorted((one, other), key=_age)
    return {
        **second,
        **first,
        "cards": _by_name(first["cards"], second["cards"], _turns),
        "exercises": _by_name(first["exercises"], second["exercises"], _exercise),
    }


def _age(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Key by which the record comes first that was begun first; one without answers comes last."""
    times = [_moment(turn["at"]) for turns in record["cards"].values() for turn in turns]
    times += [_moment(entry["passed"]) for entry in record["exercises"].values() if entry["passed"]]
    return not times, min(times, default=(0.0, "")), record["seed"], _written(record)


def _by_name(
    one: Mapping[str, Any], other: Mapping[str, Any], merge: Callable[[Any, Any], Any]
) -> Record:
    """Return the entries of both, those that both have merged."""
    return {
        name: merge(one.get(name, other.get(name)), other.get(name, one.get(name)))
        for name in dict.fromkeys([*one, *other])
    }


def _turns(one: Iterable[Record], other: Iterable[Record]) -> list[Record]:
    """Return the answers of both in the order of their times. One that is in both may have been
    revised in one."""
    known = dict(_numbered(one))
    for key, turn in _numbered(other):
        known[key] = _turn(known[key], turn) if key in known else turn
    return [known[key] for key in sorted(known, key=lambda key: (*_moment(key[0]), *key))]


def _numbered(turns: Iterable[Record]) -> Iterator[tuple[tuple[str, str, int], Record]]:
    """Yield each answer with its time, its guess, and how often both came before."""
    seen = Counter[tuple[str, str]]()
    for turn in turns:
        key = turn["at"], turn["guess"]
        yield (*key, seen[key]), turn
        seen[key] += 1


def _turn(one: Record, other: Record) -> Record:
    """Return an answer as the file has it in which it went further."""
    less, more = sorted((one, other), key=lambda turn: (len(turn), _written(turn)))
    shown = {"shown": one["shown"] or other["shown"]} if "shown" in less and "shown" in more else {}
    return {**less, **more, **shown}


def _exercise(one: Record, other: Record) -> Record:
    """Return what both know of an exercise."""
    less, more = sorted((one, other), key=_written)
    most = {name: max(one[name], other[name]) for name in ("checks", "hints")}
    first = {name: _first(one[name], other[name]) for name in ("passed", "solution")}
    return {**less, **more, **most, **first}


def _first(one: str | None, other: str | None) -> str | None:
    """Return the earlier of two times, of which each may be missing."""
    return min((time for time in (one, other) if time), key=_moment, default=None)


def _moment(time: str) -> tuple[float, str]:
    """Return a time as a number to be sorted by, and as it is written; 0 for what is none."""
    try:
        return datetime.fromisoformat(time).timestamp(), time
    except (ValueError, OverflowError, OSError):
        return 0.0, time


def _written(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True)

"""Measured rates of a processor, for the clock: of this machine, by ``memlab bench machine``, or
those recorded for memlab.

One recording came with memlab (``rates.json``). Where this machine was measured, its own figures
are kept in a file, and count instead. ``MEMLAB_MACHINE`` names that file, or is ``recorded``: then
the figures that came with memlab count, as in the lessons, whose texts name them.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite, log
from pathlib import Path
from typing import Any

from memlab import atomic_files, free_memory, lesson_folders
from memlab.errors import InputError, shorten

SCHEMA = "memlab.machine/1"
PLACE = "MEMLAB_MACHINE"
"""The variable that names the file, or says ``recorded``."""
RECORDED, HERE = "recorded", "here"
"""The machine of the figures that came with memlab, and this one: names for ``device``."""
COMMAND = "memlab bench machine"


@dataclass(frozen=True)
class Rates:
    """Measured rates of a processor: ``flops`` in fp32 operations and ``bandwidth`` in bytes, per
    second.

    ``shares`` are those of each measured layer, by algorithm, forward and backward. ``kinds`` are
    the parts of the roofline that operations of a kind reached, each after the bytes that it moved
    and the operations that it computed; a kind that is not there reaches all of it. ``spread`` is
    how far samples of the same seconds lay apart, as a part of them: what differs by less is not
    told apart.
    """

    machine: Mapping[str, Any]
    command: str
    flops: float
    bandwidth: float
    shares: Mapping[tuple[int, ...], Mapping[str, Mapping[str, float]]]
    kinds: Mapping[str, tuple[tuple[float, float, float], ...]] = field(default_factory=dict)
    here: bool = False
    spread: float = 0.0

    @property
    def processor(self) -> str:
        """Name of the processor of the machine: ``'AMD EPYC'``."""
        return str(self.machine["processor"])

    @property
    def title(self) -> str:
        """Title of the recording: ``'AMD EPYC, recorded on 2026-11-21'``, or ``'..., measured here
        on ...'``."""
        how = "measured here" if self.here else "recorded"
        return f"{self.processor}, {how} on {self.machine['date']}"

    def reached(self, kind: str, nbytes: int, flops: int) -> float:
        """Return the share of the roofline that similar operations reached: of the same kind, with
        about as many bytes and operations. Return 1 where none was measured."""
        rows = self.kinds.get(kind)
        if not rows:
            return 1.0
        far = ((_apart(nbytes, moved) + _apart(flops, done), part) for moved, done, part in rows)
        return min(far)[1]


def _apart(one: float, other: float) -> float:
    """Distance of two amounts: the logarithm of their ratio, 0 taken as 1."""
    return abs(log(max(one, 1) / max(other, 1)))


def find(name: str | None = None) -> Rates:
    """Return the recording of that name: ``"here"`` or ``"recorded"``. Without a name, return that
    of this machine if it exists, else the recorded one.

    Raises:
        InputError: this machine was asked for, and was not measured.
    """
    if name == RECORDED:
        return recorded()
    kept_rates = kept()
    if kept_rates is None and name == HERE:
        raise InputError(f"this machine was not measured; do it with `{COMMAND}`.")
    return kept_rates or recorded()


@cache
def recorded() -> Rates:
    """Return the figures that are shipped with memlab."""
    text = (lesson_folders.PACKAGE / "clocks" / "rates.json").read_text(encoding="utf-8")
    return from_dict(json.loads(text), here=False)


def kept() -> Rates | None:
    """Return the figures of this machine. Return None if it was not measured, if its file is
    damaged (with a warning), or if the file is of another processor."""
    if os.environ.get(PLACE) == RECORDED:
        return None
    path = place()
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    return _kept(path, changed)


@cache
def _kept(path: Path, changed: int) -> Rates | None:
    try:
        recorded = from_dict(json.loads(path.read_text(encoding="utf-8")), here=True)
    except (OSError, ValueError) as error:  # InputError is a ValueError
        said = str(error).rstrip(".")
        warnings.warn(
            f"{path} is ignored, and planned seconds are of the recorded machine: "
            f"{said}; measure again with `{COMMAND}`.",
            stacklevel=2,
        )
        return None
    return recorded if recorded.machine["processor"] == free_memory.processor() else None


def place() -> Path:
    """Path of the file that keeps the figures of this machine, in the user's cache folder."""
    named = os.environ.get(PLACE)
    if named and named != RECORDED:
        return Path(named)
    if os.name == "nt":
        root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "memlab" / "machine.json"


def save(data: Mapping[str, Any]) -> Path:
    """Save figures of this machine, beside those that are there, and return the path of the file.

    Raises:
        InputError: these are no figures.
        OSError: it cannot be written.
    """
    from_dict(data, here=True)
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.write(path, json.dumps(data, indent=1) + "\n")
    return path


def from_dict(data: Any, here: bool) -> Rates:
    """Return the figures that a file holds.

    Raises:
        InputError: damaged ones, or those of another form.
    """
    if here and (not isinstance(data, dict) or data.get("schema") != SCHEMA):
        raise InputError(f"it holds no figures of schema {SCHEMA}.")
    try:
        rates = Rates(
            {name: data["machine"][name] for name in (*data["machine"], "processor", "date")},
            str(data["command"]),
            _positive(data["flops"]),
            _positive(data["bandwidth"]),
            {tuple(map(_positive, row["layer"])): _halves(row["shares"]) for row in data["layers"]},
            {kind: tuple(map(_row, rows)) for kind, rows in data.get("kinds", {}).items()},
            here,
            _positive(1 + data.get("spread", 0)) - 1,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"its figures are damaged ({error!r}).") from None
    return rates


def _halves(shares: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    return {
        algorithm: {half: _positive(share) for half, share in halves.items()}
        for algorithm, halves in shares.items()
    }


def _row(row: tuple[Any, Any, Any]) -> tuple[float, float, float]:
    nbytes, flops, share = row
    return _positive(nbytes), _positive(flops + 1) - 1, _positive(share)


def _positive(value: Any) -> Any:
    if not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise ValueError(f"{shorten(value)} is no figure")
    return value

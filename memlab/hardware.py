"""Machines and links by their figures, each with its source and how sure it is.

The figures stand in ``hardware.toml``; a file of the same form adds machines of one's own. A figure
that no source gives is left out, and what would need it says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any

from memlab import lesson_folders, units
from memlab.errors import (
    InputError,
    known,
    named,
    one_option,
    real_number,
    shorten,
    true_or_false,
    whole_number,
)
from memlab.formats import FORMATS

SURE = ("read", "quoted", "computed", "stated", "measured")
"""How sure a figure is: read in the maker's own text, quoted from another's, computed from others,
stated by a name or by who asks, measured here."""


@dataclass(frozen=True, slots=True)
class SourcedFigure:
    """Figure and how certain it is, which is one of ``SURE``."""

    value: int
    sure: str

    def __str__(self) -> str:
        return f"{self.value:,} ({self.sure})"


@dataclass(frozen=True, slots=True)
class Link:
    """Link between two memories: bytes per second in one direction, as designed and, where a source
    says so, as ``reached`` in practice."""

    name: str
    raw: SourcedFigure
    reached: SourcedFigure | None = None
    source: str = ""

    @property
    def speed(self) -> int:
        """Bytes per second to plan with: the measured rate, or the designed one."""
        return (self.reached or self.raw).value


@dataclass(frozen=True, slots=True)
class Device:
    """Device that is described by its figures.

    ``memory`` is in bytes, ``bandwidth`` in bytes per second, ``flops`` in operations per second by
    format. ``on_chip`` says that its memory is on the chip alone. ``link`` leads to the host's
    memory; a machine with one memory for both has none.
    """

    name: str
    title: str
    memory: SourcedFigure
    source: str
    bandwidth: SourcedFigure | None = None
    flops: Mapping[str, SourcedFigure] = field(default_factory=dict)
    link: Link | None = None
    on_chip: bool = False

    @property
    def model(self) -> str:
        """Title without its year: ``'GeForce RTX 4070'``."""
        return self.title.partition(",")[0]

    def rate(self, format: str = "fp32") -> int:
        """Return the operations per second on values of a format. A format without a rate is
        computed as fp32; a format of twice the bits runs at half the rate.

        Raises:
            InputError: no source gives a rate that this follows from.
        """
        if format in self.flops:
            return self.flops[format].value
        if "fp32" in self.flops:
            return self.flops["fp32"].value // (2 if format == "fp64" else 1)
        only = f", only for {', '.join(self.flops)}" if self.flops else ""
        raise InputError(
            f"no source gives a rate of {self.name} for {format}{only}; leave the device out for "
            "the recorded machine, or try 'titan x'."
        )

    def moves(self) -> int:
        """Bytes per second between the memory and the arithmetic of the device.

        Raises:
            InputError: no source gives it.
        """
        if self.bandwidth is None:
            raise InputError(
                f"no source gives the bandwidth of {self.name}; leave the device out for the "
                "recorded machine, or try 'titan x'."
            )
        return self.bandwidth.value

    @property
    def room(self) -> int:
        """Bytes that a step must fit into: as many times 10^9 bytes as the device has GiB, which is
        a little less than it holds. A memory of whole GB, or below 4 GB, is used as it is."""
        held = self.memory.value
        rounded = round(held / 2**30) * 10**9
        return rounded if held % 10**9 and 4 * 10**9 <= rounded < held else held

    @property
    def wire(self) -> Link:
        """Link to the host's memory, which is PCIe 3.0 x16 where no source names one."""
        return self.link or LINKS["PCIe 3.0 x16"]

    def text(self) -> str:
        """Return every figure of the device with how certain it is, and its source."""
        lines = [f"{self.name}: {self.title}"]
        chip = ", on the chip" if self.on_chip else ""
        lines.append(f"  memory {units.both(self.memory.value)} ({self.memory.sure}){chip}")
        if self.bandwidth:
            lines.append(f"  bandwidth {self.bandwidth} B/s")
        lines += [f"  {format} {figure} operations/s" for format, figure in self.flops.items()]
        if self.link:
            lines.append(f"  link {self.link.name}, {self.link.speed:,} B/s ({self.link.source})")
        return "\n".join([*lines, f"  {self.source}"])


def find(name: str | Device) -> Device:
    """Return the device of that name, or the first device of a file such as ``'mine.toml'``.

    Raises:
        InputError: there is none, or the file does not hold one.
    """
    if isinstance(name, Device):
        return name
    given: object = name
    if isinstance(given, str) and given.endswith(".toml"):
        return next(iter(load(given).values()))
    return one_option("device", given, DEVICES)


def link(given: str | float | Link) -> Link:
    """Return the link of that name, or a link with the given bytes per second: ``12e9``, ``'12
    GB/s'``.

    Raises:
        InputError: no such link, or a link over which nothing moves.
    """
    if isinstance(given, Link):
        return given
    if isinstance(given, str) and not given.strip()[:1].isdigit():
        return one_option("link", given, LINKS)
    if isinstance(given, str):
        _check_unit("a link", given)
        speed = units.parse(given.strip().removesuffix("/s"))
    else:
        speed = int(real_number("link, in bytes per second,", given, 12e9))
        _check_unit("a link", speed)
    if speed < 1:
        raise InputError(f"nothing moves over a link of {shorten(given)}; try '12 GB/s'.")
    return Link(f"{units.short(speed)}/s", SourcedFigure(speed, "stated"), source="as asked")


def speed(what: str, given: str | float, usual: str) -> int:
    """Return bytes per second from ``'0.15 GB/s'`` or from a number of bytes.

    Raises:
        InputError: it is none, or nothing moves at it.
    """
    _check_unit(what, given)
    if isinstance(given, str):
        try:
            value = units.parse(given.strip().removesuffix("/s"))
        except InputError:
            raise InputError(
                f"{what} is a rate in bytes per second, got {shorten(given)}; try {usual!r}."
            ) from None
    else:
        value = int(real_number(f"{what}, in bytes per second,", given, units.parse(usual[:-2])))
    if value < 1:
        raise InputError(
            f"nothing moves at {shorten(given)} bytes per second ({what}); try {usual!r}."
        )
    return value


def _check_unit(what: str, given: object) -> None:
    """Raise an error for very few bytes per second without a unit, since 12 alone
    may mean 12 GB/s."""
    try:
        number = float(given)  # type: ignore[arg-type]  # what is no number is not judged here
    except (TypeError, ValueError, OverflowError):
        return
    if 0 < number < units.DECIMAL["MB"]:
        shown = f"{number:g}"
        few = f", or '{shown} B/s' for bytes per second" if number.is_integer() else ""
        raise InputError(
            f"{what} of {shown} has no unit, which rates below 1 MB/s need; try '{shown} GB/s'"
            f"{few}."
        )


def load(path: str | Path) -> dict[str, Device]:
    """Return the devices of a file that has the form of ``hardware.toml``, by name.

    Raises:
        InputError: no such file, no machine in it, or a figure that is none: the message names it.
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{shorten(str(path))} holds no machine: {error}.") from error
    rows = list(_devices(data, {**LINKS, **_links(data)}))
    if not rows:
        raise InputError(f"{shorten(str(path))} has no [[device]]; try one as in hardware.toml.")
    devices = dict(rows)
    if len(devices) < len(rows):
        raise InputError(f"two devices of {shorten(str(path))} have one name; rename one.")
    return devices


def _devices(data: Mapping[str, Any], links: Mapping[str, Link]) -> Iterator[tuple[str, Device]]:
    for row in _rows(data, "device", ("name", "memory"), _FIELDS):
        rates = row.get("flops", {})
        if not isinstance(rates, dict):
            raise InputError(f"flops of {row['name']} are a table by format, got {shorten(rates)}.")
        yield (
            row["name"],
            Device(
                named("a device", row["name"], "my card"),
                str(row.get("title", row["name"])),
                _figure(row, "memory", row["memory"]),
                str(row.get("source", "")),
                _figure(row, "bandwidth", row["bandwidth"]) if "bandwidth" in row else None,
                {
                    known("format", key, _RATED): _figure(row, f"flops.{key}", rates[key])
                    for key in rates
                },
                one_option("link", row["link"], links) if "link" in row else None,
                true_or_false(f"on_chip of {row['name']}", row.get("on_chip", False)),
            ),
        )


_FIELDS = ("name", "title", "memory", "source", "bandwidth", "flops", "link", "on_chip")
_RATED = (*FORMATS, "fp8")


def _links(data: Mapping[str, Any]) -> dict[str, Link]:
    return {
        row["name"]: Link(
            named("a link", row["name"], "my cable"),
            _figure(row, "raw", row["raw"]),
            _figure(row, "reached", row["reached"]) if "reached" in row else None,
            str(row.get("source", "")),
        )
        for row in _rows(data, "link", ("name", "raw"), ("name", "raw", "reached", "source"))
    }


def _rows(
    data: Mapping[str, Any], kind: str, needed: Iterable[str], fields: Collection[str]
) -> Iterator[dict[str, Any]]:
    rows = data.get(kind, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"a {kind} is a table of figures, got {shorten(rows)}; try [[{kind}]].")
    for row in rows:
        for name in needed:
            if name not in row:
                raise InputError(f"a {kind} has no {name}: {shorten(row)}.")
        for name in row:
            known(f"figure of a {kind}", name, fields)
        yield row


def _figure(row: Mapping[str, Any], what: str, given: object) -> SourcedFigure:
    """Return a figure from ``[900e9, "quoted"]``, or from a number, which counts as stated by the
    user."""
    value, sure = given if isinstance(given, list) and len(given) == 2 else (given, "stated")
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(
            f"{what} of {row['name']} is a number or [number, how sure], got {shorten(given)}; "
            'try [900e9, "quoted"].'
        )
    sure = known("word for how sure a figure is", sure, SURE)
    return SourcedFigure(whole_number(f"{what} of {row['name']}", value), sure)


@cache
def _own() -> dict[str, Any]:
    text = (lesson_folders.PACKAGE / "hardware.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


LINKS: dict[str, Link] = _links(_own())
"""Links by name."""
DEVICES: dict[str, Device] = dict(_devices(_own(), LINKS))
"""Machines by name. Three are budgets alone, a little below what the cards hold: their gigabytes
are 10^9 bytes, those of the cards 2^30."""

"""The rows of the table: claims of texts, figures of our own, and the texts themselves."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, TypeVar

import memlab
from memlab import lesson_folders, units
from memlab.claims import verdicts
from memlab.errors import InputError, known, one_option, shorten
from memlab.step.paused_gc import paused

SURE = {
    "read": "the text itself, or its author's code, was read",
    "quoted": "seen in a quotation or an abstract alone",
    "computed": "worked out here",
    "recall": "from memory, not looked up",
}
"""How sure it is that a text says so, and that our figure is what it stands for."""
HOW = ("plan", "run")
"""A claim is computed by a plan (or from the shapes of a planned network), or by a run."""
FORMULA = "formula"
"""Beside these, a figure of ours may be that of a formula of a text alone."""
T = TypeVar("T", bound="TableRow")


@dataclass(frozen=True)
class SourceText:
    """Publication that a claim quotes: its authors, its date, and how we obtained it."""

    name: str
    author: str
    title: str
    read: str
    date: str = ""

    def __str__(self) -> str:
        dated = f"; {self.date}" if self.date else ""
        return f"{self.name}: {self.author}, {self.title}{dated} ({self.read})"


@dataclass(frozen=True, kw_only=True, eq=False)
class TableRow:
    """Base of a claim and of a figure of memlab's own: how it is computed, and in which unit.

    ``how`` is ``"plan"`` or ``"run"``. With ``here`` the result is of this machine, and another one
    gives another. ``given`` are the numbers of its call that the text itself gives.
    """

    id: str
    call: str
    unit: str
    how: str
    here: bool = False
    given: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @cached_property
    def computed(self) -> int | float:
        """Result of the call, as it is printed, after ``import memlab``: a run is run now."""
        with paused():
            value: int | float = eval(self.call, {"memlab": memlab})
        return value

    @property
    def result(self) -> str:
        """Computed value with its unit; bytes are given in decimal and binary units."""
        if self.unit == "B":
            return f"{units.exact(int(self.computed))} = {units.both(int(self.computed))}"
        if self.unit == "share":
            return f"{100 * self.computed:.1f} %"
        number = f"{self.computed:,}" if isinstance(self.computed, int) else f"{self.computed:.4g}"
        return f"{number} {self.unit}"

    @property
    def way(self) -> str:
        """Way of computing the row, in words: ``'plan'``, ``'run, measured here'``."""
        return f"{self.how}, measured here" if self.here else self.how

    @property
    def named(self) -> tuple[str, ...]:
        """Short names of the texts that the row quotes."""
        raise NotImplementedError

    @property
    def sources(self) -> str:
        """Texts of the row, with author, title, date and how they were read."""
        return "; ".join(str(text(name)) for name in self.named)

    @property
    def runs(self) -> bool:
        """True if computing the value runs a step."""
        return self.how == "run"

    def as_dict(self, run: bool = True) -> dict[str, Any]:
        """Return the row as plain values for JSON. With ``run=False``, values that need a run are
        ``None``."""
        raise NotImplementedError

    def _common(self, run: bool) -> dict[str, Any]:
        due = run or not self.runs
        return {
            "id": self.id,
            "call": self.call,
            "how": self.how,
            "measured_here": self.here,
            "given": dict(self.given),
            "computed": self.computed if due else None,
            "unit": self.unit,
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim(TableRow):
    """Claim of a published figure: which text states it, what memlab computes, and whether they
    agree.

    ``text`` are short names of ``texts()``: each of them says exactly this. ``claim`` is what they
    say, in our words, ``claimed`` the printed figure with its own unit, ``note`` what is wrong with
    it. ``sure`` are words of ``SURE``.
    """

    text: tuple[str, ...]
    claim: str
    claimed: str
    sure: tuple[str, ...]

    @cached_property
    def verdict(self) -> str:
        """Verdict: ``'right'``, ``'right if MB means MiB'`` or ``'differs'``."""
        return verdicts.verdict(self.claimed, self.computed)

    @property
    def named(self) -> tuple[str, ...]:
        return self.text

    @property
    def certainty(self) -> str:
        """Certainty of the row, in words, with what that means."""
        return f"{' + '.join(self.sure)}: {'; '.join(SURE[word] for word in self.sure)}"

    def __str__(self) -> str:
        authors = " and ".join(text(name).author for name in self.text)
        said = f"{authors}: {self.claim}"
        return f"{said[0].upper()}{said[1:]}\n    {self.verdict}: {self.result}"

    def as_dict(self, run: bool = True) -> dict[str, Any]:
        common = self._common(run)
        return common | {
            "text": list(self.text),
            "source": self.sources,
            "claim": self.claim,
            "claimed": self.claimed,
            "verdict": None if common["computed"] is None else self.verdict,
            "sure": " + ".join(self.sure),
            "sure_means": {word: SURE[word] for word in self.sure},
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnFigure(TableRow):
    """Figure that memlab computes and that no text states, so it has no verdict.

    ``after`` are the texts whose formula or counting it follows.
    """

    what: str
    after: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        return self.after

    def __str__(self) -> str:
        return f"memlab: {self.what}\n    {self.result}"

    def as_dict(self, run: bool = True) -> dict[str, Any]:
        return self._common(run) | {
            "what": self.what,
            "after": list(self.after),
            "source": self.sources,
        }


def table() -> list[Claim]:
    """Return all claims of published texts, in the order of their ids."""
    return list(_claims().values())


def figures() -> list[OwnFigure]:
    """Return all figures of memlab's own, in the order of their ids."""
    return list(_figures().values())


def texts() -> dict[str, SourceText]:
    """Return the texts that claims and figures quote, by their short names."""
    return dict(_texts())


def text(name: str) -> SourceText:
    """Return the text with that short name.

    Raises:
        InputError: there is none.
    """
    return one_option("text", name, _texts())


def find(id: str) -> list[Claim | OwnFigure]:
    """Return the claims and then the figures with that id. A prefix selects a whole row: ``'A4'``
    gives all of A4.

    Raises:
        InputError: there is none.
    """
    rows: list[Claim | OwnFigure] = [*table(), *figures()]
    matches = [row for row in rows if row.id == id or row.id.startswith(f"{id}.")]
    if not matches:
        heads = dict.fromkeys(row.id.partition(".")[0] for row in rows)
        listed = ", ".join(sorted(heads, key=lambda head: (head[0], int(head[1:] or 0))))
        raise InputError(f"no claim {shorten(id)}; the rows are {listed}.")
    return matches


def of_text(rows: Iterable[T], name: str) -> list[T]:
    """Return the rows that name a text.

    Raises:
        InputError: no such text.
    """
    wanted = known("text", name, _texts())
    return [row for row in rows if wanted in row.named]


def as_printed(id: str) -> int | float:
    """Return the computed value of a claim, rounded to the digits that its text prints. Texts that
    round first calculate with this value.

    Raises:
        InputError: there is no such claim.
    """
    claim = one_option("claim", id, _claims())
    return verdicts.as_printed(claim.claimed, claim.computed)


@cache
def _claims() -> dict[str, Claim]:
    return {
        row["id"]: Claim(
            **{**row, "text": _tuple(row["text"]), "sure": tuple(row["sure"].split(" + "))}
        )
        for row in _read("claims")["claim"]
    }


@cache
def _figures() -> dict[str, OwnFigure]:
    return {
        row["id"]: OwnFigure(**{**row, "after": _tuple(row.get("after", []))})
        for row in _read("figures")["figure"]
    }


@cache
def _texts() -> dict[str, SourceText]:
    return {name: SourceText(name, **row) for name, row in _read("texts").items()}


def _tuple(names: str | list[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _read(name: str) -> dict[str, Any]:
    file = lesson_folders.PACKAGE / "claims" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))

"""Study of a text's length: peaks at a length, at half and at twice it, the longest that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from memlab import strings, units
from memlab.hardware import Device
from memlab.pictures.length.axis import doublings
from memlab.pictures.length.growth import (
    FLOOR,
    LOGITS,
    MATRICES,
    PARTS,
    REST,
    TextPeak,
    TrainingRecipe,
)
from memlab.pictures.values.number_text import three_digits
from memlab.pictures.values.study import Study
from memlab.step.tensor import Role

DRAWN = (*reversed([part for part in PARTS if part not in (*FLOOR, REST)]), *reversed(FLOOR))
"""Parts with a row beside the picture, from the top of the stack down."""
SHARES = {"quarter": (1, 4), "third": (1, 3), "half": (1, 2), "two_thirds": (2, 3),
          "three_quarters": (3, 4)}  # fmt: skip
"""Shares that have a name."""
NEAR = Fraction(1, 40)
"""A share so near to one of these has its name."""
LAWS = (("stays", 1.05), ("less", 1.9), ("twice", 2.1), ("more", 3.8), ("four", 4.2))
"""Growth when the text doubles: its key, and the ratio below which it is that."""


def law_of(now: int, double: int) -> str:
    """Return the key of the growth from one amount to another; ``'none'`` where the first is 0."""
    if not now:
        return "none"
    return next((key for key, below in LAWS if double < below * now), "more")


@dataclass(frozen=True, eq=False)
class TextLength(Study):
    """Training step of a language model on ``batch`` texts of ``length`` tokens, and a card."""

    recipe: TrainingRecipe
    batch: int
    length: int
    card: Device

    @property
    def budget(self) -> int:
        """Bytes of the card."""
        return self.card.room

    @cached_property
    def peaks(self) -> tuple[TextPeak, TextPeak, TextPeak]:
        """Peaks at half the length, at the length and at twice the length."""
        lengths = max(self.length // 2, 1), self.length, 2 * self.length
        half, now, double = (self.recipe.peak(length, self.batch) for length in lengths)
        return half, now, double

    @property
    def now(self) -> TextPeak:
        """Peak at the length."""
        return self.peaks[1]

    @property
    def over(self) -> int:
        """Bytes that the peak has more than the card; negative where it fits."""
        return self.now.nbytes - self.budget

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest texts that fit the card; 0 if not even one token does."""
        return self.recipe.longest(self.budget, self.batch)

    @cached_property
    def excess(self) -> int:
        """Bytes that texts of one token more than the longest are too much for the card."""
        return self.recipe.peak(self.longest + 1, self.batch).nbytes - self.budget

    def law(self, part: str) -> str:
        """Return the key of the growth of a part when the text doubles."""
        now, double = (peak.parts[part] for peak in self.peaks[-2:])
        return law_of(now, double)

    @property
    def largest(self) -> str:
        """Part with the most bytes at the peak."""
        return max(PARTS, key=self.now.parts.__getitem__)

    # -- in words ---------------------------------------------------------------------------

    @property
    def card_name(self) -> str:
        """Name of the card in words: ``'24 GB card'``."""
        return self.card.name if self.card.name.endswith(" card") else self.card.model

    @property
    def title(self) -> str:
        return self.finding(None).replace("*", "")

    @property
    def sentences(self) -> list[str]:
        return [self.see(None), *self.exact_lines(None)]

    @property
    def notes(self) -> list[str]:
        key = "subject" if self.batch > 1 else "subject_one"
        recipe = self.recipe
        loss = text_of("whole" if recipe.chunks == 1 else "chunks", chunks=recipe.chunks)
        return [text_of(key, model=recipe.model.title, batch=f"{self.batch:,}", loss=loss,
                        length=f"{self.length:,}",
                        attention=text_of("fused" if recipe.fused else "matrix"))]  # fmt: skip

    def finding(self, before: TextLength | None) -> str:
        """Return the finding, its weight between asterisks; ``before`` is the study of the state
        before, if a technique has changed."""
        if self.over > 0:
            amount = three_digits(self.over)
            return text_of("title.much", length=f"{self.length:,}", amount=amount)
        if key := self._switched(before):
            chunks = self.recipe.chunks
            return text_of(f"title.{key}", chunks=chunks, share=_part_of(chunks),
                           more=self._more_text(before))  # fmt: skip
        part = self.largest
        share = share_text(self.now.parts[part], self.now.nbytes)
        return text_of("title.part", part=text_of(f"title.name.{part}"), share=share)

    def _switched(self, before: TextLength | None) -> str:
        """Return which technique alone was switched on, ``'fused'`` or ``'chunks'``; or ``''``."""
        if before is None or self.batch != before.batch:
            return ""
        old, new = before.recipe, self.recipe
        if new.fused > old.fused and new.chunks == old.chunks:
            return "fused"
        return "chunks" if new.fused == old.fused and old.chunks == 1 < new.chunks else ""

    def _more_text(self, before: TextLength | None) -> str:
        """Return how many times longer a text may be, in words."""
        ratio = self.longest / before.longest if before and before.longest else 1.0
        key = "none" if ratio < 1.05 else "half" if 1.45 < ratio < 1.55 else "times"
        return text_of(f"more.{key}", times=f"{ratio:.1f}")

    def see(self, before: TextLength | None) -> str:
        """Return a sentence on what to look at."""
        if key := self._switched(before):
            return f"{text_of(f'see.{key}')} {text_of('dashed')}"
        fits = text_of("see.fits" if self.peaks[2].nbytes <= self.budget else "see.much")
        return f"{text_of('see.twice', clauses=', '.join(self._clauses()))} {fits}"

    def _clauses(self) -> Iterator[str]:
        """Yield what twice the text does to the floor, and to the parts above it by their law."""
        floor = law_of(self.now.floor, self.peaks[2].floor)
        yield text_of("see.floor", law=text_of(f"floor_law.{floor}"))
        parts = [part for part in reversed(DRAWN) if part not in FLOOR and self.now.parts[part]]
        for key, _ in LAWS:
            if names := [text_of(f"short.{part}") for part in parts if self.law(part) == key]:
                yield text_of(f"clause.{key}", names=strings.series(names))

    def exact_lines(self, before: TextLength | None) -> list[str]:
        """Return the peak and the longest text that fits, in exact figures."""
        was = [before.now.nbytes, before.longest] if before else [None, None]
        peak, longest = ("" if old is None else text_of("before", value=f"{old:,}") for old in was)
        key = "longest" if self.longest else "none"
        return [
            text_of("exactly", peak=units.exact(self.now.nbytes), operation=self.now.operation,
                    before=peak),
            text_of(key, card=self.card_name, budget=units.exact(self.budget),
                    tokens=f"{self.longest:,}", before=longest,
                    more=f"{self.longest + 1:,}", over=units.exact(self.excess)),
        ]  # fmt: skip

    def amount(self, part: str) -> str:
        """Return the bytes of a part in three digits, or why there are none."""
        if nbytes := self.now.parts[part]:
            return three_digits(nbytes)
        if part in (Role.GRADIENT_MAP, Role.PARAMETER_GRADIENT):
            return text_of("law.yet")
        return text_of("law.gone" if part == MATRICES and self.recipe.fused else "law.none")

    def formula(self, part: str) -> str:
        """Return the bytes of a part as a product of whole numbers, or ``''`` where it has none."""
        model, nbytes = self.recipe.model, self.now.parts[part]
        if part == MATRICES:
            count, rest = divmod(nbytes, 4 * self.batch * model.heads * self.length**2)
            return self._product("matrices", count, rest, heads=model.heads)
        if part == LOGITS:
            count, rest = divmod(nbytes, 8 * self.batch * model.vocabulary)
            return self._product("logits", count, rest, vocabulary=f"{model.vocabulary:,}")
        return ""

    def _product(self, key: str, count: int, rest: int, **values: object) -> str:
        if rest or not count:
            return ""
        return text_of(f"formula_{key}", count=count, tokens=f"{count:,}", batch=f"{self.batch:,}",
                       length=f"{self.length:,}", **values)  # fmt: skip

    def products(self) -> list[str]:
        """Return the products of the parts that have one, in words."""
        parts = [(part, self.formula(part)) for part in DRAWN]
        return [text_of("fact", name=text_of(f"part.{part}"), formula=formula,
                        bytes=units.exact(self.now.parts[part]))
                for part, formula in parts if formula]  # fmt: skip

    # -- tables -----------------------------------------------------------------------------

    def roles(self) -> list[list[str]]:
        """Return exact bytes at half, now and double by part, with the law; heads first."""
        lengths = (self.length // 2, self.length, 2 * self.length)
        named = zip(("half", "now", "double"), lengths, strict=True)
        heads = [text_of(f"table.{key}", length=f"{length:,}") for key, length in named]
        rows = [["", *heads, text_of("table.law")]]
        for part in (*DRAWN, REST):
            sizes = [peak.parts[part] for peak in self.peaks]
            if part in DRAWN or any(sizes):
                laws = text_of(f"law.{self.law(part)}")
                rows.append([text_of(f"part.{part}"), *(f"{n:,}" for n in sizes), laws])
        totals = [peak.nbytes for peak in self.peaks]
        rows.append([text_of("peak"), *(f"{n:,}" for n in totals),
                     text_of(f"law.{law_of(*totals[1:])}")])  # fmt: skip
        return rows

    def doubled(self) -> list[list[str]]:
        """Return the exact peak at each doubling of the axis, and whether it fits; heads first."""
        rows = [[text_of(f"table.{key}") for key in ("length", "peak", "fits")]]
        for length in doublings():
            peak = int(self.recipe.curves.peak(length, self.batch))
            fits = text_of("table.yes" if peak <= self.budget else "table.no")
            rows.append([f"{length:,}", f"{peak:,}", fits])
        return rows


def share_text(part: int, whole: int) -> str:
    """Return a share in words where it is near to one with a name, else in percent."""
    share = Fraction(part, whole)
    for key, (above, below) in SHARES.items():
        if abs(share - Fraction(above, below)) <= NEAR:
            return text_of(f"share.{key}")
    if share > Fraction(19, 20):
        return text_of("share.most")
    return text_of("share.percent", percent=round(100 * share))


def _part_of(parts: int) -> str:
    """Return one of so many parts in words: ``'an eighth'``."""
    named = {2: "half", 4: "quarter", 8: "eighth"}
    key = named.get(parts, "part")
    return text_of(f"share.{key}", parts=parts)


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"length.{key}", **values)

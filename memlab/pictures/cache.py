"""Cache of keys and values of a language model that writes: bytes by the length of its texts.

A cache of some texts grows in proportion to their tokens. On two logarithmic axes that is a
straight line for each number of texts, and the parameters are a level line; beside it stand the
bytes at one length on a linear scale, and the heads of one layer with what is kept for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log10
from typing import Any, ClassVar

from memlab import hardware, strings, units
from memlab.formats import FORMATS
from memlab.networks.language_models import MODELS, LanguageModel, find, shared_heads
from memlab.pictures.draw.bars import next_row
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import (
    Fact,
    Line,
    Mark,
    OpenEdge,
    Points,
    Rect,
    Rule,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Band, LogScale, Scale, Steady, Tick
from memlab.pictures.draw.table import Below, Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.length import axis
from memlab.pictures.length.axis import FIRST, LAST
from memlab.pictures.length.view import CARDS
from memlab.pictures.live.setting import Checkbox, Select, Setting, State, asking, frame_height
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.values.number_text import round_bytes, three_digits
from memlab.pictures.values.study import Study
from memlab.step.tensor import Role

TEXTS = {1: "one", 4: "four", 16: "sixteen"}
"""Numbers of texts that have a line, each with the key of its name."""
WIDTHS = {1: 1.6, 4: 3.0, 16: 4.6}
"""Pixels: width of the line of so many texts."""
FORMATS_OFFERED = ("fp32", "bf16", "fp16", "fp8_e4m3fn")
KEPT, PARAMETERS = 2, 0
"""Numbers of the alternatives whose colours are those of feature maps and of parameters."""
NARROW, SHARE = 760, 0.63
"""Width in pixels of a page from which the bars stand beside the lines, and the share of it that
the lines have."""
HEIGHT, ABOVE, BELOW, RIGHT, LEFT = 300, 26, 64, 80, 52
"""Pixels: height of the lines' frame, room above, below, right and left of it."""
ROOM = 6
"""The bars have room for so many times the parameters."""
ROW, THICK = 46, 20
"""Pixels from bar to bar, and height of a bar."""
HEADS = 62
"""Pixels: height of the picture of the heads."""
KEYS = (*axis.KEYS, "ArrowUp", "ArrowDown", "KeyG", "Escape")


# -- what is shown ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TextCache(Study):
    """Cache of a model at a length of its texts, with the parameters, both in one format."""

    model: LanguageModel
    length: int
    format: str

    @property
    def per_token(self) -> int:
        """Bytes of the keys and values of one token."""
        return self.model.cache_per_token(self.format)

    @cached_property
    def parameters(self) -> int:
        """Bytes of the parameters."""
        return self.model.parameter_bytes(self.format)

    def cache(self, count: int, tokens: int | None = None) -> int:
        """Return the bytes of the cache of so many texts, at the length or of other ``tokens``."""
        return self.model.cache(count, tokens or self.length, self.format)

    def passes(self, count: int) -> int:
        """Return the tokens of each of so many texts at which the cache passes the parameters."""
        return self.model.passes(count, self.format)

    @property
    def seen(self) -> list[int]:
        """Numbers of texts whose cache passes the parameters on the axis."""
        return [count for count in TEXTS if FIRST <= self.passes(count) <= LAST]

    # -- in words ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return self.finding(None).replace("*", "")

    @property
    def sentences(self) -> list[str]:
        return [self.see(None), self.formula]

    @property
    def notes(self) -> list[str]:
        model = self.model
        subject = text_of("subject", model=model.title, heads=model.heads, kv=model.kv_heads,
                          format=self.format)  # fmt: skip
        return [subject, text_of("source", source=model.source)]

    @property
    def formula(self) -> str:
        """Return the bytes of one token as a product."""
        model, bits = self.model, FORMATS[self.format].bits
        return text_of("formula", layers=model.layers, kv=model.kv_heads, size=model.head_size,
                       bits=bits, bytes=units.exact(self.per_token))  # fmt: skip

    def finding(self, before: TextCache | None) -> str:
        """Return the finding, its weight between asterisks; ``before`` is the study with other
        heads of keys and values, if these have changed."""
        if before is None:
            return text_of("title.passes" if self.seen else "title.stays")
        share = Fraction(self.per_token, before.per_token)
        if share > 1:
            return text_of("title.wider", times=_number(round(share)))
        more = self.passes(1) / before.passes(1)
        key = "times" if more >= floor(1 / share) else "nearly"
        return text_of(
            "title.one" if self.model.kv_heads == 1 else "title.grouped",
            heads=_number(self.model.group).capitalize(),
            share=_share(round(1 / share)),
            more=text_of(f"more.{key}", times=_number(round(1 / share))),
        )

    def see(self, before: TextCache | None) -> str:
        """Return a sentence on what to look at."""
        if before is None:
            return f"{text_of('see.each')} {text_of('see.quarter')}"
        key = "grouped" if self.per_token < before.per_token else "wider"
        return text_of(f"see.{key}", heads=self.model.heads)

    def said(self, count: int) -> str:
        """Return where the cache of so many texts passes the parameters, in words."""
        tokens = self.passes(count)
        key = "passes" if tokens <= LAST else "beyond"
        return text_of(key, texts=texts_name(count).capitalize(), tokens=f"{tokens:,}")

    def rows(self) -> list[list[str]]:
        """Return the exact bytes by the number of texts, heads first."""
        keys = ("texts", "token", "now", "passes")
        rows = [[text_of(f"table.{key}", length=f"{self.length:,}") for key in keys]]
        for count in TEXTS:
            sizes = count, count * self.per_token, self.cache(count), self.passes(count)
            rows.append([f"{size:,}" for size in sizes])
        return rows

    def batches(self) -> list[list[str]]:
        """Return the largest batch on each card, heads first."""
        cards = [hardware.find(name) for name in CARDS]
        rows = [[text_of("table.card"), text_of("table.largest")]]
        for card in cards:
            count = self.model.largest_batch(card.room, self.length, self.format)
            rows.append([card.name, f"{count:,}"])
        return rows


def texts_name(count: int) -> str:
    """Return a number of texts in words: ``'four texts'``."""
    return text_of(f"texts.{TEXTS[count]}")


def _number(count: int) -> str:
    """Return a small number in words, a larger one in digits."""
    key = f"cache.number.{count}"
    return strings.get(key) if strings.has(key) else str(count)


def _share(parts: int) -> str:
    """Return one of so many parts in words: ``'a third'``."""
    key = f"cache.share.{parts}"
    return strings.get(key) if strings.has(key) else text_of("share.part", parts=parts)


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"cache.{key}", **values)


# -- the view --------------------------------------------------------------------------------------


def _heads(now: State) -> dict[int, str]:
    """Return the labels of the numbers of heads of keys and values that a model can have."""
    model = find(now.network)

    def label(count: int) -> str:
        if count == model.heads:
            return text_of("control.all_heads", heads=count)
        key = "groups" if count > 1 else "one_head"
        return text_of(f"control.{key}", heads=count, group=model.heads // count)

    return {count: label(count) for count in shared_heads(model)}


class CachedText(View[TextCache]):
    """Cache of keys and values of a language model that writes, over the length of its texts.

    >>> view = memlab.views.cache("gpt2")
    >>> view.per_token, [view.rows.passes(texts) for texts in (1, 4, 16)]
    (73728, [6752, 1688, 422])
    >>> view.kv_heads = 4
    >>> view.per_token, [view.rows.passes(texts) for texts in (1, 4, 16)]
    (24576, [18716, 4679, 1170])
    """

    name, made_by = "cache", "cache"
    positional = ("network", "length")
    picture_keys = KEYS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "surprise": {"network": "llama2_7b", "format": "fp16"}
    }

    network = Select({name: model.title for name, model in MODELS.items()},
                     doc="a language model: a name of ``memlab.language_models``",
                     default="gpt2", code="plain")  # fmt: skip
    length = axis.length_setting()
    kv_heads = Select(
        _heads, doc="heads of keys and values; those of the model if not given",
        default=lambda now: find(now.network).kv_heads, follows=["network"],
    )  # fmt: skip
    format = Select(FORMATS_OFFERED, doc="of the parameters and of the cache", place="more")
    numbers = Checkbox(doc="whether all numbers are shown", stays=True, argument=False, key="KeyN")
    asked = asking("where the cache passes the parameters")
    height = frame_height("the lines' frame", HEIGHT, 240, 600)
    chosen: Setting[str] = Setting(
        doc="the number of texts that is in focus", default="", argument=False, code="never"
    )

    @property
    def per_token(self) -> int:
        """Bytes of the keys and values of one token."""
        return self.rows.per_token

    def study(self, now: State) -> TextCache:
        return TextCache(find(now.network).grouped(now.kv_heads), now.length, now.format)

    def outline_key(self, now: State) -> object:
        return now.network, now.kv_heads, now.format

    def test_state(self, now: State) -> str:
        rows = self.rows_of(now)
        told = "" if now.asked else rows.passes(1)
        return "|".join(map(str, (now.network, now.length, now.kv_heads, rows.per_token, told)))

    def says(self, scene: PageState) -> str:
        now, rows = scene.now, self.rows_of(scene.now)
        if now.chosen and not scene.news:
            count = int(now.chosen)
            return text_of("row", name=text_of("bar", texts=texts_name(count)),
                           amount=units.exact(rows.cache(count)))  # fmt: skip
        if now.asked:
            return text_of("title.asked").replace("*", "")
        passed = [rows.said(count) for count in TEXTS]
        return f"{rows.finding(self.before(scene)).replace('*', '')}. {'. '.join(passed)}."

    def fact(self, scene: PageState) -> str:
        return f"choose:{scene.now.chosen}" if scene.now.chosen else ""

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if name == "choose" and value in map(str, TEXTS):
            return now.replace(chosen="" if value == now.chosen else value)
        if name != "key":
            return None
        if value == "KeyG":
            counts = shared_heads(find(now.network))
            at = counts.index(now.kv_heads) + 1
            return self.by_key(now, kv_heads=counts[at % len(counts)])
        if value in ("ArrowUp", "ArrowDown", "Escape"):
            return now.replace(chosen=next_row([*map(str, TEXTS)], now.chosen, value))
        return self.by_key(now, length=axis.length_after(now.length, str(value)))

    def before(self, scene: PageState) -> TextCache | None:
        """Return the study of the state before at the length of now, where that has other heads of
        keys and values of the same model."""
        now, old = scene.now, scene.previous
        if old is None or now.asked or now.kv_heads == old.kv_heads:
            return None
        same = (old.network, old.format) == (now.network, now.format)
        return self.rows_of(old.replace(length=now.length)) if same else None

    def compose(self, scene: PageState) -> Page:
        now = scene.now
        shown = CachePageInputs(self.rows_of(now), self.before(scene), scene.width, now.height,
                                now.chosen, now.numbers, now.asked)  # fmt: skip
        return shown.page(self.says(scene))


cache = maker(CachedText)


# -- the page --------------------------------------------------------------------------------------


class CachePageInputs(axis.LengthPicture[TextCache]):
    """Everything that the picture depends on; the study before has other heads of keys and
    values."""

    @property
    def scale(self) -> LogScale:
        """Scale of bytes: from one text of the published model at the first length, to all texts
        with a key and a value for each head at the last; it holds the parameters, too."""
        published = TextCache(MODELS[self.study.model.name], FIRST, self.study.format)
        widest = TextCache(published.model.grouped(published.model.heads), LAST, published.format)
        ends = published.cache(1), widest.cache(max(TEXTS)), published.parameters
        low, high = 0.8 * min(ends), 1.3 * max(ends)
        powers = range(ceil(log10(low)), floor(log10(high)) + 1)
        return LogScale(low, high, 10, round_bytes,
                        tuple(10.0**power for power in powers))  # fmt: skip

    def page(self, says: str) -> Page:
        """Return the page."""
        study, wide = self.study, self.width >= NARROW
        finding = text_of("title.asked") if self.asked else study.finding(self.before)
        side = Below([_bars(self), *_head_blocks(self)])
        halves: list[PageBlock] = [_lines(self), side]
        blocks: list[PageBlock] = [
            Paragraphs([emphasized(finding)], 20),
            Paragraphs(text_of("see.each") if self.asked else study.see(self.before), 13, gap=2),
            *([SideBySide([(halves[0], SHARE), (side, 1 - SHARE)], gap=6)] if wide else halves),
            *self._twin(),
        ]
        return Page(finding.replace("*", ""), blocks, self.width, says, titled=False)

    def _twin(self) -> Iterator[PageBlock]:
        """Yield the exact figures, which are drawn where all numbers are asked for."""
        study, drawn = self.study, self.numbers
        parameters = text_of("parameters", count=f"{study.model.parameters:,}",
                             bytes=units.exact(study.parameters))  # fmt: skip
        yield Paragraphs([*study.notes, study.formula, parameters], 12, drawn=drawn, gap=8)
        if not self.asked:
            heads, *rows = study.rows()
            yield Table(heads, rows, ">>>>", drawn=drawn, gap=8)
            heads, *rows = study.batches()
            title = text_of("table_title", length=f"{study.length:,}")
            yield Table(heads, rows, "<>", title, drawn=drawn, gap=8)

    def pale(self, count: int) -> bool:
        """True if another number of texts is in focus."""
        return self.chosen not in ("", str(count))


# -- lines over the length -------------------------------------------------------------------------


def _lines(shown: CachePageInputs) -> Chart:
    """Return the chart: a line for each number of texts, and the parameters."""
    marks: list[Mark] = [
        *axis.foot(float, shown.scale.first, text_of("axis"), BELOW - 4),
        *_curves(shown),
        Rule(y=shown.study.parameters, look="grid", crossed=True),
        Line([(FIRST, shown.study.parameters), (LAST, shown.study.parameters)], PARAMETERS,
             width=5, fact=Fact(text_of("parameter"), nbytes=shown.study.parameters)),
        *([] if shown.asked else _crossings(shown)),
        *_pole(shown),
        _parameter_name(shown),
    ]  # fmt: skip
    y = shown.scale
    ticks = y.ticks if shown.numbers else _ends(y.ticks)
    levels = [Rule(y=value, crossed=True) for value in y.values]
    old = [] if shown.before is None else list(_straight(shown, shown.before))
    return Chart(LogScale(FIRST, LAST), y, [*levels, *marks], shown.height, None,
                 Axis(grid=False, ticks=ticks), left=LEFT, right=RIGHT, above=ABOVE, below=BELOW,
                 previous=[Line(points, width=1) for _, points in old],
                 told=list(_told(shown)))  # fmt: skip


def _ends(ticks: list[Tick]) -> list[Tick]:
    """Return the first and the last tick."""
    return [ticks[0], ticks[-1]] if len(ticks) > 1 else ticks


def _told(shown: CachePageInputs) -> Iterator[str]:
    """Yield what is written on the chart of lines."""
    study, ticks = shown.study, shown.scale.ticks
    yield text_of("ends", first=f"{FIRST:,}", last=f"{LAST:,}", low=ticks[0][1], high=ticks[-1][1])
    yield text_of("here", length=f"{study.length:,}")
    if not shown.asked:
        yield from map(study.said, TEXTS)


def _straight(
    shown: CachePageInputs, study: TextCache
) -> Iterator[tuple[int, list[tuple[float, float]]]]:
    """Yield each number of texts with both ends of its line, as far as the axes reach; where the
    answer is asked for, up to the length."""
    low = shown.scale.first
    for count in TEXTS:
        per = count * study.per_token
        first, last = max(float(FIRST), low / per), shown.study.length if shown.asked else LAST
        if first < last:
            yield count, [(first, first * per), (float(last), float(last * per))]


def _curves(shown: CachePageInputs) -> Iterator[Mark]:
    """Yield the line of each number of texts with its name at the right end."""
    for count, points in _straight(shown, shown.study):
        fact = Fact(text_of("bar", texts=texts_name(count)), nbytes=shown.study.cache(count),
                    more=text_of("fact", texts=texts_name(count),
                                 tokens=f"{shown.study.length:,}"))  # fmt: skip
        width = WIDTHS[count]
        look: str | int = "rule faint" if shown.pale(count) else KEPT
        yield Line(points, look, width=1 if shown.pale(count) else width, fact=fact)
        x, y = points[-1]
        yield ChartText(x, y, texts_name(count), 12, dx=8, dy=4)


def _crossings(shown: CachePageInputs) -> Iterator[Mark]:
    """Yield marks where the cache passes the parameters: a dot, a line down, and the tokens."""
    study, before, low = shown.study, shown.before, shown.scale.first
    if before:
        for count in before.seen:
            yield Points([(before.passes(count), before.parameters)], "hollow", 9)
    for count in study.seen:
        x = study.passes(count)
        yield Rule(x=x, span=(low, study.parameters), look="rule", below=28, crossed=True)
        yield Points([(x, study.parameters)], size=9)
        yield ChartText(x, low, f"{x:,}", 13, "middle", dy=40, bold=True, chip=True)


def _pole(shown: CachePageInputs) -> Iterator[Mark]:
    """Yield marks for the length that is chosen: a line, its handle and its name."""
    study, scale = shown.study, shown.scale
    room = 0 if study.length < 2 * FIRST else shown.width
    name = text_of("here", length=f"{study.length:,}")
    yield from axis.pole(study.length, (scale.first, scale.last), name, room)


def _parameter_name(shown: CachePageInputs) -> Label:
    """Return the name of the parameters, beside their line where there is room."""
    y = shown.study.parameters
    places = [(x, y, anchor, dx, dy) for x, anchor, dx in
              ((FIRST, "start", 6.0), (LAST, "end", -6.0), ((FIRST * LAST) ** 0.5, "middle", 0.0))
              for dy in (-9.0, 18.0)]  # fmt: skip
    return Label(text_of("parameter"), places, 12, bold=True, chip=True, kept=True)


# -- bytes at one length ---------------------------------------------------------------------------


def _bars(shown: CachePageInputs) -> Chart:
    """Return the chart: the parameters and the caches at the length as bars on a linear scale,
    which no length changes."""
    study, before = shown.study, shown.before
    published = TextCache(MODELS[study.model.name], FIRST, study.format)
    end = ROOM * published.parameters
    marks: list[Mark] = [
        ChartText(0, 0, text_of("at"), 13, dy=-10, bold=True),
        Rule(x=study.parameters, look="grid", crossed=True),
    ]
    rows = [(text_of("parameter"), study.parameters, Role.PARAMETER, 0)]
    rows += [(text_of("bar", texts=texts_name(count)), study.cache(count), Role.FEATURE_MAP, count)
             for count in TEXTS]  # fmt: skip
    for row, (name, nbytes, role, count) in enumerate(rows):
        old = before and (before.cache(count) if count else before.parameters)
        marks += _bar_words(row, name, nbytes, end)
        send = ("choose", str(count)) if count else None
        marks.append(Rect(0, min(nbytes, end), row + 0.4, row + 1, PAINTS[role], thick=THICK,
                          fact=Fact(name, nbytes=nbytes), send=send))  # fmt: skip
        if old and old > nbytes:
            marks.append(Rect(min(nbytes, end), min(old, end), row + 0.4, row + 1, "before",
                              thick=THICK))  # fmt: skip
        if nbytes > end:
            half = THICK / ROW / 2
            marks.append(OpenEdge(row + 0.7 - half, row + 0.7 + half, "right", end))
    told = [text_of("row", name=name, amount=three_digits(nbytes)) for name, nbytes, *_ in rows]
    return Chart(Steady(0, end, end), Band(len(rows), 0), marks, ROW * len(rows), left=0, right=2,
                 above=26, told=told)  # fmt: skip


def _bar_words(row: int, name: str, nbytes: int, end: int) -> Iterator[ChartText]:
    """Yield the name and the amount above a bar."""
    yield ChartText(0, row + 0.4, name, 12, dy=-2)
    yield ChartText(end, row + 0.4, three_digits(nbytes), 12, "end", dy=-2, bold=True)


# -- the heads of one layer ------------------------------------------------------------------------


def _head_blocks(shown: CachePageInputs) -> Iterator[PageBlock]:
    """Yield the picture of the heads of one layer, and its key."""
    model = shown.study.model
    count, group = model.heads, model.group
    size = min(14.0, 0.62 * 280 / count)
    marks: list[Mark] = [ChartText(0, 1, text_of("heads"), 13, dy=-8, bold=True)]
    for kept in range(model.kv_heads):
        middle = kept * group + group / 2
        heads = [kept * group + head + 0.5 for head in range(group)]
        marks += [Line([(x, 0.66), (middle, 0.42)], "rule faint", width=0.8) for x in heads]
        half = size / 2 / (280 / count)
        marks.append(Rect(middle - half, middle + half, 0.16, 0.42, PAINTS[Role.FEATURE_MAP]))
    marks.append(Points([(head + 0.5, 0.78) for head in range(count)], "ring", size))
    fact = text_of("subject", model=model.title, heads=count, kv=model.kv_heads,
                   format=shown.study.format)  # fmt: skip
    marks.append(Rect(0, count, 0, 1, "target", fact=Fact(fact)))
    yield Chart(Scale(0, count), Scale(0, 1), marks, HEADS, left=0, right=2, above=24,
                name=text_of("heads"))  # fmt: skip
    yield Key([("ring", text_of("asks")), (PAINTS[Role.FEATURE_MAP], text_of("kept"))], 11, gap=0)

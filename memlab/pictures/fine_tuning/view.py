"""View of fine-tuning: a language model of which all parameters learn, or adapters alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from memlab.networks import language_models
from memlab.pictures.draw.bars import next_place
from memlab.pictures.draw.page import Page
from memlab.pictures.fine_tuning.page import FineTuningPageInputs, page
from memlab.pictures.fine_tuning.ways import (
    ADAPTED,
    FineTuning,
    TuningRecipe,
    name_of,
    parts_of,
    text_of,
)
from memlab.pictures.length import axis
from memlab.pictures.length.view import BATCHES, PLANNED
from memlab.pictures.live.fixed_axes import Needs, SteadyView
from memlab.pictures.live.setting import Checkbox, Range, Select, Setting, State, asking
from memlab.pictures.live.view import PageState, maker

RANKS = (1, 2, 4, 8, 16, 32, 64, 128)
KEYS = ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Escape")


class FineTuningMemory(SteadyView[FineTuning]):
    r"""Model state and maps of a language model: fully trained, and with low-rank adapters.

    >>> view = memlab.views.fine_tuning("gpt2", batch=8)
    >>> [way.peak for way in view.rows.ways]
    [9675578372, 7139308548, 6884836356]
    """

    name, made_by = "fine_tuning", "fine_tuning"
    positional = ("network", "batch", "length")
    picture_keys = KEYS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"surprise": {"length": 256, "batch": 1}}
    """Few maps, so that the model state is nearly all."""

    network = Select(PLANNED, doc="a language model that memlab plans: "
                     f"{', '.join(PLANNED)}", default="gpt2", code="plain")  # fmt: skip
    batch = Range(1, 1024, doc="texts in a mini-batch", default=8, stops=BATCHES, code="always")
    length = axis.length_setting()
    rank = Select(RANKS, doc="the rank of the adapters", default=16)
    adapters = Select(tuple(ADAPTED), doc="the layers that have adapters: ``\"q and v\"``, "
                      "``\"q, k and v\"`` or ``\"all\"``")  # fmt: skip
    fused = Checkbox(doc="attention without its matrices", default=True, key="KeyF")
    numbers = Checkbox(doc="whether all numbers are shown", stays=True, argument=False, key="KeyN")
    asked = asking("which memory shrinks")
    chosen: Setting[str] = Setting(
        doc="the row and the part that are in focus", default="", argument=False, code="never"
    )

    def study(self, now: State) -> FineTuning:
        model = language_models.find(now.network)
        recipe = TuningRecipe(model, now.rank, now.adapters, now.fused)
        return FineTuning(recipe, now.batch, now.length)

    def needs(self, now: State, rows: FineTuning) -> Needs:
        return rows.first.totals

    def card(self, now: State) -> tuple[int, int]:
        return 0, 0  # no card is shown

    def question(self, now: State) -> object:
        return now.network, now.fused

    def test_state(self, now: State) -> str:
        rows = self.rows_of(now)
        peaks = (rows.first.peak,) if now.asked else (way.peak for way in rows.ways)
        parts = (now.network, now.batch, now.length, now.rank, now.adapters, now.fused, *peaks)
        return "|".join(map(str, parts))

    def says(self, scene: PageState) -> str:
        """Return the finding after a change, else what the keyboard has reached."""
        now, rows = scene.now, self.rows_of(scene.now)
        if now.chosen in self._places(now) and not scene.news:
            row, _, part = now.chosen.partition(":")
            way = rows.ways[int(row)]
            return f"{way.label}, {name_of(part)}: {rows.amount(way, part)}"
        if now.asked:
            return f"{text_of('title.asked').replace('*', '')} {rows.lines[0]}"
        return f"{rows.title}. {' '.join(rows.lines)}"

    def fact(self, scene: PageState) -> str:
        return f"choose:{scene.now.chosen}" if scene.now.chosen else ""

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        places = self._places(now)
        if name == "choose" and value in places:
            return now.replace(chosen="" if value == now.chosen else value)
        if name != "key":
            return None
        return now.replace(
            chosen="" if value == "Escape" else next_place(places, now.chosen, value)
        )

    def _places(self, now: State) -> list[str]:
        """Return the row and the part of everything that is drawn."""
        ways = self.rows_of(now).ways[: 1 if now.asked else None]
        return [f"{row}:{part}" for row, way in enumerate(ways) for part in parts_of(way)]

    def compose(self, scene: PageState) -> Page:
        now = scene.now
        shown = FineTuningPageInputs(self.rows_of(now), now.room, scene.width, now.numbers,
                                     now.chosen, now.asked)  # fmt: skip
        return page(shown, self.says(scene))


fine_tuning = maker(FineTuningMemory)

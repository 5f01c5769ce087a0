"""View of a text's length: a language model in training, and how its bytes grow with the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from memlab import hardware
from memlab.networks import language_models
from memlab.networks.language_models import MODELS
from memlab.pictures.draw.bars import next_row
from memlab.pictures.draw.page import Page
from memlab.pictures.length import axis
from memlab.pictures.length.growth import TrainingRecipe
from memlab.pictures.length.page import HEIGHT, LengthPageInputs, page
from memlab.pictures.length.text_length import DRAWN, TextLength, text_of
from memlab.pictures.live.setting import (
    ByName,
    Checkbox,
    Range,
    Select,
    Setting,
    State,
    asking,
    frame_height,
)
from memlab.pictures.live.view import PageState, View, maker

BATCHES = tuple(2**power for power in range(8))
CHUNKS = (1, 2, 4, 8, 16, 32)
"""Numbers of chunks that are offered; with 1 the loss is computed at once."""
CARDS = ("12 GB card", "24 GB card", "80 GB card")
PLANNED = {name: model.title for name, model in MODELS.items() if model.planned}
KEYS = (*axis.KEYS, "ArrowUp", "ArrowDown", "KeyP", "KeyC", "Escape")


class LengthOfText(View[TextLength]):
    """Bytes of a language model in training over the length of its texts, against a card.

    >>> view = memlab.views.length("gpt2", batch=8)
    >>> view.peak, view.longest
    (19334536196, 1188)
    >>> view.fused = True
    >>> view.peak, view.longest
    (9675578372, 2814)
    """

    name, made_by = "length", "length"
    positional = ("network", "batch", "length")
    picture_keys = KEYS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "surprise": {"fused": True, "length": 2048}, "break": {"length": 4096}
    }  # fmt: skip
    """The logits are most of what is left to save; and a text that is too long."""

    network = Select(PLANNED, doc="a language model that memlab plans: "
                     f"{', '.join(PLANNED)}", default="gpt2", code="plain")  # fmt: skip
    batch = Range(1, 1024, doc="texts in a mini-batch", default=8, stops=BATCHES, code="always")
    length = axis.length_setting()
    fused = Checkbox(doc="attention without its matrices", key="KeyF")
    chunks = Select(CHUNKS, doc="parts in which the loss is computed (``memlab.chunked_loss``); 1 "
                    "for the whole")  # fmt: skip
    card = ByName(
        {name: name for name in CARDS}, doc="a card by name (``memlab.hardware``)",
        default="24 GB card", check=hardware.find, write=lambda device: repr(device.name),
    )  # fmt: skip
    numbers = Checkbox(doc="whether all numbers are shown", stays=True, argument=False, key="KeyN")
    asked = asking("how long a text may be")
    height = frame_height("the chart's frame", HEIGHT, 200, 600)
    chosen: Setting[str] = Setting(
        doc="the part that is in focus", default="", argument=False, code="never"
    )

    @property
    def peak(self) -> int:
        """Bytes of the peak on display."""
        return self.rows.now.nbytes

    @property
    def longest(self) -> int:
        """Tokens of the longest texts that fit the card."""
        return self.rows.longest

    def study(self, now: State) -> TextLength:
        recipe = TrainingRecipe(language_models.find(now.network), now.fused, now.chunks)
        return TextLength(recipe, now.batch, now.length, now.card)

    def outline_key(self, now: State) -> object:
        return now.network, now.batch, now.fused, now.chunks

    def test_state(self, now: State) -> str:
        rows = self.rows_of(now)
        told = "" if now.asked else rows.longest
        parts = (now.network, now.batch, now.length, now.fused, now.chunks, rows.now.nbytes, told)
        return "|".join(map(str, parts))

    def says(self, scene: PageState) -> str:
        now, rows = scene.now, self.rows_of(scene.now)
        if now.chosen and not scene.news:
            amount = rows.amount(now.chosen)
            return f"{text_of(f'part.{now.chosen}')}: {amount}"
        exact = rows.exact_lines(None)
        if now.asked:
            return f"{text_of('title.asked').replace('*', '')} {exact[0]}"
        return f"{rows.finding(self.before(scene)).replace('*', '')}. {' '.join(exact)}"

    def fact(self, scene: PageState) -> str:
        return f"choose:{scene.now.chosen}" if scene.now.chosen else ""

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if name == "choose" and value in DRAWN:
            return now.replace(chosen="" if value == now.chosen else value)
        if name != "key":
            return None
        if value == "KeyC":
            return self.by_key(now, chunks=1 if now.chunks > 1 else 8)
        if value in ("ArrowUp", "ArrowDown", "Escape"):
            return now.replace(chosen=next_row(DRAWN, now.chosen, value))
        if value == "KeyP":
            longest = now.length if now.asked else self.rows_of(now).longest
            return self.by_key(now, length=axis.on_axis(longest))
        return self.by_key(now, length=axis.length_after(now.length, str(value)))

    def before(self, scene: PageState) -> TextLength | None:
        """Return the study of the state before at the length and on the card of now, where that has
        other curves of the same model."""
        now, old = scene.now, scene.previous
        if old is None or now.asked or old.network != now.network:
            return None
        if self.outline_key(old) == self.outline_key(now):
            return None
        return self.rows_of(old.replace(length=now.length, card=now.card))

    def compose(self, scene: PageState) -> Page:
        now = scene.now
        shown = LengthPageInputs(self.rows_of(now), self.before(scene), scene.width, now.height,
                                 now.chosen, now.numbers, now.asked)  # fmt: skip
        return page(shown, self.says(scene))


length = maker(LengthOfText)

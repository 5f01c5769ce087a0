"""The view of a model that may not fit its card: its settings, its keys, its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from memlab.assemble.step import training_step
from memlab.errors import InputError, shorten
from memlab.networks.graph import Network
from memlab.pictures.draw.page import Page
from memlab.pictures.explain.explained import MOST, Explained, memory_text
from memlab.pictures.explain.explained_changes import ExplainedStep, memory_bytes, text_of
from memlab.pictures.explain.page import axis_bytes, explained_page
from memlab.pictures.live.fixed_axes import Needs, SteadyView
from memlab.pictures.live.setting import Checkbox, Range, Select, Setting, State, TextBox
from memlab.pictures.live.view import PageState, maker
from memlab.pictures.live.widget import Paragraph
from memlab.pictures.values.number_text import exact_text
from memlab.pictures.values.step_recipe import network_of
from memlab.step.step import Step
from memlab.strings import gettext as _

STOPS = tuple(2**power for power in range(11))


def stops(what: ExplainedStep) -> tuple[int, ...]:
    """Return the batches at which the slider stops: powers of 2 among those of the plan, and its
    least and its largest batch where it has these."""
    valid = what.plain.ledger.batches
    if valid is None:
        return STOPS
    return tuple(sorted({valid[0], valid[-1], *(stop for stop in STOPS if stop in valid)}))


def subject_of(given: object) -> ExplainedStep:
    """Return the subject of a view: a step, a network, or a network of the zoo by its name; a
    network is trained with Adam.

    Raises:
        InputError: none of these, or a step of inference.
    """
    if isinstance(given, ExplainedStep):
        return given
    if isinstance(given, str):
        return _zoo_step(given)
    step = training_step(given, "adam") if isinstance(given, Network) else given
    if not isinstance(step, Step):
        raise InputError(_("give a step, a network or its name, got {given}; for a model of "
                           "PyTorch there is memlab.explain.", given=shorten(given)))  # fmt: skip
    if not step.training:
        raise InputError("explain needs a training step, got one of inference; try "
                         "memlab.training_step(network).")  # fmt: skip
    return ExplainedStep(step)


@lru_cache(maxsize=8)
def _zoo_step(name: str) -> ExplainedStep:
    """Return the subject of a network of the zoo, trained with Adam; the last 8 are cached."""
    return ExplainedStep(training_step(network_of(name), "adam"), repr(name))


class ExplainedModel(SteadyView[Explained]):
    """Peak of a training step, the largest batch that fits a card, the change that makes one fit.

    ``view.rows`` has the exact figures; ``view.changed_by`` names the change that is on.

    >>> view = memlab.views.explain("resnet18", batch=64, memory="4 GB")
    >>> print(view.rows.fit_sentence)
    A card of 4 GB holds batch 64, and at most 109.
    """

    name, made_by = "explain", "explain"
    positional = ("what", "batch", "memory")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    what = Setting[ExplainedStep](
        doc="a step, a network, or a name of ``memlab.zoo``", default="gpt2", check=subject_of,
        code="plain", fixed=True, write=lambda subject: subject.code,
    )  # fmt: skip
    batch = Range(
        1, MOST, doc="the mini-batch size", default=8, stops=lambda now: stops(now.what),
        box=True, code="always", when=lambda now: not now.what.one_batch,
    )  # fmt: skip
    memory = TextBox(
        doc='of the card, in bytes or as ``"12 GB"``', default="12 GB", check=memory_bytes,
        show=memory_text, code="always",
        write=lambda nbytes: repr(exact_text(memory_text(nbytes), nbytes)),
    )  # fmt: skip
    changed_by = Select(
        lambda now: (
            {"": text_of("none")}
            | {change.key: change.title for change in _unchanged(now).helping}
        ),
        doc="the change that is on: a key of ``view.rows.helping``", default="",
        what="change", when=lambda now: bool(_unchanged(now).helping),
    )  # fmt: skip
    numbers = Checkbox(doc="whether every number is shown", argument=False, stays=True, key="KeyN")
    picture_keys = ("KeyC",)

    @property
    def peak(self) -> int:
        """Bytes of the peak on display."""
        return self.rows.peak.nbytes

    def study(self, now: State) -> Explained:
        return Explained(now.what, now.batch, now.memory, now.changed_by)

    def reconcile(self, new: State, was: State | None) -> State:
        keys = [change.key for change in _unchanged(new.replace(changed_by="")).helping]
        return new if new.changed_by in keys else new.replace(changed_by="")

    def needs(self, now: State, rows: Explained) -> Needs:
        return axis_bytes(rows)

    def most(self, now: State) -> Needs:
        """Return the room for this batch and the card: whether the one fits the other is the
        question."""
        step, module, card = (need * 5 // 4 for need in axis_bytes(self.rows_of(now)))
        return max(step, now.memory), module, max(card, now.memory)

    def card(self, now: State) -> Sequence[int | None]:
        return now.memory, None, now.memory

    def question(self, now: State) -> object:
        return now.memory

    def outline_key(self, now: State) -> object:
        return now.replace(numbers=False)

    def buttons(self, now: State) -> Mapping[str, str]:
        return {"start": "start", "copy": "copy"}

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        helping = self.rows_of(now).helping
        if name == "key" and value == "KeyC" and helping:
            return self.changed(now, changed_by="" if now.changed_by else helping[0].key)
        return None

    def code(self) -> str:
        now = self.state
        memory = exact_text(memory_text(now.memory), now.memory)
        return now.what.call(now.batch, memory) or super().code()

    def test_state(self, now: State) -> str:
        explained = self.rows_of(now)
        largest = "" if explained.largest is None else explained.largest
        return f"{explained.peak.nbytes}|{explained.total}|{largest}|{now.changed_by}"

    def after(self, scene: PageState) -> tuple[Paragraph, ...]:
        """Return the lines to paste as text that can be copied: the picture cuts long lines."""
        code = self.rows_of(scene.now).code
        return (Paragraph("\n".join(code), code=True),) if code else ()

    def says(self, scene: PageState) -> str:
        return " ".join(self.rows_of(scene.now).sentences)

    def compose(self, scene: PageState) -> Page:
        now = scene.now
        return explained_page(self.rows_of(now), now.room, scene.width, now.numbers, scene.live)


explain = maker(ExplainedModel)


def _unchanged(now: State) -> Explained:
    """Return the subject at a batch and a memory without a change."""
    return Explained(now.what, now.batch, now.memory)

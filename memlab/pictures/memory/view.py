"""The memory view: its settings, its keys, and how a change is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from memlab import optimizers, units
from memlab.errors import InputError, known, listed, whole_number
from memlab.layers import algorithms
from memlab.ledger.ledger import Ledger
from memlab.networks import counting, zoo
from memlab.networks.graph import Network
from memlab.networks.zoo.resnets import VARIANTS
from memlab.pictures.draw.page import Page
from memlab.pictures.live import setting
from memlab.pictures.live.fixed_axes import Needs, SteadyView, extremes
from memlab.pictures.live.setting import (
    Checkbox,
    Range,
    Select,
    Setting,
    State,
    frame_height,
    never,
    once,
)
from memlab.pictures.live.view import PageState, maker
from memlab.pictures.live.widget import Control, stop
from memlab.pictures.memory import lifetimes as small
from memlab.pictures.memory.choices import (
    BY_ROW,
    DEEPEST,
    IMAGES,
    KS,
    ROLES,
    SIDES,
    WIDEST,
    Detail,
    NetworkChoice,
    VariantChoice,
    memory_of,
    network_in,
    networks_of,
    of_network,
    offered,
    placed,
    root,
    rules_of,
    size,
    size_names,
    stored,
    taken,
    technique,
    up_to_largest,
    what_of,
)
from memlab.pictures.memory.counting_rules import RULES
from memlab.pictures.memory.page import FIRST, MemoryPageInputs, cursor_words, needs, news_of, page
from memlab.pictures.memory.snapshot import Snapshot, cut, text_of
from memlab.pictures.memory.step_memory import Budget, budget, free_here
from memlab.pictures.values.step_recipe import OFFERED, RECOMPUTES, network_of
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.strings import gettext as _

STOPS = tuple(2**power for power in range(10))
"""The batches that the slider stops at."""
MOST = 1_000_000
"""The largest batch that is drawn."""
PRESETS: dict[str, dict[str, Any]] = {
    "surprise": {"what": "vgg16", "batch": 8, "optimizer": "adam"},
    "break": {"what": "resnet50", "batch": 512, "optimizer": "momentum"},
}
"""The first is nearly all floor; the second fits few machines."""
FRONT = ("network", "batch")
OF_NETWORKS = ("optimizer", "algorithm", "recompute", *BY_ROW, *map(str, ROLES))
"""What a step that is there already does not follow."""


# -- the view --------------------------------------------------------------------------------------


class Memory(SteadyView[Snapshot]):
    """Bytes over the operations of one step: lifetimes of a small one, else floor and mountain.

    Set a setting from Python, such as ``view.batch``, and the picture follows; ``view.rows`` has
    the exact figures.

    >>> view = memlab.views.memory("mnist_cnn", batch=8)
    >>> view.peak
    84520060
    """

    name, made_by = "memory", "memory"
    tables = ("memory", "lifetimes")
    positional = ("what", "batch", "optimizer")
    presets = PRESETS
    picture_keys = (
        *("ArrowLeft", "ArrowRight", "Home", "End", "KeyP", "KeyN"),
        *("ArrowDown", "ArrowUp", "Enter", "Escape"),
    )

    what = Setting(
        doc="a name of ``memlab.zoo``, a network of yours, a step or ledger as it is, or a "
        "function that makes a step: ``lambda batch, k: ...`` is called with these settings",
        default=lambda now: network_of("mnist_cnn"),
        check=what_of,
        code="plain",
        write=lambda rows: repr(rows.name) if isinstance(rows, Network)
        else getattr(rows, "__name__", type(rows).__name__.lower()).strip("<>"),
    )  # fmt: skip
    network = NetworkChoice(
        networks_of,
        doc="the network; set it by name. None where a step is shown",
        when=of_network,
        place=placed("network"),
        argument=False,
        code="never",
        brief=lambda now: now.what.title,
        synced=False,
        get=lambda now: network_in(now) if of_network(now) else None,
        put=lambda now, rows: {"what": rows},
    )
    batch = Range(
        1, MOST, doc="the mini-batch size", default=32, box=True, code="always",
        stops=up_to_largest(STOPS),
        place=placed("batch"), brief=lambda now: text_of("batch", batch=f"{now.batch:,}"),
    )  # fmt: skip
    variant = VariantChoice(
        lambda now: VARIANTS if "variant" in size_names(now) else (),
        doc='``"v1"`` or ``"v1.5"``, for residual networks',
        default=lambda now: size_names(now).get("variant", ""),
        follows=["what"],
        place=placed("variant"),
        code=lambda now: "variant" in size_names(now),
    )
    image = size("image", IMAGES, 224, WIDEST, "height and width of the image, in pixels")
    depth = size("depth", (), 12, DEEPEST, "blocks of a transformer")
    inputs = size("inputs", up_to_largest(SIDES), 1, WIDEST, "features that go into a single layer")
    outputs = size("outputs", up_to_largest(SIDES), 1, WIDEST, "features that come out of it")
    optimizer = Select(
        {name: optimizers.title(name) for name in optimizers.OPTIMIZERS},
        doc=optimizers.ONE_OF,
        default="momentum",
        code=lambda now: "optimizer" in taken(now) and now.training,
        brief=lambda now: optimizers.title(memory_of(now).ledger.optimizer, short=True),
        **technique("optimizer"),
    )
    training = Checkbox(
        doc="a training step; False shows inference",
        default=True,
        code=lambda now: "training" in taken(now) and not now.training,
        get=lambda now: memory_of(now).ledger.training,
        **technique("training"),
    )
    format = Select(
        OFFERED,
        doc='of every array, ``"fp32"``, ``"fp64"``, ``"bf16"`` or ``"fp16"`` on a device that '
        'computes in it; or ``"mixed fp16"`` or ``"mixed bf16"`` (``memlab.precision``)',
        default="fp32",
        code=lambda now: "format" in taken(now) and now.format != "fp32",
        get=lambda now: memory_of(now).format if of_network(now) else now.format,
        **technique("format"),
    )
    parameter = stored(Role.PARAMETER)
    parameter_gradient = stored(Role.PARAMETER_GRADIENT)
    optimizer_state = stored(Role.OPTIMIZER_STATE)
    feature_map = stored(Role.FEATURE_MAP)
    gradient_map = stored(Role.GRADIENT_MAP)
    algorithm = Select(
        {name: algorithm.title for name, algorithm in algorithms.ALGORITHMS.items()},
        doc="how convolutions are computed: a name of ``memlab.algorithms``",
        default=algorithms.DEFAULT,
        brief=lambda now: "",
        **technique("algorithm"),
    )
    recompute = Select(
        {"": text_of("off")} | {name: text_of(f"recompute.{name}") for name in RECOMPUTES},
        doc='``"every"`` k-th stage is kept, ``"cheap"`` maps are made again, or the ``"chain"`` '
        "of least bytes or within a budget (``memlab.recompute``)",
        default="",
        what="way to recompute",
        brief=lambda now: "",
        **technique("recompute"),
    )
    k = Range(
        1, 1000,
        doc='stages in a segment of ``recompute="every"``; the root of their number if not given',
        default=lambda now: None if of_network(now) else taken(now).get("k") or 1,
        at=root, stops=KS, box=True, place=placed("k"), brief=lambda now: "",
        when=lambda now: "k" in taken(now) and (not of_network(now) or now.recompute == "every"),
    )  # fmt: skip
    budget = setting.TextBox(
        doc='the most bytes of the peak for ``recompute="chain"``, such as ``"1.5 GB"``; the least '
        "peak if not given", default=None, check=units.parse, show=units.short,
        place=placed("budget"), brief=lambda now: "",
        when=lambda now: "budget" in taken(now)
        and (not of_network(now) or now.recompute == "chain"),
    )  # fmt: skip
    vars().update({name: offered(name) for name in BY_ROW})  # the other techniques, by their rows
    rule = Select(
        rules_of,
        doc="a counting rule (``memlab.counting``) to outline",
        default="",
        what="counting rule",
        place=placed("rule"),
        when=lambda now: of_network(now) and now.rules,
        brief=lambda now: counting.find(now.rule).title if now.rule else "",
    )
    detail = Detail(
        ("first", "all"), doc='``"first"`` for what one sees at once, ``"all"`` for every number',
        stays=True,
    )  # fmt: skip
    cursor = Setting(
        doc="the operation to cut, counted from 1; None for the peak",
        check=lambda given: whole_number("operation", given),
        synced=True,
    )
    guess = Setting(
        doc='a guess at the peak, in bytes or as ``"1.4 GB"``', check=units.parse, stays=True,
        synced=True, code="never",
    )  # fmt: skip
    control = Setting(
        doc='the settings that stand in front, such as ``("in_place", "batch")``; the others are '
        "behind More",
        default=lambda now: FRONT,
        check=lambda given: tuple(known("control", control, CONTROLS) for control in
                                  ((given,) if isinstance(given, str) else
                                   listed("control", given, "batch"))),
        fixed=True,
    )  # fmt: skip
    budgets = Setting(
        doc="names of ``memlab.hardware``, or amounts; a card of 12 GB if not given",
        default=lambda now: (budget("12 GB card"),),
        check=lambda given: tuple(map(budget, listed("budgets", given, "12 GB card"))),
        fixed=True,
        code="never",
    )
    largest = Setting(
        doc="the largest number that the sliders of the batch and of a layer offer; the axes hold "
        "the step of this number. All numbers if not given",
        default=None,
        check=lambda given: whole_number("largest", given),
        fixed=True,
        code="never",
    )
    free = Checkbox(
        doc="also show what is free on this machine; never in stored pictures",
        default=True, when=never, fixed=True, code="never",
    )  # fmt: skip
    height = frame_height(
        "the mountain's frame; a picture block by block, which has its own height, becomes lower "
        "by as much; a lower picture says what an image adds only after a change, and names its "
        "keys only in focus",
        FIRST, 120, FIRST,
    )  # fmt: skip
    blocks = Setting(
        doc="a step of at most so many blocks is drawn block by block",
        default=small.BLOCKS,
        check=lambda given: whole_number("blocks", given, least=0),
        fixed=True,
    )
    networks = Setting(
        doc="the names to choose from; all of the zoo if not given",
        default=lambda now: tuple(zoo.ZOO),
        check=lambda given: tuple(
            known("network", name, zoo.ZOO) for name in listed("networks", given, "vgg16")
        ),
        fixed=True,
        code="never",
    )
    rules = Checkbox(
        doc="offer the counting rules", default=True, when=never, fixed=True, code="never"
    )
    own: Setting[Any] = Setting(
        doc="what the view was made for", default=lambda now: now.what, fixed=True, argument=False,
    )  # fmt: skip
    unfolded = Select(
        lambda now: memory_of(now).stages, doc="a stage whose layers are told apart", default="",
        when=never, argument=False,
    )  # fmt: skip
    chosen: Setting[str] = Setting(
        doc="the line that the keyboard is on", default="", fixed=True, argument=False
    )

    _seen: tuple[PageState, MemoryPageInputs] | None = None

    # -- what is shown ----------------------------------------------------------------------

    @property
    def peak(self) -> int:
        """Bytes of the peak that is shown."""
        return self.rows.peak.nbytes

    def study(self, now: State) -> Snapshot:
        at = None if now.cursor is None else now.cursor - 1
        return cut(memory_of(now), now.batch, at, now.unfolded)

    def reconcile(self, new: State, was: State | None) -> State:
        if new.rule and not of_network(new):
            raise InputError(_("a counting rule needs a network, got a step; leave rule out."))
        chosen = (name for name in OF_NETWORKS if getattr(new, name) != self.settings[name].default)
        given_step = was is None and isinstance(new.what, Step | Ledger)
        if given_step and (ignored := next(chosen, "")):
            raise InputError(_("{what} is chosen where a network is given, got a step as it is; "
                               "leave {what} out, or change the step.",
                               what=ignored))  # fmt: skip
        if was is None or memory_of(new).ledger.rows == memory_of(was).ledger.rows:
            return new
        return new.replace(cursor=None, unfolded="", chosen="")

    def outline_key(self, now: State) -> object:
        return id(memory_of(now)), now.batch

    def values(self, now: State) -> Mapping[str, object]:
        return {"sample": memory_of(now).sample}

    def controls(self) -> list[Control]:
        """Controls of the view, those in front in the order that was asked for."""
        order = {name: index for index, name in enumerate(self.state.control)}
        return sorted(super().controls(), key=lambda rows: order.get(
            rows.name.removesuffix("_number"), len(order)))  # fmt: skip

    def first_slider(self, now: State) -> int:
        return round(self._slider(now).where(now))

    def _slider(self, now: State) -> Range:
        """Return the first slider in front of the disclosure."""
        sliders = (self.settings[name] for name in (*now.control, "batch"))
        return next(slider for slider in sliders if isinstance(slider, Range))

    # -- the axes ---------------------------------------------------------------------------

    def needs(self, now: State, rows: Snapshot) -> Needs:
        own = (0, 0, 0)
        if small.fits(rows.memory, now.blocks):
            own = small.needs(small.lifetimes(rows.memory, now.batch))
        return *needs(rows, now.guess), *own

    def most(self, now: State) -> Needs:
        largest = []
        for state in extremes(self._slider(now), now):
            step = now if state.batch != now.batch else state  # no search for another batch
            with suppress(InputError):  # not every step can be made at both ends
                largest.append(self.needs(state, cut(memory_of(step), state.batch)))
        return tuple(map(max, zip(*largest, strict=True)))

    def _roomy(self, now: State) -> State:
        if now.largest is None:
            return super()._roomy(now)
        shown = self.needs(now, self.rows_of(now))
        return self._with(now, tuple(map(max, shown, self.most(now))))

    def card(self, now: State) -> tuple[int]:
        return (max((amount.nbytes for amount in now.budgets), default=0),)

    def question(self, now: State) -> object:
        return now.what, is_small(now)

    def buttons(self, now: State) -> Mapping[str, str]:
        names = networks_of(now)
        offered = [key for key, preset in PRESETS.items() if preset["what"] in names[1:] + names]
        return {name: name for name in ("start", *(offered if len(names) > 1 else ()), "copy")}

    def compose(self, scene: PageState) -> Page:
        now = scene.now
        if not is_small(now):
            return page(self.shown_in(scene), scene.width)
        was = scene.previous
        old = lives(was) if was and is_small(was) else None
        at = None if now.cursor is None else self.rows_of(now).at
        many = now.detail == "all"
        less = FIRST - now.height
        return small.page(lives(now), old, at, focus(now), many, scene.width, now.room[2:], less)

    def shown_in(self, scene: PageState) -> MemoryPageInputs:
        """Return everything that the picture of a scene depends on. The last result is cached."""
        if self._seen is None or self._seen[0] is not scene:
            live = free_here() if scene.now.free and scene.live else []
            self._seen = scene, self._shown(scene, live)
        return self._seen[1]

    def _shown(self, scene: PageState, live: Sequence[Budget] = ()) -> MemoryPageInputs:
        now, before = scene.now, scene.previous
        return MemoryPageInputs(
            self.rows_of(now),
            now.room[:2],
            self.rows_of(before) if before and before.rule == now.rule else None,
            [*now.budgets, *live],
            now.rule,
            now.guess,
            now.chosen,
            now.detail == "first",
            now.height,
        )

    def test_state(self, now: State) -> str:
        rows = self.rows_of(now)
        ledger = rows.memory.ledger
        mode = ledger.optimizer if ledger.training else "inference"
        return f"{ledger.network}|{now.batch}|{mode}|{rows.peak.nbytes}"

    # -- what is heard ----------------------------------------------------------------------

    def says(self, scene: PageState) -> str:
        """Return what a screen reader says: the change of the bytes, else what the keyboard has
        reached."""
        now, rows = scene.now, self.rows_of(scene.now)
        if is_small(now) and not scene.news:
            return lives(now).says(rows.at, focus(now))
        shown = self.shown_in(scene)
        here = "" if scene.news else self._place(now, rows, shown)
        verdicts = [rows.verdict(verdict) for verdict in shown.verdicts]
        return here or " ".join([f"{rows.equation(few=True)[0]}.", news_of(shown), *verdicts])

    def fact(self, scene: PageState) -> str:
        return f"choose:{scene.now.chosen}"

    def _place(self, now: State, snapshot: Snapshot, shown: MemoryPageInputs) -> str:
        """Return the line in focus, or the operation of the cursor, in words."""
        if block := shown.block:
            return f"{block.life}. {block.formula}"
        names = [row.part.name for row in snapshot.slices]
        if (name := now.chosen.removeprefix("slice:")) in names:
            return f"{name}: {units.short(snapshot.slices[names.index(name)].nbytes)}"
        return cursor_words(snapshot) if now.cursor else ""

    # -- keys and presses -------------------------------------------------------------------

    @property
    def classes(self) -> str:  # type: ignore[override]
        """The classes of its root; ``memlab-low`` hides the keys below a picture that was asked to
        be low."""
        low = " memlab-low" if self.state.height < FIRST else ""
        return f"{super().classes}{low}"

    def help(self) -> str:
        now = self.state
        walked = "rules" if now.rule else "stages" if _folded(now, self.rows_of(now)) else "blocks"
        return text_of("help", lines=text_of(f"walked.{walked}"))

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        rows = self.rows_of(now)
        last = rows.memory.operations
        if name == "operation":
            return now.replace(cursor=1 + stop(name, value, 0, last - 1))
        if name not in ("key", "choose"):
            return None
        moves = {"ArrowLeft": max(rows.at, 1), "ArrowRight": min(rows.at + 2, last),
                 "Home": 1, "End": last, "KeyP": None}  # fmt: skip
        lines = lines_of(now, rows)
        if value in moves:
            return now.replace(cursor=moves[value])
        if value == "KeyN":
            return now.replace(detail="first" if now.detail == "all" else "all", chosen="")
        if value in ("ArrowDown", "ArrowUp"):
            return _choose(now, _next(now, lines, 1 if value == "ArrowDown" else -1))
        if value == "Enter" or (value == now.chosen and value in lines):
            return _enter(now, rows)
        if value == "Escape":
            return _back(now)
        return _choose(now, value) if value in lines else None


memory = maker(Memory)
CONTROLS: tuple[str, ...] = tuple(
    name for name, control in Memory.settings.items() if callable(control.place)
)
"""The settings that can stand in front."""


# -- keys ------------------------------------------------------------------------------------------


@once
def is_small(now: State) -> bool:
    """True if the step is drawn block by block."""
    return not now.rule and bool(small.fits(memory_of(now), now.blocks))


def lives(now: State) -> small.LifetimeTable:
    """Return the lifetimes of the blocks of a small step."""
    return small.lifetimes(memory_of(now), now.batch)


def focus(now: State) -> str:
    """Return the block that the keyboard has reached."""
    return str(now.chosen.removeprefix("block:")) if now.chosen.startswith("block:") else ""


def lines_of(now: State, snapshot: Snapshot) -> list[str]:
    """Return the names of the lines that keys move through and a click selects."""
    if now.rule:
        return [f"rule:{name}" for name in RULES]
    if is_small(now):
        return [f"block:{name}" for name in small.blocks(lives(now))]
    stages = [] if now.detail == "first" else [f"slice:{row.part.name}" for row in snapshot.slices]
    return [*stages, *(f"block:{block.name}" for block in snapshot.blocks)]


def _choose(now: State, line: str) -> State:
    """Return the state with the keyboard on a line. A counting rule is outlined as soon as it is
    selected."""
    kind, _, name = line.partition(":")
    return now.replace(rule=name) if kind == "rule" else now.replace(chosen=line)


def _next(now: State, lines: Sequence[str], way: int) -> str:
    """Return the line before or after the one in focus."""
    here = f"rule:{now.rule}" if now.rule else now.chosen
    if here not in lines:
        return lines[0 if way > 0 else -1]
    return lines[min(max(lines.index(here) + way, 0), len(lines) - 1)]


def _folded(now: State, snapshot: Snapshot) -> list[str]:
    """Return the stages that keys reach and that can be unfolded."""
    if now.rule or now.unfolded or now.detail == "first" or is_small(now):
        return []
    return [row.part.name for row in snapshot.slices if row.stage]


def _enter(now: State, snapshot: Snapshot) -> State:
    """Return the state that shows the layers of a stage."""
    name = now.chosen.removeprefix("slice:")
    if name in _folded(now, snapshot):
        return now.replace(unfolded=name, chosen="")
    return now


def _back(now: State) -> State:
    """Return the state one step back: out of a stage, off a line, or to the peak."""
    if now.unfolded:
        return now.replace(unfolded="", chosen="")
    return now.replace(chosen="") if now.chosen else now.replace(cursor=None)

"""The memory view: its settings, its keys, and how a change is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memlab import units
from memlab.errors import InputError, known, listed, shorten, whole
from memlab.networks import counting, zoo
from memlab.networks.graph import Network
from memlab.planner.book import plan
from memlab.planner.ledger import Ledger
from memlab.step.rules import UPDATES
from memlab.step.step import Step
from memlab.studies import recipe
from memlab.studies.cut import Cut, cut, optimizer_name, say
from memlab.studies.memory import Budget, StepMemory, budget, free_here
from memlab.studies.recipe import OFFERED, Recipe, network_of, variants
from memlab.studies.tally import RULES
from memlab.views.draw.page import Page
from memlab.views.live.setting import Check, Choice, Range, Setting, State
from memlab.views.live.view import Scene, View, maker
from memlab.views.live.widget import Control, Labels, stop
from memlab.views.memory.page import news_of, page
from memlab.views.memory.stack import Shown, cursor_words

STOPS = tuple(2**power for power in range(10))
"""The batches that the slider stops at."""
MOST = 1_000_000
"""The largest batch that is drawn."""
PRESETS: dict[str, dict[str, Any]] = {
    "surprise": {"what": "vgg16", "batch": 8, "optimizer": "adam"},
    "break": {"what": "resnet50", "batch": 512, "optimizer": "momentum"},
}
"""The first is nearly all floor; the second fits few machines."""


# -- what is shown ---------------------------------------------------------------------------------


def what_of(given: object) -> Network | Ledger:
    """A network of the zoo by its name, one that was given, or the plan of a step.

    Raises:
        InputError: it is none of them.
    """
    if isinstance(given, str):
        return network_of(given)
    if isinstance(given, Step):
        return plan(given)
    if isinstance(given, Network | Ledger):
        return given
    raise InputError(f"give a network, a step or a ledger, got {shorten(given)}; try 'vgg16'.")


def memory_of(now: State) -> StepMemory:
    """The memory of the step that the settings make, or of the ledger as it is."""
    if isinstance(now.what, Ledger):
        return recipe.memory_of(now.what)
    return recipe.memory_of(Recipe(now.what, now.optimizer, now.training, now.format))


def of_network(now: State) -> bool:
    """Whether a network is shown, and no ledger alone."""
    return isinstance(now.what, Network)


def networks_of(now: State) -> tuple[str, ...]:
    """The networks to choose from; the one that the view was made for is one of them."""
    if isinstance(now.own, Ledger):
        return ()
    names = () if now.lock else now.networks
    return names if now.own.name in names else (now.own.name, *names)


def find(now: State, name: str) -> Network:
    """One of the networks to choose from; the view's own as it was given."""
    own: Network = now.own
    return own if name == own.name else network_of(name)


def forms(now: State) -> tuple[str, ...]:
    """The published forms of the network."""
    return variants(now.what) if of_network(now) else ()


def rules_of(now: State) -> dict[str, str]:
    """The counting rules and their titles, and none."""
    return {"": say("no_rule")} | {rule.name: rule.title for rule in counting.CONVENTIONS.values()}


def lines_of(now: State, found: Cut) -> list[str]:
    """The lines that keys walk through and a press chooses."""
    if now.rule:
        return [f"rule:{name}" for name in RULES]
    parts = [f"slice:{index}" for index in range(len(found.slices))]
    return [*parts, *(f"block:{index}" for index in range(len(found.blocks)))]


class NetworkChoice(Choice[Any]):
    """The network: chosen by its name, or given."""

    def allowed(self, given: Any, now: State) -> Any:
        if isinstance(given, Network):
            return given
        return find(now, known("network", given, networks_of(now)))

    def controls(self, now: State, labels: Labels) -> list[Control]:
        names = networks_of(now)
        if len(names) < 2:
            return []
        options = tuple((name, find(now, name).title) for name in names)
        return [Control("select", self.name, labels(self.name), now.what.name, options=options)]


class VariantChoice(Choice[str]):
    """The published form, where there are several."""

    def checked(self, given: Any, now: State) -> str:
        return self.allowed(given, now)

    def allowed(self, given: Any, now: State) -> str:
        if not forms(now):
            label = memory_of(now).label
            raise InputError(f"{label} has no variants; leave variant as it is.")
        return known("variant", given, forms(now))


def never(now: State) -> bool:
    """In no state: a setting without a control."""
    return False


# -- the view --------------------------------------------------------------------------------------


class Memory(View[Cut]):
    """Bytes over the operations of one step: the floor and the mountain.

    Set a setting from Python, such as ``view.batch``, and the picture follows; ``view.rows`` has
    the exact figures.
    """

    name, made_by = "memory", "memory"
    positional = ("what", "batch", "optimizer")
    presets = PRESETS
    picture_keys = (
        *("ArrowLeft", "ArrowRight", "Home", "End", "KeyP"),
        *("ArrowDown", "ArrowUp", "Enter", "Escape"),
    )

    what = Setting(
        doc="a name of ``memlab.zoo``, a network of yours, or a step or ledger as it is",
        default=lambda now: network_of("mnist_cnn"),
        check=what_of,
        code="plain",
        write=lambda found: repr(found.name) if isinstance(found, Network) else "ledger",
    )
    network = NetworkChoice(
        networks_of,
        doc="the network; set it by name. None where a ledger is shown",
        when=of_network,
        argument=False,
        code="never",
        get=lambda now: now.what if of_network(now) else None,
        put=lambda now, found: {"what": found},
    )
    batch = Range(
        1, MOST, doc="the mini-batch size", default=32, stops=STOPS, box=True, code="always"
    )
    variant = VariantChoice(
        forms,
        doc='``"v1"`` or ``"v1.5"``, for residual networks',
        default=None,
        place="more",
        code=lambda now: bool(forms(now)),
        get=lambda now: now.what.variant if of_network(now) else "",
        put=lambda now, form: {"what": network_of(now.what.name, form)},
    )
    optimizer = Choice(
        {name: optimizer_name(name) for name in UPDATES},
        doc='``"sgd"``, ``"momentum"`` or ``"adam"``',
        default="momentum",
        place="more",
        when=of_network,
        code=lambda now: of_network(now) and now.training,
        brief=lambda now: optimizer_name(memory_of(now).ledger.optimizer, short=True),
    )
    training = Check(
        doc="a training step; False shows inference",
        default=True,
        place="more",
        when=of_network,
        code=lambda now: of_network(now) and not now.training,
        get=lambda now: memory_of(now).ledger.training,
    )
    format = Choice(
        OFFERED,
        doc='of every array, ``"fp32"``, ``"fp64"``, ``"bf16"`` or ``"fp16"`` on a device that '
        'computes in it; or ``"mixed fp16"`` or ``"mixed bf16"`` (``memlab.precision``)',
        default="fp32",
        place="more",
        when=of_network,
        code=lambda now: of_network(now) and now.format != "fp32",
        get=lambda now: memory_of(now).format,
    )
    rule = Choice(
        rules_of,
        doc="a counting rule (``memlab.counting``) to outline",
        default="",
        what="counting rule",
        place="more",
        when=lambda now: of_network(now) and now.rules,
        brief=lambda now: counting.find(now.rule).title if now.rule else "",
    )
    cursor = Setting(
        doc="the operation to cut, counted from 1; None for the peak",
        check=lambda given: whole("operation", given),
    )
    guess = Setting(
        doc='a guess at the peak, in bytes or as ``"1.4 GB"``', check=units.parse, stays=True,
        code="never",
    )  # fmt: skip
    budgets = Setting(
        doc="names of ``memlab.devices``, or amounts; a card of 12 GB if not given",
        default=lambda now: (budget("12 GB card"),),
        check=lambda given: tuple(map(budget, listed("budgets", given, "12 GB card"))),
        fixed=True,
        code="never",
    )
    free = Check(
        doc="also show what is free on this machine; never in stored pictures",
        default=True, when=never, fixed=True, code="never",
    )  # fmt: skip
    networks = Setting(
        doc="the names to choose from; all of the zoo if not given",
        default=lambda now: tuple(zoo.ZOO),
        check=lambda given: tuple(
            known("network", name, zoo.ZOO) for name in listed("networks", given, "vgg16")
        ),
        fixed=True,
        code="never",
    )
    lock = Check(doc="show this network only", when=never, fixed=True, code="never")
    rules = Check(
        doc="offer the counting rules", default=True, when=never, fixed=True, code="never"
    )
    own: Setting[Any] = Setting(
        doc="what the view was made for", default=lambda now: now.what, fixed=True,
        argument=False,
    )  # fmt: skip
    unfolded = Choice(
        lambda now: memory_of(now).stages, doc="a stage whose layers are told apart", default="",
        when=never, argument=False,
    )  # fmt: skip
    chosen: Setting[str] = Setting(
        doc="the line that the keyboard is on", default="", fixed=True, argument=False
    )

    _seen: tuple[Scene, Shown] | None = None

    # -- what is shown ----------------------------------------------------------------------

    def study(self, now: State) -> Cut:
        at = None if now.cursor is None else now.cursor - 1
        return cut(memory_of(now), now.batch, at, now.budgets, now.unfolded)

    def settle(self, new: State, was: State | None) -> State:
        if new.rule and not of_network(new):
            raise InputError("a counting rule needs a network, got a ledger; leave rule out.")
        if was is None or memory_of(new).operations == memory_of(was).operations:
            return new
        return new.replace(cursor=None, unfolded="", chosen="")

    def described(self, now: State) -> object:
        return id(memory_of(now)), now.batch

    def values(self, now: State) -> Mapping[str, object]:
        return {"sample": memory_of(now).sample}

    def buttons(self, now: State) -> Mapping[str, str]:
        names = networks_of(now)
        offered = [key for key, preset in PRESETS.items() if preset["what"] in names[1:] + names]
        return {name: name for name in ("start", *(offered if len(names) > 1 else ()), "copy")}

    def compose(self, scene: Scene) -> Page:
        return page(self.shown_in(scene), scene.width)

    def shown_in(self, scene: Scene) -> Shown:
        """All that the picture of a scene depends on; that of the last one is kept."""
        if self._seen is None or self._seen[0] is not scene:
            live = [free_here()] if scene.now.free and scene.live else []
            self._seen = scene, self._shown(scene, live)
        return self._seen[1]

    def _shown(self, scene: Scene, live: Sequence[Budget] = ()) -> Shown:
        now, before = scene.now, scene.before
        return Shown(
            self.rows_of(now),
            self._shown(before) if before and before.now.rule == now.rule else None,
            scene.dragging,
            [*now.budgets, *live],
            now.rule,
            now.guess,
            now.chosen,
        )

    def line(self, now: State) -> str:
        found = self.rows_of(now)
        ledger = found.memory.ledger
        mode = ledger.optimizer if ledger.training else "inference"
        return f"{ledger.network}|{now.batch}|{mode}|{found.peak.nbytes}"

    # -- what is heard ----------------------------------------------------------------------

    def says(self, scene: Scene) -> str:
        """News after a change of the bytes, else what the keyboard has come to."""
        shown, found = self.shown_in(scene), self.rows_of(scene.now)
        here = "" if scene.news else self._place(scene.now, found)
        verdicts = [found.verdict(each) for each in shown.verdicts]
        return here or " ".join([f"{found.equation[0]}.", news_of(shown), *verdicts])

    def fact(self, scene: Scene) -> str:
        return f"choose:{scene.now.chosen}"

    def _place(self, now: State, found: Cut) -> str:
        """The line in focus, or the operation of the cursor."""
        kind, _, number = now.chosen.partition(":")
        if kind == "block" and int(number) < len(found.blocks):
            block = found.blocks[int(number)]
            return f"{block.life}. {block.formula}"
        if kind == "slice" and int(number) < len(found.slices):
            row = found.slices[int(number)]
            return f"{row.part.name}: {units.short(row.nbytes)}"
        return f"{cursor_words(found)}: {units.short(found.here)}" if now.cursor else ""

    # -- keys and presses -------------------------------------------------------------------

    def do(self, now: State, name: str, value: Any) -> State | None:
        found = self.rows_of(now)
        last = found.memory.operations
        if name == "operation":
            return now.replace(cursor=1 + stop(name, value, 0, last - 1))
        if name not in ("key", "choose"):
            return None
        moves = {"ArrowLeft": max(found.at, 1), "ArrowRight": min(found.at + 2, last),
                 "Home": 1, "End": last, "KeyP": None}  # fmt: skip
        lines = lines_of(now, found)
        if value in moves:
            return now.replace(cursor=moves[value])
        if value in ("ArrowDown", "ArrowUp"):
            return _choose(now, _next(now, lines, 1 if value == "ArrowDown" else -1))
        if value == "Enter" or (value == now.chosen and value in lines):
            return _enter(now, found)
        if value == "Escape":
            return _back(now)
        return _choose(now, value) if value in lines else None


memory = maker(Memory)


def _choose(now: State, line: str) -> State:
    """The state with the keyboard on a line; a rule is outlined as soon as it is chosen."""
    kind, _, name = line.partition(":")
    return now.replace(rule=name) if kind == "rule" else now.replace(chosen=line)


def _next(now: State, lines: Sequence[str], way: int) -> str:
    """The line before or after the one in focus."""
    here = f"rule:{now.rule}" if now.rule else now.chosen
    if here not in lines:
        return lines[0 if way > 0 else -1]
    return lines[min(max(lines.index(here) + way, 0), len(lines) - 1)]


def _enter(now: State, found: Cut) -> State:
    """Into a stage."""
    kind, _, number = now.chosen.partition(":")
    if kind == "slice" and not now.unfolded and found.slices[int(number)].stage:
        return now.replace(unfolded=found.slices[int(number)].part.name, chosen="slice:0")
    return now


def _back(now: State) -> State:
    """Out of a stage, off a line, to the peak."""
    if now.unfolded:
        return now.replace(unfolded="", chosen="")
    return now.replace(chosen="") if now.chosen else now.replace(cursor=None)

"""The address map: which tensors lie where in one arena, to look at, to pack by hand and to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from memlab import strings, units
from memlab.errors import InputError, flag, known, shorten
from memlab.planner.placement import BY_HAND, HOWS, Placement
from memlab.studies.figures import in_binary
from memlab.studies.memory import free_here
from memlab.studies.packed_step import (
    OFFERED,
    PUBLISHED,
    SMALL,
    TOY_NAME,
    ArenaRun,
    Subject,
    run_map,
    say,
    say_how,
    subject_of,
)
from memlab.studies.packing import Packing
from memlab.studies.recipe import network_of
from memlab.views import address_page
from memlab.views.address_map import Moment, fact
from memlab.views.draw.page import Page
from memlab.views.live.setting import Check, Choice, Number, Range, Setting, State, Text
from memlab.views.live.view import Scene, View, maker
from memlab.views.live.widget import Line, stop

BATCH, MOST = 32, 4096
"""The batch that is shown first, and the largest one that is placed."""
BUDGETS = ("12 GB card",)
"""The usual budgets."""
PASSED = ("8 GB", "4 GB")
"""Budgets that the top of a real arena goes past, one way after the other."""
REAL = ("no reuse", False), ("no reuse", True), ("best", True)
"""How a network is placed, and whether in place, one press after the other."""
MAP = ("what", "how", "batch", "in_place", "hand")
"""With these settings the addresses change."""


# -- what is chosen -------------------------------------------------------------------------------


def subject(now: State) -> Subject:
    """What is packed, in place or not."""
    found: Subject = now.what.in_place if now.in_place else now.what
    return found


def packing(now: State) -> Packing:
    """The first map of a state."""
    return _packing(subject(now), now.batch, now.base or now.how, now.hand, now.stage)


@lru_cache(maxsize=32)
def _packing(
    found: Subject, batch: int, how: str, hand: Placement | None = None, stage: str = ""
) -> Packing:
    """Everything about a placement, worked out once while it is on display."""
    made = found.placement(batch, how)
    return Packing(found, batch, hand or made, stage, made if hand else None)


def a_step(now: State) -> bool:
    """Whether a step is shown."""
    return not now.what.toy


class What(Choice[Any]):
    """What is packed: one of those offered, or what the view was made for."""

    def value(self, now: State) -> str:
        return str(now.what.name)

    def allowed(self, given: Any, now: State) -> Subject:
        return given if isinstance(given, Subject) else subject_of(given)

    def read(self, event: str, value: Any, now: State) -> Any:
        return now.own if str(value) == now.own.name else str(value)

    def labelled(self, now: State, labels: Any) -> dict[str, str]:
        first = {each.name: each.label for each in (now.own, now.what) if not each.named}
        if now.lock:
            return {now.own.name: now.own.label}
        named = (now.own.name, *OFFERED) if now.own.named else OFFERED
        others = [name for name in named if name not in first]
        known_ = {TOY_NAME, PUBLISHED}
        titles = [subject_of(n).label if n in known_ else network_of(n).title for n in others]
        return first | dict(zip(others, titles, strict=True))

    def written(self, now: State) -> str:
        return repr(now.what.name) if now.what.named else "subject"


class Placing(Choice[str]):
    """A way to place; ``"by hand"`` once a block was moved."""

    def allowed(self, given: Any, now: State) -> str:
        return known("placing", given, [*HOWS, BY_HAND])

    def labelled(self, now: State, labels: Any) -> dict[str, str]:
        return {how: say_how(how) for how in dict.fromkeys((*now.what.hows, now.how))}

    def written(self, now: State) -> str:
        return f"how={now.base if now.hand else now.how!r}"


def _moved(now: State, given: Any) -> Mapping[str, Any]:
    """The map with some blocks at addresses that are given by hand."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"moved are addresses by the names of blocks, got {shorten(given)}; "
            "try {'A': '3 MiB'}."
        )
    found = packing(now)
    hand, base = found.placement, now.base if now.hand else now.how
    for name, address in given.items():
        hand = hand.moved(name, units.parse(address))
    return {"hand": hand, "how": BY_HAND, "base": base} if given else {}


def _kept(doc: str, default: Any = None, **more: Any) -> Setting[Any]:
    """What keys and buttons choose; no argument, no control."""
    return Setting(doc=doc, default=default, argument=False, **more)


def _flag(name: str, default: bool, doc: str) -> Setting[bool]:
    """Yes or no, as the view was made."""
    return Setting(doc=doc, default=default, check=partial(flag, name), fixed=True, code="never")


def _start(now: State) -> dict[str, Any]:
    """Nothing is shared; the guess stays where it is one at the toy's arena."""
    return {"guess": now.guess if now.what.toy else None}


PRESETS = {
    "start": _start,
    "surprise": lambda now: {"how": "birth", "beside": "biggest"} | _start(now),
}
"""The second: an order that saves nothing beside one that is best."""


class AddressMap(View[Moment]):
    """Which tensors lie where in one arena, to look at, to pack by hand and to run.

    ``move(name, address)`` moves a block, ``score()`` says how good the map is, ``run()`` runs the
    step with these addresses.
    """

    name, made_by, positional = "addresses", "addresses", ("what", "batch")
    presets = PRESETS
    picture_keys = (
        *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "KeyM", "Enter", "KeyP"),
        *("BracketLeft", "BracketRight", "Digit1", "Digit2", "Digit3", "Digit4", "Digit5"),
        *("KeyR", "KeyT", "Escape"),
    )

    what = What(
        (),
        default=lambda now: subject_of(TOY_NAME),
        doc='``"toy"``, six made-up tensors; a name of ``memlab.zoo``; a network or a step; '
        '``"resnet50 chen2016"``, ResNet-50 v1.5 as that paper counts it',
        code="plain",
    )
    how = Placing(
        (),
        default="no reuse",
        doc='a placing: ``"no reuse"``, ``"birth"``, ``"biggest"``, ``"best fit"``, ``"exact"`` '
        'for a few blocks, or ``"best"``, the best known',
        code="always",
    )
    beside = Setting(
        doc="a second placing beside the first, of the toy",
        default="",
        check=lambda given: known("placing", given, ["", *HOWS]),
        follows=(*MAP, "packed"),
    )
    cursor = Range(
        1,
        lambda now: subject(now).operations,
        default=None,
        at=lambda now: packing(now).busiest + 1,
        box=True,
        follows=("what", "in_place"),
        doc="the operation to cut, counted from 1; None for the busiest",
    )
    packed = Range(
        0,
        lambda now: len(packing(now).blocks),
        default=None,
        at=lambda now: len(packing(now).blocks),
        follows=MAP,
        doc="how many blocks lie already, in the placer's order; None for all",
    )
    in_place = Check(
        doc="outputs overwrite inputs that nobody needs any more (``memlab.in_place``)",
        place="more",
        when=a_step,
        brief=lambda now: say("in_place") if now.in_place else "",
    )
    batch = Number(
        1,
        MOST,
        default=lambda now: 1 if now.what.toy else BATCH,
        doc="the mini-batch size; the toy has none",
        place="more",
        when=a_step,
        follows=("what",),
        code=a_step,
        brief=lambda now: strings.get("memory.batch", batch=f"{now.batch:,}"),
    )
    stage = Choice(
        lambda now: {"": say("control.every_stage")} | {n: n for n in subject(now).stages},
        default="",
        doc="a stage of the network, to show its blocks alone; None for all",
        place="more",
        when=a_step,
        follows=("what", "in_place"),
        brief=lambda now: str(now.stage),
    )
    guess = Text(
        doc='a guess at the arena, in bytes or as ``"9 MiB"``',
        check=units.parse,
        show=in_binary,
        place="more",
        follows=("what",),
        brief=lambda now: say("guess") + (f" {in_binary(now.guess)}" if now.guess else ""),
    )
    chosen = Setting(
        doc="the name of the block in focus",
        default="",
        check=lambda given: given,  # settle knows which blocks there are
        follows=("what", "in_place", "stage"),
    )
    budgets = Setting(
        doc="names of ``memlab.devices``, or amounts; not for the toy",
        default=lambda now: address_page.named(BUDGETS),
        check=address_page.named,
        stays=True,
        code=lambda now: not now.what.toy and now.budgets != address_page.named(BUDGETS),
        write=lambda budgets: repr(tuple(each.name for each in budgets)),
    )
    free = _flag("free", True, "also show what is free on this machine; never in stored pictures")
    moved = Setting(
        doc='addresses given by hand to some blocks, in bytes or as ``"3 MiB"``',
        default=lambda now: {},
        get=lambda now: {placed.name: placed.address for placed, _ in packing(now).moved},
        put=_moved,
        code=lambda now: now.hand is not None,
    )
    lock = _flag("lock", False, "offer nothing else to look at")
    own = _kept("what it was made for", lambda now: now.what, fixed=True)
    hand = _kept("addresses moved by hand", follows=MAP[:-1])
    base = _kept("the placing that was moved", "", follows=MAP[:-1])
    moving = _kept("blocks can be moved", False, follows=("what",))
    scored = _kept("the result was asked for", False, follows=(*MAP, "moving"))
    written = _kept("the text is shown", False, stored=False)
    reach = _kept("bytes that the axis reaches at least", 0, follows=("what", "batch"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._ran: tuple[Packing, ArenaRun] | None = None
        super().__init__(*args, **kwargs)

    # -- states ---------------------------------------------------------------------------------

    def settle(self, new: State, was: State | None) -> State:
        if new.in_place and new.what.toy and was is not None and not was.what.toy:
            new = new.replace(in_place=False)
        if new.beside and not new.what.toy:
            raise InputError("only the toy is shown twice, side by side; leave beside out.")
        if new.hand is None:
            known("placing", new.how, HOWS)
        found = packing(new)
        known("block", new.chosen, ["", *found.by_name])
        return new.replace(packed=None) if new.packed == len(found.blocks) else new

    def study(self, now: State) -> Moment:
        first = packing(now)
        maps = [first]
        if now.beside:
            maps.append(_packing(first.subject, now.batch, now.beside))
        at = first.busiest if now.cursor is None else now.cursor - 1
        alive = [placed for placed in first.at(at) if first.of_stage(placed)]
        largest = max(alive, key=lambda placed: placed.size, default=None)
        return Moment(
            tuple(maps),
            len(first.blocks) if now.packed is None else now.packed,
            at,
            first.by_name[now.chosen] if now.chosen else largest,
            cursor=now.cursor is not None,
            chosen=bool(now.chosen),
            guess=now.guess,
            reach=now.reach,
            moving=now.moving,
            scored=now.scored,
        )

    def line(self, now: State) -> str:
        found = packing(now)
        return f"{now.what.name}|{found.placement.how}|{found.arena}"

    def described(self, now: State) -> object:
        same = (now.what, now.in_place, now.batch, now.how, now.beside, now.hand)
        return *same, now.packed, now.scored, now.stage

    # -- from Python ----------------------------------------------------------------------------

    @property
    def placement(self) -> Placement:
        """The addresses on display."""
        return self.rows.packing.placement

    def move(self, name: str, address: int | str) -> None:
        """Put a block at another address, in bytes or as ``"3 MiB"``.

        Raises:
            InputError: no such block, or no such address.
        """
        self.change(moved={name: address}, chosen=name)

    def score(self) -> str:
        """The top of this map beside the lower bound and the optimum, in words."""
        return self.rows.packing.score()

    def run(self) -> ArenaRun:
        """Run the step with these addresses, and as it was without an arena.

        Raises:
            InputError: the toy, which has no arithmetic; a step that takes long.
        """
        self._run(self.state)
        self.refresh()
        assert self._ran is not None
        return self._ran[1]

    def _run(self, now: State) -> None:
        found = packing(now)
        self._ran = found, run_map(found.subject, found.placement, found.batch)

    def ran(self, scene: Scene) -> ArenaRun | None:
        """What came out where the map on display ran on this machine."""
        (found, ran), now = self._ran or (None, None), packing(scene.now)
        same = found and found.subject is now.subject and found.placement == now.placement
        return ran if same and scene.live else None

    # -- buttons, presses and keys --------------------------------------------------------------

    def buttons(self, now: State) -> Mapping[str, str]:
        moving = {"leave": "leave", "score": "score"} if now.moving else {"move": "move"}
        turn = self._turn(now)
        shown = {"start": TOY_NAME, "surprise": TOY_NAME, "break": SMALL, "real": PUBLISHED}
        offered = type(self).what.labelled(now, None)
        others = {name: name for name, what in shown.items() if what in offered}
        others |= {"real": f"real_{turn}"} if turn else {}
        return {**moving, "run": "run", **others, "copy": "copy"}

    def do(self, now: State, name: str, value: Any) -> State | None:
        if name == "key":
            return self._press(now, str(value))
        if name == "at":
            return now.replace(cursor=stop("operation", value, 0, subject(now).operations - 1) + 1)
        if name == "choose":
            return self.changed(now, chosen=str(value))
        if name == "score":
            return now.replace(scored=True)
        answers = {"move": self._toggled, "leave": self._toggled, "run": self._run,
                   "break": self._broken, "real": self._real}  # fmt: skip
        return answers[name](now) if name in answers else None

    def _press(self, now: State, key: str) -> State | None:
        """The state after a key in the picture."""
        moment = self.rows_of(now)
        way = 1 if key in ("ArrowUp", "ArrowRight") else -1
        if key in ("ArrowLeft", "ArrowRight"):
            return now.replace(chosen=address_page.born(moment, way).name)
        if key in ("ArrowUp", "ArrowDown") and now.moving and moment.focus:
            address = address_page.lifted(moment, moment.focus, way)
            name = moment.focus.name
            return self.changed(now, moved={name: address}, chosen=name)
        if key in ("ArrowUp", "ArrowDown"):
            return now.replace(chosen=address_page.neighbour(moment, way).name)
        if key in ("BracketLeft", "BracketRight"):
            at = moment.at + (2 if key == "BracketRight" else 0)
            return now.replace(cursor=min(max(at, 1), subject(now).operations))
        if key.startswith("Digit"):
            hows = now.what.hows[int(key[-1]) - 1 :][:1]
            return self.changed(now, how=hows[0]) if hows else now
        if key in ("KeyP", "KeyT"):
            turned = {"cursor": None} if key == "KeyP" else {"written": not now.written}
            return now.replace(**turned)
        answers = {"KeyM": self._toggled, "KeyR": self._run, "Enter": self._enter,
                   "Escape": self._back}  # fmt: skip
        return answers[key](now) if key in answers else None

    def _toggled(self, now: State) -> State:
        """Into Move mode, all blocks on the table and one in focus; or out of it."""
        if now.moving:
            return now.replace(moving=False, scored=False)
        focus = self.rows_of(now).focus
        return now.replace(moving=True, beside="", packed=None, chosen=focus.name if focus else "")

    def _enter(self, now: State) -> State:
        """The score in Move mode; else the largest block at the cursor, and from a block to its
        stage."""
        focus = self.rows_of(now).focus
        if now.moving:
            return now.replace(scored=True)
        if now.chosen and focus and focus.entry and not now.stage:
            return now.replace(stage=focus.entry.stage)
        return now.replace(chosen=focus.name) if focus else now

    def _back(self, now: State) -> State:
        if now.moving:
            return self._toggled(now)
        if now.stage:
            return now.replace(stage="")
        return now.replace(chosen="") if now.chosen else now.replace(cursor=None)

    def _broken(self, now: State) -> State:
        """A map with one fault, and what came of it."""
        plain: dict[str, Any] = {"batch": None, "in_place": False, "guess": None, "stage": ""}
        found = self.changed(now, what=SMALL, how="best", packed=None, **plain)
        wrong, address = packing(found).broken()
        cursor, moved = wrong.block.birth + 1, {wrong.name: address}
        state = self.changed(found, moved=moved, chosen=wrong.name, cursor=cursor)
        self._run(state)
        return state

    def _real(self, now: State) -> State:
        """The next of the three maps of a network; the first one sets the axis for all."""
        how, in_place = REAL[self._turn(now)]
        if now.reach and now.what.name == PUBLISHED:
            return self.changed(now, how=how, in_place=in_place)
        found = self.changed(
            now, what=PUBLISHED, batch=None, budgets=PASSED, how=how, in_place=in_place
        )
        return found.replace(reach=packing(found).arena)

    def _turn(self, now: State) -> int:
        """Which of the three a press shows: the one after the one on display, else the first."""
        shown = now.how, now.in_place
        held = now.what.name == PUBLISHED and now.reach and shown in REAL
        return (REAL.index(shown) + 1) % len(REAL) if held else 0

    # -- what is shown --------------------------------------------------------------------------

    def says(self, scene: Scene) -> str:
        moment, now = self.rows_of(scene.now), scene.now
        found = moment.packing
        if now.chosen and moment.focus and not scene.news:
            return ". ".join([now.chosen, *found.facts(moment.focus)])
        told = found.told(moment.count) if moment.count < len(found.blocks) else None
        first = told.text() if told else found.figures()[0]
        return " ".join(
            filter(None, [address_page.zoomed(found), first, *address_page.bold(moment)])
        )

    def fact(self, scene: Scene) -> str:
        found = self.rows_of(scene.now)
        return str(fact(found.packing, found.focus)) if scene.now.chosen and found.focus else ""

    def status(self, scene: Scene) -> str:
        ran = self.ran(scene)
        return ran.news() if ran else ""

    def lines(self, scene: Scene) -> Sequence[Line]:
        ran, peak = self.ran(scene), address_page.peak(self.rows_of(scene.now))
        return [Line(each) for each in [*(ran.sentences() if ran else []), *peak[:1]]]

    def after(self, scene: Scene) -> Sequence[Line]:
        found = address_page.peak(self.rows_of(scene.now))[1:]
        found += [self.compose(scene).text()] if scene.now.written else []
        return [Line(each, code=True) for each in found]

    def compose(self, scene: Scene) -> Page:
        moment, now = self.rows_of(scene.now), scene.now
        here = [free_here()] if scene.live and now.free and not now.what.toy else []
        was, slides = self._was(scene)
        return address_page.page(moment, [*now.budgets, *here], scene.width, was, slides)

    def _was(self, scene: Scene) -> tuple[Packing | None, bool]:
        """The map before, where it is one of the same and a page may show how it changed; whether
        it has just changed on the same axis, and not by hand."""
        now, before = scene.now, scene.previous
        alone = scene.live and not now.beside
        if before is None or before.beside or before.what is not now.what or not alone:
            return None, False
        axis = now.what.toy or now.reach == before.reach > 0
        return packing(before), scene.news and axis and now.hand is None


addresses = maker(AddressMap)

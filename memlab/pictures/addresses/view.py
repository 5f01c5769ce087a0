"""The address map: which tensors lie where in one arena, to look at, to pack by hand and to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain
from typing import Any, ClassVar

from memlab import strings, units
from memlab.errors import InputError, known, shorten
from memlab.pictures.addresses.address_map import (
    LEFT,
    RIGHT,
    AddressChart,
    MapMoment,
    facts,
    outside,
    paint,
)
from memlab.pictures.addresses.packing import (
    OFFERED,
    SMALL,
    TOY_NAME,
    Packing,
    PackingSubject,
    Placed,
    say_how,
    shortly,
    subject_of,
    text_of,
)
from memlab.pictures.addresses.running import ArenaRun, run_map
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.table import Below, Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import FREE
from memlab.pictures.live.setting import Checkbox, NumberBox, Range, Select, Setting, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.live.widget import Paragraph, stop
from memlab.pictures.values.step_recipe import network_of
from memlab.placement.placement import BY_HAND, HOWS, Placement
from memlab.strings import gettext as _

BATCH, MOST = 32, 4096
"""The batch that is shown first, and the largest one that is placed."""
MAP = ("what", "how", "batch", "in_place", "hand")
"""With these settings the addresses change."""
APART, PAIR, TABLE = 18, 600, 720
"""Pixels between two maps, and from which width on they stand side by side; from which one on a
table of blocks has room."""
LISTED = 12
"""Blocks that have a line, the largest."""


# -- what is chosen -------------------------------------------------------------------------------


def subject(now: State) -> PackingSubject:
    """Subject of a state, in place or not."""
    found: PackingSubject = now.what.in_place if now.in_place else now.what
    return found


def packing(now: State, how: str = "") -> Packing:
    """The map of a state, or that of another placing."""
    chosen, moves = (how, ()) if how else now.hand or (now.how, ())
    return _packing(subject(now), now.batch, chosen, moves)


@lru_cache(maxsize=32)
def _packing(
    found: PackingSubject, batch: int, how: str, moves: tuple[tuple[str, int], ...]
) -> Packing:
    """Everything about a placement, worked out once while it is on display."""
    made = found.placement(batch, how)
    hand = reduce(lambda map_, move: map_.moved(*move), moves, made)
    return Packing(found, batch, hand, made)


def a_step(now: State) -> bool:
    """Whether a step is shown."""
    return not now.what.toy


class What(Select[Any]):
    """Choice of the subject: one of those offered, or the one that the view was made for."""

    def value(self, now: State) -> str:
        return str(now.what.name)

    def allowed(self, given: Any, now: State) -> PackingSubject:
        return given if isinstance(given, PackingSubject) else subject_of(given)

    def read(self, event: str, value: Any, now: State) -> Any:
        return now.own if str(value) == now.own.name else str(value)

    def labelled(self, now: State, labels: Any) -> dict[str, str]:
        made = {each.name: each.label for each in (now.own, now.what)}
        titles = {n: network_of(n).title if n != TOY_NAME else text_of("toy") for n in OFFERED}
        return made | titles if now.own.named else made | titles | made

    def as_code(self, now: State) -> str:
        return repr(now.what.name) if now.what.named else "subject"


class Placing(Select[str]):
    """A way to place; ``"by hand"`` once a block was moved."""

    def allowed(self, given: Any, now: State) -> str:
        return known("placing", given, [*HOWS, BY_HAND])

    def labelled(self, now: State, labels: Any) -> dict[str, str]:
        left_out = "best" if now.what.toy else "exact"  # that is for few blocks
        hows = dict.fromkeys([*(how for how in HOWS if how != left_out), now.how])
        return {how: say_how(how) for how in hows}

    def as_code(self, now: State) -> str:
        return f"how={now.hand[0] if now.hand else now.how!r}"


def _moved(now: State, given: Any) -> Mapping[str, Any]:
    """The map with some blocks at addresses that are given by hand."""
    if not isinstance(given, Mapping):
        raise InputError(
            _("moved are addresses by the names of blocks, got {given}; try {{'A': '3 MiB'}}.",
              given=shorten(given))
        )  # fmt: skip
    how, moves = now.hand or (now.how, ())
    found = {name: units.parse(address, bare=True) for name, address in given.items()}
    for name, address in found.items():
        packing(now).placement.moved(name, address)  # what cannot be is refused here
    hand = how, tuple((dict(moves) | found).items())
    return {"hand": hand, "how": BY_HAND} if given else {}


def _kept(doc: str, default: Any = None, **more: Any) -> Setting[Any]:
    """Setting of keys and buttons: no argument, no control."""
    return Setting(doc=doc, default=default, argument=False, **more)


class AddressMap(View[MapMoment]):
    """Which tensors lie where in one arena, to look at, to pack by hand and to run.

    ``move(name, address)`` moves a block, ``score()`` says how good the map is, ``run()`` runs the
    step with these addresses.
    """

    name, made_by, positional = "addresses", "addresses", ("what", "batch")
    presets: ClassVar = {
        "surprise": {"how": "birth", "beside": "biggest"},
        "real": {"what": "resnet50", "batch": 16, "how": "best", "in_place": True},
    }
    picture_keys = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape", "KeyM",
                    "KeyP", "KeyR")  # fmt: skip

    what = What(
        (),
        default=lambda now: subject_of(TOY_NAME),
        doc='``"toy"``, six made-up tensors; a name of ``memlab.zoo``; a network or a step',
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
        at=lambda now: packing(now).placement.busiest + 1,
        follows=("what", "in_place"),
        doc="the operation to cut, counted from 1; None for the busiest",
    )
    numbers = Checkbox(doc="every number: the largest blocks, of all or at the cursor", key="KeyN")
    packed = Range(
        0,
        lambda now: len(packing(now).blocks),
        default=None,
        at=lambda now: len(packing(now).blocks),
        follows=MAP,
        place="more",
        doc="how many blocks lie already, in the placer's order; None for all",
        when=lambda now: now.what.toy,
        brief=lambda now: text_of("packed"),
    )
    in_place = Checkbox(
        doc="outputs overwrite inputs that nobody needs any more (``memlab.in_place``)",
        place="more",
        when=a_step,
        follows=("what",),
        brief=lambda now: text_of("in_place") if now.in_place else "",
    )
    batch = NumberBox(
        1,
        MOST,
        default=lambda now: 1 if now.what.toy else BATCH,
        doc="the mini-batch size; the toy has none",
        place="more",
        when=a_step,
        follows=("what",),
        code=a_step,
        brief=lambda now: text_of("batch", batch=f"{now.batch:,}"),
    )
    chosen = Setting(
        doc="the name of the block in focus",
        default="",
        check=lambda given: given,  # settle knows which blocks there are
        follows=("what", "in_place"),
    )
    moved = Setting(
        doc='addresses given by hand to some blocks, in bytes or as ``"3 MiB"``',
        default=lambda now: {},
        get=lambda now: {placed.name: placed.address for placed, _ in packing(now).moved},
        put=_moved,
        code=lambda now: now.hand is not None,
    )
    own = _kept("what it was made for", lambda now: now.what, fixed=True)
    hand = _kept("the placing from which blocks were moved, and where to", follows=MAP[:-1])
    moving = _kept("blocks can be moved", False, follows=("what",))
    scored = _kept("the result was asked for", False, follows=(*MAP, "moving"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._ran: tuple[Packing, ArenaRun] | None = None
        super().__init__(*args, **kwargs)

    # -- states ---------------------------------------------------------------------------------

    def reconcile(self, new: State, was: State | None) -> State:
        if new.how == BY_HAND and new.hand is None and was is not None and was.hand:
            new = new.replace(how=was.hand[0])
        if new.beside and not new.what.toy:
            raise InputError(_("only the toy is shown twice, side by side; leave beside out."))
        if new.hand is None:
            known("placing", new.how, HOWS)
        found = packing(new)
        known("block", new.chosen, ["", *found.by_name])
        return new.replace(packed=None) if new.packed == len(found.blocks) else new

    def study(self, now: State) -> MapMoment:
        first = packing(now)
        return MapMoment(now, (first, *([packing(now, now.beside)] if now.beside else [])))

    def test_state(self, now: State) -> str:
        placement = packing(now).placement
        return f"{now.what.name}|{placement.how}|{placement.arena}"

    def outline_key(self, now: State) -> object:
        return now.what, now.in_place, now.batch, now.how, now.beside, now.hand

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
        self._set(moved={name: address}, chosen=name)

    def score(self) -> str:
        """The top of this map beside the lower bound and the optimum, in words."""
        return self.rows.packing.score()

    def run(self) -> ArenaRun:
        """Run the step with these addresses, and as it was without an arena.

        Raises:
            InputError: the toy, which has no arithmetic; a step that takes long.
        """
        found = self._run(self.state)
        self.refresh()
        return found

    def _run(self, now: State) -> ArenaRun:
        found = packing(now)
        self._ran = found, run_map(found.subject, found.placement, found.batch)
        return self._ran[1]

    # -- buttons, presses and keys --------------------------------------------------------------

    def buttons(self, now: State) -> Mapping[str, str]:
        moving = ("leave", "score") if now.moving else ("move",)
        names = (*moving, "run", "start", "surprise", "break", "real", "copy")
        return {name: name for name in names}

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if name == "key":
            return self._press(now, str(value))
        if name == "at":
            return now.replace(cursor=stop("operation", value, 0, subject(now).operations - 1) + 1)
        if name == "choose":
            return self.changed(now, chosen=str(value))
        if name == "put":
            return self._put(now, str(value)) if now.moving else None
        if name == "score":
            return now.replace(scored=True)
        if name == "run":
            self._run(now)
        answers = {"move": _toggled, "leave": _toggled, "break": self._broken}
        return answers[name](now) if name in answers else None

    def _put(self, now: State, value: str) -> State:
        """The state after a block was dragged: ``"A 3145728"``, inside what the picture shows."""
        name, _, address = value.rpartition(" ")
        found = packing(self._origin.now if self._origin else now)
        focus = found.by_name[known("block", name, found.by_name)]
        high = found.placement.total if found.subject.toy else found.placement.arena
        place = stop("address", address, 0, max(high - focus.size, 0)) + found.unit // 2
        return self.changed(now, moved={name: place // found.unit * found.unit}, chosen=name)

    def _press(self, now: State, key: str) -> State | None:
        """The state after a key in the picture."""
        moment = self.rows_of(now)
        way = 1 if key in ("ArrowUp", "ArrowRight") else -1
        if key in ("ArrowUp", "ArrowDown") and now.moving and moment.focus:
            focus, found = moment.focus, moment.packing
            most = found.placement.total - focus.size
            address = min(max(focus.address + way * found.unit, 0), most)
            return self.changed(now, moved={focus.name: address}, chosen=focus.name)
        if key.startswith("Arrow"):
            return now.replace(chosen=_born(moment, way).name)
        answers = {
            "KeyM": _toggled,
            "KeyR": lambda now: self.on_action(now, "run", None),
            "KeyP": lambda now: now.replace(cursor=None),
            "Enter": lambda now: now.replace(scored=now.moving),
            "Escape": _back,
        }
        return answers[key](now) if key in answers else None

    def _broken(self, now: State) -> State:
        """A map with one fault, and what came of it."""
        plain: dict[str, Any] = {"batch": None, "packed": None}
        found = self.changed(now, what=SMALL, how="best", **plain)
        wrong, address = packing(found).broken()
        cursor, moved = wrong.block.birth + 1, {wrong.name: address}
        state = self.changed(found, moved=moved, chosen=wrong.name, cursor=cursor)
        self._run(state)
        return state

    # -- what is shown --------------------------------------------------------------------------

    def says(self, scene: PageState) -> str:
        moment, now = self.rows_of(scene.now), scene.now
        if moment.focus and not (scene.news or now.scored):
            return ". ".join([now.chosen, *moment.packing.about(moment.focus)])
        told = moment.packing.told(moment.count) if now.packed is not None else None
        return " ".join([told.text() if told else _headline(moment), *_sentences(moment)])

    def fact(self, scene: PageState) -> str:
        return str(facts(self.rows_of(scene.now).packing).get(scene.now.chosen, ""))

    def lines(self, scene: PageState) -> Sequence[Paragraph]:
        """Outcome where the map on display ran on this machine."""
        (found, ran), now = self._ran or (None, None), packing(scene.now)
        same = found and found.subject is now.subject and found.placement == now.placement
        return [Paragraph(each) for each in ran.sentences()] if ran and same and scene.live else []

    def compose(self, scene: PageState) -> Page:
        moment, now = self.rows_of(scene.now), scene.now
        charts, found = self._charts(scene), moment.packing
        blocks = [
            Paragraphs([[(_headline(moment), True)]], 20),
            Paragraphs(_sentences(moment), 13, bold=bool(found.overlaps or now.scored)),
            *_maps(charts, scene.width),
            _key(charts[0]),
            *chain.from_iterable(_exact(chart, scene.width >= TABLE) for chart in charts),
            Paragraphs(lambda: list(_phases(found.subject)), drawn=False),
        ]
        others = [say_how(each.placement.how) for each in moment.maps[1:]]
        return Page(", ".join([found.title, *others]), blocks, scene.width)

    def _charts(self, scene: PageState) -> list[AddressChart]:
        """A chart for each map. Of the map before, the top is shown, and blocks are seen to come
        from there, but not to a fault, nor by hand: the axis holds both."""
        moment, now, before = self.rows_of(scene.now), scene.now, scene.previous
        found, pair = moment.packing, len(moment.maps) > 1
        alike = scene.live and not pair and before and not before.beside
        was = packing(before) if before and alike and before.what is now.what else None
        changed = was is not None and was.placement != found.placement
        slides = changed and scene.news and now.hand is None and not found.overlaps
        top = was.placement.arena if was and was.placement.arena != found.placement.arena else None
        wide = (scene.width - APART) / 2 if pair and scene.width >= PAIR else scene.width
        slid = was.placement if was and slides else None
        return [AddressChart(moment, each, wide - LEFT - RIGHT, top, slid, scene.live)
                for each in moment.maps]  # fmt: skip


addresses = maker(AddressMap)


# -- from state to state --------------------------------------------------------------------------


def _toggled(now: State) -> State:
    """Move mode turned on, with all blocks on the table, or off."""
    if now.moving:
        return now.replace(moving=False, scored=False)
    return now.replace(moving=True, beside="", packed=None)


def _back(now: State) -> State:
    if now.moving:
        return _toggled(now)
    return now.replace(chosen="") if now.chosen else now.replace(cursor=None)


def _born(moment: MapMoment, way: int) -> Placed:
    """The block that is born before or after the one in focus; the small ones are left out."""
    blocks, focus = moment.packing.large, moment.focus
    if focus not in blocks:
        return blocks[0 if way > 0 else -1]
    return blocks[min(max(blocks.index(focus) + way, 0), len(blocks) - 1)]


# -- words ----------------------------------------------------------------------------------------


def _headline(moment: MapMoment) -> str:
    """Finding of one map, or of two."""
    if len(moment.maps) == 1:
        return moment.packing.headline(moment.count)
    first, second = (shortly(each.placement.arena) for each in moment.maps)
    return text_of("finding.pair", first=first, second=second)


def _sentences(moment: MapMoment) -> list[str]:
    """Faults, and the score where it was asked for; else a hint what to see."""
    found, now = moment.packing, moment.now
    if told := [*found.faults(), *([found.score()] if now.scored else [])]:
        return told
    rounded = [text_of("rounds", align=found.placement.alignment)] if found.rounds else []
    return [" ".join([text_of("moving" if now.moving else "see"), *rounded])]


# -- blocks of the page ---------------------------------------------------------------------------


def _maps(charts: Sequence[AddressChart], width: float) -> Sequence[PageBlock]:
    """The maps side by side, or one below the other; the names of two."""
    names = [say_how(chart.packing.placement.how) for chart in charts] if charts[1:] else [""]
    columns = [
        Below([Paragraphs(name, 13, bold=True, left=LEFT), chart.strip(), chart.map()], gap=6)
        for name, chart in zip(names, charts, strict=True)
    ]
    return [SideBySide([(column, 1) for column in columns], APART)] if width >= PAIR else columns


def _exact(chart: AddressChart, wide: bool) -> Iterator[PageBlock]:
    """Every figure, how it was packed, and the largest blocks: of all, or at the cursor from the
    top down. Where the page is not ``wide``, their table is in the text alone."""
    found, moment = chart.packing, chart.moment
    count = moment.count if chart.first else len(found.blocks)
    yield Paragraphs(lambda: [*found.sentences, *found.story(count)], drawn=moment.now.numbers,
                gap=10 if moment.now.numbers else 1)  # fmt: skip
    if chart.toy:
        yield Paragraphs(lambda: found.letters(count), drawn=False, gap=1)
    cut = moment.now.cursor is not None
    here = found.at(moment.at, count)[::-1] if cut else found.blocks
    largest = sorted(here, key=lambda placed: -placed.size)[:LISTED]
    shown = [placed for placed in here if placed in largest]
    title = text_of("cut" if cut else "largest", index=f"{moment.at + 1:,}")
    looks, drawn = [paint(each.kind) for each in shown], moment.now.numbers and wide
    yield Table(text_of("heads").split("|"), [*map(found.row, shown)], "<>>>>><", title,
                looks=looks,
                drawn=drawn, gap=8 * drawn)  # fmt: skip
    others = len(here) - len(shown)
    yield Paragraphs(text_of("others", count=f"{others:,}") if others else "", drawn=drawn)


def _phases(found: PackingSubject) -> Iterator[str]:
    """Phases in words, as the brackets above the picture say them."""
    for phase, first, last in found.phases:
        values = {"first": f"{first + 1:,}", "last": f"{last + 1:,}"}
        yield text_of("band", phase=strings.get(f"phase.{phase}"), **values)


def _key(chart: AddressChart) -> Key:
    """Legend of the fills: those of the blocks, and of what is tall enough outside the arena."""
    found, table = chart.packing, "toy_kind" if chart.toy else "key"
    outer = [role for role, _, nbytes in outside(found) if chart.size((0, 0, 0, nbytes))[1] > 3]
    kinds = dict.fromkeys([*(each.kind for each in found.large), *(role.value for role in outer)])
    if len(found.large) < len(found.blocks):
        kinds["small"] = None
    names = {kind: f"addresses.{table}.{kind}" for kind in kinds}
    entries = [(paint(kind), strings.get(name if strings.has(name) else f"role.{kind}.one"))
               for kind, name in names.items()]  # fmt: skip
    return Key([*entries, (FREE, text_of("key.free"))], 11, gap=6)

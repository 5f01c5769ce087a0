"""The view of the address map: the tensors in one arena, to look at, to pack by hand and to run."""

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
    TALL,
    AddressChart,
    MapMoment,
    block_facts,
    block_paint,
    blocks_before_step,
)
from memlab.pictures.addresses.packing import (
    OFFERED,
    SMALL,
    TOY_NAME,
    Packing,
    PackingSubject,
    Placed,
    placing_name,
    short_bytes,
    subject_of,
    text_of,
)
from memlab.pictures.addresses.running import ArenaRun, run_map
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.table import Below, Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import FREE
from memlab.pictures.live.setting import Checkbox, NumberBox, Range, Select, Setting, State, never
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.live.widget import Paragraph, stop
from memlab.pictures.values.step_recipe import network_of
from memlab.placement.placement import BY_HAND, HOWS, Placement
from memlab.strings import gettext as _

BATCH, MOST = 32, 4096
"""Default batch of a step, and the largest one that is placed."""
MAP = ("what", "how", "batch", "in_place", "hand")
"""Settings that change the addresses."""
APART, PAIR, TABLE = 18, 600, 720
"""Pixels between two maps, the least width of a page that has them side by side, and the least
width that has room for a table of blocks."""
SNAP = 6
"""Pixels within which a dragged block jumps to a free place."""
LISTED = 12
"""Number of the largest blocks in the table."""


# -- settings -------------------------------------------------------------------------------------


def state_subject(now: State) -> PackingSubject:
    """Return the step that the picture shows in this state: the one with operations in place
    where its switch is on, else the given one."""
    chosen: PackingSubject = now.what.in_place if now.in_place else now.what
    return chosen


def state_map(now: State, how: str = "") -> Packing:
    """Return the map of a state, or with ``how`` the map of another placing."""
    chosen, moves = (how, ()) if how else now.hand or (now.how, ())
    return _packing(state_subject(now), now.batch, chosen, moves)


@lru_cache(maxsize=32)
def _packing(
    packed: PackingSubject, batch: int, how: str, moves: tuple[tuple[str, int], ...]
) -> Packing:
    """Return a map with some blocks moved by hand; the last 32 maps are cached."""
    placed = packed.placement(batch, how)
    moved = reduce(lambda map_, move: map_.moved(*move), moves, placed)
    return Packing(packed, batch, moved, placed)


def has_step(now: State) -> bool:
    """True if the subject is a step and not the toy."""
    return not now.what.toy


class SubjectSelect(Select[Any]):
    """Choice of the subject: one of those offered, or the one that the view was made for."""

    def value(self, now: State) -> str:
        return str(now.what.name)

    def allowed(self, given: Any, now: State) -> PackingSubject:
        return given if isinstance(given, PackingSubject) else subject_of(given)

    def read(self, event: str, value: Any, now: State) -> Any:
        return now.own if str(value) == now.own.name else str(value)

    def labelled(self, now: State, labels: Any) -> dict[str, str]:
        own = {subject.name: subject.label for subject in (now.own, now.what)}
        titles = {n: network_of(n).title if n != TOY_NAME else text_of("toy") for n in OFFERED}
        return own | titles if now.own.named else own | titles | own

    def as_code(self, now: State) -> str:
        return repr(now.what.name) if now.what.named else "subject"


class PlacingSelect(Select[str]):
    """Choice of the placing; ``"by hand"`` once a block was moved."""

    def allowed(self, given: Any, now: State) -> str:
        return known("placing", given, [*HOWS, BY_HAND])

    def labelled(self, now: State, labels: Any) -> dict[str, str]:
        left_out = "best" if now.what.toy else "exact"  # "exact" is for few blocks
        hows = dict.fromkeys([*(how for how in HOWS if how != left_out), now.how])
        return {how: placing_name(how) for how in hows}

    def as_code(self, now: State) -> str:
        return f"how={now.hand[0] if now.hand else now.how!r}"


def _with_moved_blocks(now: State, given: Any) -> Mapping[str, Any]:
    """Return the settings of a state after blocks were put at addresses given by hand."""
    if not isinstance(given, Mapping):
        raise InputError(
            _("moved are addresses by the names of blocks, got {given}; try {{'A': '3 MiB'}}.",
              given=shorten(given))
        )  # fmt: skip
    how, moves = now.hand or (now.how, ())
    addresses = {name: units.parse(address, bare=True) for name, address in given.items()}
    for name, address in addresses.items():
        state_map(now).placement.moved(name, address)  # refuses a wrong name or address
    hand = how, tuple((dict(moves) | addresses).items())
    return {"hand": hand, "how": BY_HAND} if given else {}


def _hidden(doc: str, default: Any = None, **more: Any) -> Setting[Any]:
    """Return a setting that keys and buttons change: it is no argument and has no control."""
    return Setting(doc=doc, default=default, argument=False, **more)


class AddressMap(View[MapMoment]):
    """Tensors of a step at their addresses in one arena, to look at, to pack by hand, to run.

    ``move(name, address)`` moves a block, ``score()`` compares the arena with the smallest one,
    ``run()`` runs the step with these addresses.

    >>> view = memlab.views.addresses("toy", how="birth")
    >>> print(view.score())
    Your top: 13 MiB. Lower bound: 8 MiB. Exact optimum: 8 MiB. You are 5 MiB above it.
    """

    name, made_by, positional = "addresses", "addresses", ("what", "batch")
    behind_more = ("start", "surprise", "break", "real", "copy")
    presets: ClassVar = {
        "surprise": {"how": "birth", "beside": "biggest"},
        "real": {"what": "resnet50", "batch": 16, "how": "best", "in_place": True},
    }
    picture_keys = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape", "KeyM",
                    "KeyP", "KeyR")  # fmt: skip

    what = SubjectSelect(
        (),
        default=lambda now: subject_of(TOY_NAME),
        doc='``"toy"``, six made-up tensors; a name of ``memlab.zoo``; a network or a step',
        code="plain",
    )
    how = PlacingSelect(
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
        lambda now: state_subject(now).operations,
        default=None,
        at=lambda now: state_map(now).placement.busiest + 1,
        follows=("what", "in_place"),
        doc="the operation to cut, counted from 1; None for the busiest",
    )
    numbers = Checkbox(
        doc="every number: the largest blocks, of all or at the cursor",
        place="more",
        key="KeyN",
        brief=lambda now: "",
    )
    packed = Range(
        0,
        lambda now: len(state_map(now).blocks),
        default=None,
        at=lambda now: len(state_map(now).blocks),
        follows=MAP,
        place="more",
        doc="how many blocks lie already, in the placer's order; None for all",
        when=lambda now: now.what.toy,
        brief=lambda now: text_of("packed"),
    )
    in_place = Checkbox(
        doc="outputs overwrite inputs that nobody needs any more (``memlab.in_place``)",
        place="more",
        when=has_step,
        follows=("what",),
        brief=lambda now: text_of("in_place") if now.in_place else "",
    )
    batch = NumberBox(
        1,
        MOST,
        default=lambda now: 1 if now.what.toy else BATCH,
        doc="the mini-batch size; the toy has none",
        place="more",
        when=has_step,
        follows=("what",),
        code=has_step,
        brief=lambda now: text_of("batch", batch=f"{now.batch:,}"),
    )
    chosen = Setting(
        doc="the name of the block in focus",
        default="",
        check=lambda given: given,  # reconcile checks the name
        follows=("what", "in_place"),
    )
    moved = Setting(
        doc='addresses given by hand to some blocks, in bytes or as ``"3 MiB"``',
        default=lambda now: {},
        get=lambda now: {placed.name: placed.address for placed, _ in state_map(now).moved},
        put=_with_moved_blocks,
        code=lambda now: now.hand is not None,
    )
    optimum = Checkbox(
        doc="whether the score names the smallest arena that is known",
        default=True,
        when=never,
        fixed=True,
        code="never",
    )
    own = _hidden("what it was made for", lambda now: now.what, fixed=True)
    hand = _hidden("the placing from which blocks were moved, and where to", follows=MAP[:-1])
    moving = _hidden("blocks can be moved", False, follows=("what",))
    scored = _hidden("the result was asked for", False, follows=(*MAP, "moving"))

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
        map_ = state_map(new)
        known("block", new.chosen, ["", *map_.by_name])
        return new.replace(packed=None) if new.packed == len(map_.blocks) else new

    def study(self, now: State) -> MapMoment:
        first = state_map(now)
        return MapMoment(now, (first, *([state_map(now, now.beside)] if now.beside else [])))

    def test_state(self, now: State) -> str:
        placement = state_map(now).placement
        return f"{now.what.name}|{placement.how}|{placement.arena}"

    def outline_key(self, now: State) -> object:
        return now.what, now.in_place, now.batch, now.how, now.beside, now.hand

    # -- from Python ----------------------------------------------------------------------------

    @property
    def placement(self) -> Placement:
        """The placement on display."""
        return self.rows.packing.placement

    def move(self, name: str, address: int | str) -> None:
        """Move a block to another address.

        Args:
            name: name of the block.
            address: its new address, in bytes or as ``"3 MiB"``.

        Raises:
            InputError: no such block, or no such address.
        """
        self._set(moved={name: address}, chosen=name)

    def score(self) -> str:
        """Return a sentence that compares the arena with its lower bound and the smallest known
        one."""
        return self.rows.packing.score(self.state.optimum)

    def run(self) -> ArenaRun:
        """Run the step with these addresses and without an arena, and return the comparison.

        Raises:
            InputError: the toy, which has no arithmetic, or a step that takes long.
        """
        outcome = self._run(self.state)
        self.refresh()
        return outcome

    def _run(self, now: State) -> ArenaRun:
        """Run the map of a state, keep the outcome, and return it."""
        ran = state_map(now)
        self._ran = ran, run_map(ran.subject, ran.placement, ran.batch)
        return self._ran[1]

    # -- buttons, presses and keys --------------------------------------------------------------

    def buttons(self, now: State) -> Mapping[str, str]:
        moving = ("leave", "score") if now.moving else ("move",)
        run = () if now.what.toy else ("run",)  # the toy has no arithmetic
        examples = ("surprise", "break", "real") if self._exemplary else ()
        return {name: name for name in (*moving, *run, "start", *examples, "copy")}

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if name == "key":
            return self._after_key(now, str(value))
        if name == "at":
            return now.replace(
                cursor=stop("operation", value, 0, state_subject(now).operations - 1) + 1
            )
        if name == "choose":
            return self.changed(now, chosen=str(value))
        if name == "put":
            return self._after_drag(now, str(value)) if now.moving else None
        if name == "score":
            return now.replace(scored=True)
        if name == "run":
            self._run(now)
        answers = {"move": _toggle_moving, "leave": _toggle_moving, "break": self._with_fault}
        return answers[name](now) if name in answers else None

    def _after_drag(self, now: State, value: str) -> State:
        """Return the state after a block was dragged: ``"A 3145728"`` moves A, within the axis of
        the picture."""
        name, _, address = value.rpartition(" ")
        map_ = state_map(self._origin.now if self._origin else now)
        focus = map_.by_name[known("block", name, map_.by_name)]
        high = map_.placement.total if map_.subject.toy else map_.placement.arena
        place = stop("address", address, 0, max(high - focus.size, 0))
        return self.changed(now, moved={name: _snapped(map_, focus, place)}, chosen=name)

    def _after_key(self, now: State, key: str) -> State | None:
        """Return the state after a key was pressed in the picture, or None."""
        moment = self.rows_of(now)
        direction = 1 if key in ("ArrowUp", "ArrowRight") else -1
        if key in ("ArrowUp", "ArrowDown") and now.moving and moment.focus:
            address = _next_address(moment.packing, moment.focus, direction)
            return self.changed(now, moved={moment.focus.name: address}, chosen=moment.focus.name)
        if key.startswith("Arrow"):
            return now.replace(chosen=_neighbour_block(moment, direction).name)
        answers = {
            "KeyM": _toggle_moving,
            "KeyR": lambda now: self.on_action(now, "run", None),
            "KeyP": lambda now: now.replace(cursor=None),
            "Enter": lambda now: now.replace(scored=now.moving),
            "Escape": _after_escape,
        }
        return answers[key](now) if key in answers else None

    def _with_fault(self, now: State) -> State:
        """Return the state of a small network's map with one silent fault, after a run at its
        addresses."""
        plain: dict[str, Any] = {"batch": None, "packed": None}
        correct = self.changed(now, what=SMALL, how="best", **plain)
        wrong, address = state_map(correct).silent_fault()
        cursor, moved = wrong.block.birth + 1, {wrong.name: address}
        state = self.changed(correct, moved=moved, chosen=wrong.name, cursor=cursor)
        self._run(state)
        return state

    # -- the page -------------------------------------------------------------------------------

    def says(self, scene: PageState) -> str:
        moment, now = self.rows_of(scene.now), scene.now
        if moment.focus and not (scene.news or now.scored):
            return ". ".join([now.chosen, *moment.packing.about(moment.focus)])
        turn = moment.packing.decisive_turn(moment.count) if now.packed is not None else None
        return " ".join([turn.text() if turn else _headline(moment), *self._said(scene)])

    def fact(self, scene: PageState) -> str:
        return str(block_facts(self.rows_of(scene.now).packing).get(scene.now.chosen, ""))

    def lines(self, scene: PageState) -> Sequence[Paragraph]:
        """Return the outcome of the last run, if it ran the map on display."""
        ran = self._outcome(scene)
        return [Paragraph(line) for line in ran.sentences()] if ran else []

    def _outcome(self, scene: PageState) -> ArenaRun | None:
        """Return the last run, if it ran the map on display; None in a stored picture."""
        (ran_map, ran), now = self._ran or (None, None), state_map(scene.now)
        same = ran_map and ran_map.subject is now.subject and ran_map.placement == now.placement
        return ran if same and scene.live else None

    def _said(self, scene: PageState) -> list[str]:
        """Return the sentences below the headline; the result of a run comes last."""
        sentences, ran = _sentences(self.rows_of(scene.now)), self._outcome(scene)
        return [*sentences, ran.result] if ran else sentences

    def compose(self, scene: PageState) -> Page:
        moment, now = self.rows_of(scene.now), scene.now
        charts, map_ = self._charts(scene), moment.packing
        blocks = [
            Paragraphs([[(_headline(moment), True)]], 20),
            Paragraphs(self._said(scene), 13, bold=bool(map_.overlaps or now.scored)),
            *_maps(charts, scene.width),
            _key(charts[0]),
            *chain.from_iterable(_detail_blocks(chart, scene.width >= TABLE) for chart in charts),
            Paragraphs(lambda: list(_phases(map_.subject)), drawn=False),
        ]
        others = [placing_name(other.placement.how) for other in moment.maps[1:]]
        return Page(", ".join([map_.title, *others]), blocks, scene.width)

    def _charts(self, scene: PageState) -> list[AddressChart]:
        """Return the charts of each map.

        The previous map gives the top of its arena, and the addresses from which blocks slide; they
        do not slide in a faulty map or after a move by hand.
        """
        moment, now, before = self.rows_of(scene.now), scene.now, scene.previous
        map_, pair = moment.packing, len(moment.maps) > 1
        alike = scene.live and not pair and before and not before.beside
        old = state_map(before) if before and alike and before.what is now.what else None
        changed = old is not None and old.placement != map_.placement
        slides = changed and scene.news and now.hand is None and not map_.overlaps
        top = old.placement.arena if old and old.placement.arena != map_.placement.arena else None
        wide = (scene.width - APART) / 2 if pair and scene.width >= PAIR else scene.width
        slid = old.placement if old and slides else None
        return [AddressChart(moment, packed, wide - LEFT - RIGHT, top, slid, scene.live)
                for packed in moment.maps]  # fmt: skip


addresses = maker(AddressMap)


# -- from state to state --------------------------------------------------------------------------


def _toggle_moving(now: State) -> State:
    """Return the state with move mode turned off, or on with all blocks placed."""
    if now.moving:
        return now.replace(moving=False, scored=False)
    return now.replace(moving=True, beside="", packed=None)


def _after_escape(now: State) -> State:
    """Return the state after the escape key: it ends move mode, else the focus, else the cursor."""
    if now.moving:
        return _toggle_moving(now)
    return now.replace(chosen="") if now.chosen else now.replace(cursor=None)


def _neighbour_block(moment: MapMoment, direction: int) -> Placed:
    """Return the large block that is born after the one in focus, or before it where ``direction``
    is -1."""
    blocks, focus = moment.packing.large, moment.focus
    if focus not in blocks:
        return blocks[0 if direction > 0 else -1]
    return blocks[min(max(blocks.index(focus) + direction, 0), len(blocks) - 1)]


def _next_address(map_: Packing, focus: Placed, direction: int) -> int:
    """Return the address of a block after one press of Up (1) or Down (-1): one unit further in the
    toy, else the next free place; the same where there is none."""
    if map_.subject.toy:
        most = map_.placement.total - focus.size
        return min(max(focus.address + direction * map_.unit, 0), most)
    beyond = [low for low in map_.free_addresses(focus) if (low - focus.address) * direction > 0]
    return min(beyond, key=lambda low: abs(low - focus.address), default=focus.address)


def _snapped(map_: Packing, focus: Placed, address: int) -> int:
    """Return the address of a block that was dragged: a free place within ``SNAP`` pixels, else the
    nearest whole unit."""
    whole = (address + map_.unit // 2) // map_.unit * map_.unit
    near = SNAP * (map_.placement.arena + map_.subject.before(map_.batch)) // TALL
    ends = [] if map_.subject.toy else map_.free_addresses(focus)
    best = min(ends, key=lambda low: abs(low - address), default=whole)
    return best if abs(best - address) <= near else whole


# -- words ----------------------------------------------------------------------------------------


def _headline(moment: MapMoment) -> str:
    """Return the result of one map, or of two, as a sentence."""
    if len(moment.maps) == 1:
        return moment.packing.headline(moment.count)
    first, second = (short_bytes(map_.placement.arena) for map_ in moment.maps)
    return text_of("finding.pair", first=first, second=second)


def _sentences(moment: MapMoment) -> list[str]:
    """Return the faults, and the score if it was asked for; else a hint what to see."""
    map_, now = moment.packing, moment.now
    if sentences := [*map_.faults(), *([map_.score(now.optimum)] if now.scored else [])]:
        return sentences
    rounded = [text_of("rounds", align=map_.placement.alignment)] if map_.rounds else []
    return [" ".join([text_of("moving" if now.moving else "see"), *rounded])]


# -- blocks of the page ---------------------------------------------------------------------------


def _maps(charts: Sequence[AddressChart], width: float) -> Sequence[PageBlock]:
    """Return the maps side by side or, on a narrow page, one below the other; two have their names
    above."""
    names = [placing_name(chart.packing.placement.how) for chart in charts] if charts[1:] else [""]
    columns = [
        Below([Paragraphs(name, 13, bold=True, left=LEFT), chart.strip(), chart.map()], gap=6)
        for name, chart in zip(names, charts, strict=True)
    ]
    return [SideBySide([(column, 1) for column in columns], APART)] if width >= PAIR else columns


def _detail_blocks(chart: AddressChart, wide: bool) -> Iterator[PageBlock]:
    """Yield every figure, the story of the packing, and a table of the largest blocks: of all, or
    of those alive at the cursor from the top down. Where the page is not ``wide``, the table is
    in the text only."""
    map_, moment = chart.packing, chart.moment
    count = moment.count if chart.chosen else len(map_.blocks)
    yield Paragraphs(lambda: [*map_.sentences, *map_.story(count)], drawn=moment.now.numbers,
                gap=10 if moment.now.numbers else 1)  # fmt: skip
    if chart.toy:
        yield Paragraphs(lambda: map_.letters(count), drawn=False, gap=1)
    cut = moment.now.cursor is not None
    here = map_.at(moment.at, count)[::-1] if cut else map_.blocks
    largest = sorted(here, key=lambda placed: -placed.size)[:LISTED]
    rows = [placed for placed in here if placed in largest]
    title = text_of("cut" if cut else "largest", index=f"{moment.at + 1:,}")
    looks, drawn = [block_paint(block.kind) for block in rows], moment.now.numbers and wide
    yield Table(text_of("heads").split("|"), [*map(map_.row, rows)], "<>>>>><", title,
                looks=looks,
                drawn=drawn, gap=8 * drawn)  # fmt: skip
    others = len(here) - len(rows)
    yield Paragraphs(text_of("others", count=f"{others:,}") if others else "", drawn=drawn)


def _phases(subject: PackingSubject) -> Iterator[str]:
    """Yield the phases of the step in words, which the picture shows as brackets."""
    for phase, first, last in subject.phases:
        values = {"first": f"{first + 1:,}", "last": f"{last + 1:,}"}
        yield text_of("band", phase=strings.get(f"phase.{phase}"), **values)


def _key(chart: AddressChart) -> Key:
    """Return the legend of the fills: kinds of blocks, roles outside the arena that are tall enough
    to see, and free bytes."""
    map_, table = chart.packing, "toy_kind" if chart.toy else "key"
    outer = [
        role for role, _, nbytes in blocks_before_step(map_) if chart.size((0, 0, 0, nbytes))[1] > 3
    ]
    kinds = dict.fromkeys([*(block.kind for block in map_.large), *(role.value for role in outer)])
    if len(map_.large) < len(map_.blocks):
        kinds["small"] = None
    names = {kind: f"addresses.{table}.{kind}" for kind in kinds}
    entries = [(block_paint(kind), strings.get(name if strings.has(name) else f"role.{kind}.one"))
               for kind, name in names.items()]  # fmt: skip
    return Key([*entries, (FREE, text_of("key.free"))], 11, gap=6)

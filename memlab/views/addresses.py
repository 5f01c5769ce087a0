"""The address map: which tensors lie where in one arena, to look at, to pack by hand and to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, ClassVar

from memlab import strings, units
from memlab.errors import InputError, known, shorten
from memlab.planner.placement import BY_HAND, HOWS, Placement
from memlab.studies.figures import binary_unit, in_binary, number
from memlab.studies.packed_step import (
    OFFERED,
    SMALL,
    TOY_NAME,
    ArenaRun,
    Subject,
    run_map,
    say,
    say_how,
    subject_of,
)
from memlab.studies.packing import Packing, Placed, shortly
from memlab.studies.recipe import network_of
from memlab.views.address_map import (
    LEFT,
    RIGHT,
    AddressChart,
    Moment,
    addresses_of,
    fact,
    outside,
    paint,
)
from memlab.views.draw.page import Page
from memlab.views.draw.table import Below, Beside, Block, Key, Table, Words
from memlab.views.draw.theme import FREE
from memlab.views.live.setting import Check, Choice, Number, Range, Setting, State
from memlab.views.live.view import Scene, View, maker
from memlab.views.live.widget import Line, stop

BATCH, MOST = 32, 4096
"""The batch that is shown first, and the largest one that is placed."""
MAP = ("what", "how", "batch", "in_place", "hand")
"""With these settings the addresses change."""
SIDE, APART, PAIR, WIDE = 300, 18, 600, 820
"""Pixels: what stands beside a map, and free between; from so many on two maps stand side by side,
and a table beside one."""
LISTED = 9
"""Parts of a cut that have a line."""


# -- what is chosen -------------------------------------------------------------------------------


def subject(now: State) -> Subject:
    """What is packed, in place or not."""
    found: Subject = now.what.in_place if now.in_place else now.what
    return found


def packing(now: State, how: str = "") -> Packing:
    """The map of a state, or that of another placing."""
    chosen, moves = (how, ()) if how else now.hand or (now.how, ())
    return _packing(subject(now), now.batch, chosen, moves)


@lru_cache(maxsize=32)
def _packing(found: Subject, batch: int, how: str, moves: tuple[tuple[str, int], ...]) -> Packing:
    """Everything about a placement, worked out once while it is on display."""
    made = found.placement(batch, how)
    hand = reduce(lambda map_, move: map_.moved(*move), moves, made)
    return Packing(found, batch, hand, made)


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
        made = {each.name: each.label for each in (now.own, now.what)}
        titles = {n: network_of(n).title if n != TOY_NAME else say("toy") for n in OFFERED}
        return made | titles if now.own.named else made | titles | made

    def written(self, now: State) -> str:
        return repr(now.what.name) if now.what.named else "subject"


class Placing(Choice[str]):
    """A way to place; ``"by hand"`` once a block was moved."""

    def allowed(self, given: Any, now: State) -> str:
        return known("placing", given, [*HOWS, BY_HAND])

    def labelled(self, now: State, labels: Any) -> dict[str, str]:
        return {how: say_how(how) for how in dict.fromkeys((*now.what.hows, now.how))}

    def written(self, now: State) -> str:
        return f"how={now.hand[0] if now.hand else now.how!r}"


def _moved(now: State, given: Any) -> Mapping[str, Any]:
    """The map with some blocks at addresses that are given by hand."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"moved are addresses by the names of blocks, got {shorten(given)}; "
            "try {'A': '3 MiB'}."
        )
    how, moves = now.hand or (now.how, ())
    found = {name: units.parse(address) for name, address in given.items()}
    for name, address in found.items():
        packing(now).placement.moved(name, address)  # what cannot be is refused here
    hand = how, tuple((dict(moves) | found).items())
    return {"hand": hand, "how": BY_HAND} if given else {}


def _kept(doc: str, default: Any = None, **more: Any) -> Setting[Any]:
    """What keys and buttons choose; no argument, no control."""
    return Setting(doc=doc, default=default, argument=False, **more)


class AddressMap(View[Moment]):
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
                    "KeyN", "KeyP", "KeyR")  # fmt: skip

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
    numbers = Check(doc="every number, and what lies in memory at the cursor")
    packed = Range(
        0,
        lambda now: len(packing(now).blocks),
        default=None,
        at=lambda now: len(packing(now).blocks),
        follows=MAP,
        place="more",
        doc="how many blocks lie already, in the placer's order; None for all",
        when=lambda now: now.what.toy,
        brief=lambda now: say("packed"),
    )
    in_place = Check(
        doc="outputs overwrite inputs that nobody needs any more (``memlab.in_place``)",
        place="more",
        when=a_step,
        follows=("what",),
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
        brief=lambda now: say("batch", batch=f"{now.batch:,}"),
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

    def settle(self, new: State, was: State | None) -> State:
        if new.how == BY_HAND and new.hand is None and was is not None and was.hand:
            new = new.replace(how=was.hand[0])
        if new.beside and not new.what.toy:
            raise InputError("only the toy is shown twice, side by side; leave beside out.")
        if new.hand is None:
            known("placing", new.how, HOWS)
        found = packing(new)
        known("block", new.chosen, ["", *found.by_name])
        return new.replace(packed=None) if new.packed == len(found.blocks) else new

    def study(self, now: State) -> Moment:
        first = packing(now)
        maps = (first, *([packing(now, now.beside)] if now.beside else []))
        count = len(first.blocks) if now.packed is None else now.packed
        at = first.placement.busiest if now.cursor is None else now.cursor - 1
        largest = max(first.at(at), key=lambda placed: placed.size, default=None)
        return Moment(now, maps, count, at, first.by_name[now.chosen] if now.chosen else largest)

    def line(self, now: State) -> str:
        placement = packing(now).placement
        return f"{now.what.name}|{placement.how}|{placement.arena}"

    def described(self, now: State) -> object:
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
        self.change(moved={name: address}, chosen=name)

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

    def do(self, now: State, name: str, value: Any) -> State | None:
        if name == "key":
            return self._press(now, str(value))
        if name == "at":
            return now.replace(cursor=stop("operation", value, 0, subject(now).operations - 1) + 1)
        if name == "choose":
            return self.changed(now, chosen=str(value))
        if name == "score":
            return now.replace(scored=True)
        if name == "run":
            self._run(now)
        answers = {"move": _toggled, "leave": _toggled, "break": self._broken}
        return answers[name](now) if name in answers else None

    def _press(self, now: State, key: str) -> State | None:
        """The state after a key in the picture."""
        moment = self.rows_of(now)
        way = 1 if key in ("ArrowUp", "ArrowRight") else -1
        if key in ("ArrowUp", "ArrowDown") and now.moving and moment.focus:
            name, address = moment.focus.name, _lifted(moment, moment.focus, way)
            return self.changed(now, moved={name: address}, chosen=name)
        if key.startswith("Arrow"):
            walk = _born if key in ("ArrowLeft", "ArrowRight") else _neighbour
            return now.replace(chosen=walk(moment, way).name)
        answers = {
            "KeyM": _toggled,
            "KeyR": lambda now: self.do(now, "run", None),
            "KeyP": lambda now: now.replace(cursor=None),
            "KeyN": lambda now: now.replace(numbers=not now.numbers),
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

    def says(self, scene: Scene) -> str:
        moment, now = self.rows_of(scene.now), scene.now
        if now.chosen and moment.focus and not (scene.news or now.scored):
            return ". ".join([now.chosen, *moment.packing.about(moment.focus)])
        told = moment.packing.told(moment.count) if now.packed is not None else None
        return " ".join([told.text() if told else _headline(moment), *_sentences(moment)])

    def fact(self, scene: Scene) -> str:
        found = self.rows_of(scene.now)
        return str(fact(found.packing, found.focus)) if scene.now.chosen and found.focus else ""

    def lines(self, scene: Scene) -> Sequence[Line]:
        """What came out where the map on display ran on this machine."""
        (found, ran), now = self._ran or (None, None), packing(scene.now)
        same = found and found.subject is now.subject and found.placement == now.placement
        return [Line(each) for each in ran.sentences()] if ran and same and scene.live else []

    def compose(self, scene: Scene) -> Page:
        moment, now = self.rows_of(scene.now), scene.now
        charts, found = self._charts(scene), moment.packing
        pair = len(charts) > 1
        blocks = [
            Words([[(_headline(moment), True)]], 20),
            Words(_sentences(moment), 13, bold=bool(found.overlaps or now.scored)),
            *(_pair(charts, scene.width) if pair else _single(charts[0], scene.width)),
            _key(charts[0]),
            *(_exact(charts)),
        ]
        others = [say_how(each.placement.how) for each in moment.maps[1:]]
        return Page(", ".join([found.title, *others]), blocks, scene.width)

    def _charts(self, scene: Scene) -> list[AddressChart]:
        """A chart for each map. Of the map before, the top is shown, and blocks are seen to come
        from there, but not to a fault, nor by hand: the axis holds both."""
        moment, now, before = self.rows_of(scene.now), scene.now, scene.previous
        found, maps = moment.packing, len(moment.maps)
        alike = scene.live and maps == 1 and before and not before.beside
        was = packing(before) if before and alike and before.what is now.what else None
        changed = was is not None and was.placement != found.placement
        slides = changed and scene.news and now.hand is None and not found.overlaps
        scale = addresses_of(found, was.placement.arena if was else 0)
        top = was.placement.arena if was and was.placement.arena != found.placement.arena else None
        wide = scene.width
        if maps > 1 and wide >= PAIR:
            wide = (wide - APART) / 2
        elif maps == 1 and now.numbers and wide >= WIDE:
            wide -= SIDE + APART
        return [
            AddressChart(moment, each, scale, wide - LEFT - RIGHT, top,
                         was.placement if was and slides else None, scene.live)
            for each in moment.maps
        ]  # fmt: skip


addresses = maker(AddressMap)


# -- from state to state --------------------------------------------------------------------------


def _toggled(now: State) -> State:
    """Into Move mode, all blocks on the table and one in focus; or out of it."""
    if now.moving:
        return now.replace(moving=False, scored=False)
    return now.replace(moving=True, beside="", packed=None)


def _back(now: State) -> State:
    if now.moving:
        return _toggled(now)
    return now.replace(chosen="") if now.chosen else now.replace(cursor=None)


def _born(moment: Moment, way: int) -> Placed:
    """The block that is born before or after the one in focus; the small ones are left out."""
    blocks, focus = moment.packing.large, moment.focus
    if not moment.now.chosen or focus not in blocks:
        return blocks[0 if way > 0 else -1]
    return blocks[min(max(blocks.index(focus) + way, 0), len(blocks) - 1)]


def _neighbour(moment: Moment, way: int) -> Placed:
    """The nearest block above or below that lives at the same time, else at any time."""
    focus = moment.focus
    if focus is None or not moment.now.chosen:
        return _born(moment, 1)
    there = [p for p in moment.packing.large if (p.address - focus.address) * way > 0]
    there = [p for p in there if p.lives_with(focus)] or there or [focus]
    return min(there, key=lambda p: (abs(p.address - focus.address), p.block.birth))


def _lifted(moment: Moment, focus: Placed, way: int) -> int:
    """The address of the block in focus one unit up or down, inside what all blocks take without
    reuse: 1 MiB of the toy, a twentieth of a tick else."""
    found, step = moment.packing, addresses_of(moment.packing).step
    alignment = found.placement.alignment
    unit = step // 2 if found.subject.toy else max(step // 20 // alignment, 1) * alignment
    return min(max(focus.address + way * unit, 0), found.placement.total - focus.size)


# -- words ----------------------------------------------------------------------------------------


def _headline(moment: Moment) -> str:
    """What is found: of one map, or of two."""
    if len(moment.maps) == 1:
        return moment.packing.headline(moment.count)
    first, second = (shortly(each.placement.arena) for each in moment.maps)
    return say("finding.pair", first=first, second=second)


def _sentences(moment: Moment) -> list[str]:
    """What is wrong, and the score where it was asked for; else what to see."""
    found, now = moment.packing, moment.now
    if told := [*found.faults(), *([found.score()] if now.scored else [])]:
        return told
    return [say("moving" if now.moving else "see")]


# -- blocks of the page ---------------------------------------------------------------------------


def _pair(charts: Sequence[AddressChart], width: float) -> Iterator[Block]:
    """Two maps side by side, or one below the other."""
    columns = [
        Below([Words(say_how(chart.packing.placement.how), 13, bold=True, left=LEFT),
               chart.strip(), chart.map()], gap=6)
        for chart in charts
    ]  # fmt: skip
    yield from [Beside([(column, 1) for column in columns], APART)] if width >= PAIR else columns


def _single(chart: AddressChart, width: float) -> Iterator[Block]:
    """One map; with all numbers, what lies in memory at the cursor beside it or below it."""
    table = _cut(chart)
    maps = Below([chart.strip(), chart.map()], gap=6)
    if chart.numbers and width >= WIDE:
        yield Beside([(maps, width - SIDE - APART), (table, SIDE)], APART)
    else:
        yield from (maps, table)


def _cut(chart: AddressChart) -> Table:
    """What lies in memory at the cursor, from the top down: the largest blocks."""
    alive, unit = chart.packing.at(chart.moment.at, chart.moment.count), chart.scale.unit
    large = sorted(alive, key=lambda placed: -placed.size)[:LISTED]
    found = [placed for placed in alive[::-1] if placed in large]
    rows = [[p.name, *(number(end, unit) for end in (p.address, p.top))] for p in found]
    if others := len(alive) - len(large):
        rows.append([say("cut_others", count=f"{others:,}"), "", ""])
    title = say("cut", index=f"{chart.moment.at + 1:,}")
    return Table(say("cut_heads", unit=unit).split("|"), rows, title=title,
                 looks=[paint(placed.kind) for placed in found], drawn=chart.numbers)  # fmt: skip


def _exact(charts: Sequence[AddressChart]) -> Iterator[Block]:
    """Every figure, how it was packed, and the blocks in words."""
    for chart in charts:
        found, drawn = chart.packing, chart.numbers
        count = chart.moment.count if chart.first else len(found.blocks)
        yield Words([*found.sentences, *found.story(count)], drawn=drawn, gap=10)
        if found.subject.toy:
            yield Words(_letters(found, chart.moment.count), drawn=False, gap=1)
        yield Table(say("twin.heads").split("|"), found.rows, "<>>>>><", drawn=False)
        others = len(found.blocks) - len(found.rows)
        yield Words(say("twin.small", count=f"{others:,}") if others else "", drawn=False)
    for phase, first, last in charts[0].packing.subject.phases:
        values = {"first": f"{first + 1:,}", "last": f"{last + 1:,}"}
        yield Words(say("twin.band", phase=strings.get(f"phase.{phase}"), **values), drawn=False)


def _letters(found: Packing, count: int) -> list[str]:
    """A letter for every unit and operation; two that overlap are an X."""
    size = units.UNITS[binary_unit(found.placement.total)]
    operations = range(found.subject.operations)
    grid = [["."] * len(operations) for _ in range(found.placement.arena // size)]
    for each in found.blocks:
        for level in range(each.address // size, each.top // size) if each.turn <= count else ():
            for at in range(each.block.birth, each.block.death + 1):
                grid[level][at] = each.name if grid[level][at] == "." else "X"
    lines = [f"{level:4d}  {' '.join(line)}" for level, line in enumerate(grid)]
    return [*reversed(lines), f"{'':6}{' '.join(str(at + 1) for at in operations)}"]


def _key(chart: AddressChart) -> Key:
    """What the fillings mean."""
    found, entries = chart.packing, []
    for kind in dict.fromkeys(each.kind for each in found.large):
        name = f"addresses.{'toy_kind' if found.subject.toy else 'key'}.{kind}"
        entries.append((kind, strings.get(name if strings.has(name) else f"role.{kind}.one")))
    tall = {role for role, _, nbytes in outside(found) if chart.size((0, 0, 0, nbytes))[1] > 3}
    for role in tall:
        entries.append((role.value, strings.get(f"role.{role.value}.one")))
    if small := len(found.blocks) - len(found.large):
        key = "small" if chart.numbers else "few"
        least = in_binary(-(-found.placement.arena // 200))
        entries.append(("small", say(f"key.{key}", count=f"{small:,}", amount=least)))
    return Key([*((paint(kind), name) for kind, name in entries), (FREE, say("key.free"))], 11,
               gap=6)  # fmt: skip

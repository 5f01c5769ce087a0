"""Focus of the offload view, which keys and presses move: a copy, a map in host memory, a wait, the
peak."""

from __future__ import annotations

from collections.abc import Sequence

from memlab.pictures.offload.streams import Copy, OffloadTimeline

OUT, BACK, MAP, WAIT, PEAK = "out", "back", "map", "wait", "peak"
KEYS = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "KeyW", "KeyP", "Enter", "Escape")
ALONG = {"ArrowRight": 1, "ArrowLeft": -1}
ACROSS = {"ArrowDown": 1, "ArrowUp": -1}


def of_copy(copy: Copy) -> str:
    """``'out:conv1_1'``, ``'back:conv1_1'``."""
    return f"{OUT if copy.out else BACK}:{copy.name}"


def copies(timeline: OffloadTimeline) -> list[str]:
    """All copies in the order of time."""
    return [of_copy(copy) for copy in timeline.copies]


def maps(timeline: OffloadTimeline) -> list[str]:
    """The maps in host memory, from the top of the picture down."""
    return [f"{MAP}:{slab.name}" for slab in timeline.slabs]


def waits(timeline: OffloadTimeline) -> list[str]:
    """Operations before which compute waits, the longest wait first."""
    return [f"{WAIT}:{rank}" for rank in range(len(timeline.waits))]


def known(timeline: OffloadTimeline, place: str) -> str:
    """A place, or nothing where there is none of that name any more."""
    places = [PEAK, *copies(timeline), *maps(timeline), *waits(timeline)]
    return place if place in places else ""


def name_of(timeline: OffloadTimeline, place: str) -> str:
    """The map that a place is about; empty for the peak."""
    kind, _, name = place.partition(":")
    return timeline.wait(timeline.longest[int(name)])[0] if kind == WAIT else name


def sentence(timeline: OffloadTimeline, place: str) -> str:
    """Sentence about a place."""
    kind, _, name = place.partition(":")
    if kind == PEAK:
        return timeline.at_peak
    return timeline.wait(timeline.longest[int(name)])[1] if kind == WAIT else timeline.fact(name)


def moved(timeline: OffloadTimeline, here: str, key: str) -> str:
    """Place that a key leads to: along the copies, across the maps, to the next longest wait or the
    peak."""
    if key in ALONG:
        return _next(copies(timeline), here, ALONG[key], of_name=name_of(timeline, here))
    if key in ACROSS:
        return _next(maps(timeline), here, ACROSS[key], of_name=name_of(timeline, here))
    if key == "KeyW":
        return _after(waits(timeline), here)
    return PEAK if key == "KeyP" else ""


def _next(places: Sequence[str], here: str, by: int, of_name: str) -> str:
    """One further, kept between the ends; from elsewhere to the same map first."""
    if here in places:
        return places[min(max(places.index(here) + by, 0), len(places) - 1)]
    same = [place for place in places if place.partition(":")[2] == of_name]
    return [*same, *places[:1], ""][0]


def _after(places: Sequence[str], here: str) -> str:
    """The next one, and the first again after the last."""
    if not places:
        return ""
    return places[(places.index(here) + 1) % len(places) if here in places else 0]

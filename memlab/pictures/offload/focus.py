"""Places of the offload picture that can be in focus, and the place that a key leads to.

A place is a text: a copy ``'out:conv1_1'`` or ``'back:conv1_1'``, a map in host memory
``'map:conv1_1'``, the wait of a rank ``'wait:0'``, or ``'peak'``.
"""

from __future__ import annotations

from collections.abc import Sequence

from memlab.pictures.offload.streams import Copy, OffloadTimeline

OUT, BACK, MAP, WAIT, PEAK = "out", "back", "map", "wait", "peak"
KEYS = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "KeyW", "KeyP", "Enter", "Escape")
ALONG = {"ArrowRight": 1, "ArrowLeft": -1}
ACROSS = {"ArrowDown": 1, "ArrowUp": -1}


def place_of_copy(copy: Copy) -> str:
    """Return the place of a copy: ``'out:conv1_1'`` to the host,
    ``'back:conv1_1'`` to the device."""
    return f"{OUT if copy.out else BACK}:{copy.name}"


def copies(timeline: OffloadTimeline) -> list[str]:
    """Return the places of all copies, in the order of time."""
    return [place_of_copy(copy) for copy in timeline.copies]


def maps(timeline: OffloadTimeline) -> list[str]:
    """Return the places of the maps in host memory, from the top of the picture down."""
    return [f"{MAP}:{slab.name}" for slab in timeline.slabs]


def waits(timeline: OffloadTimeline) -> list[str]:
    """Return the places of compute's waits, the longest first."""
    return [f"{WAIT}:{rank}" for rank in range(len(timeline.waits))]


def known(timeline: OffloadTimeline, place: str) -> str:
    """Return a place, or an empty text where the timeline has none of that name (any more)."""
    places = [PEAK, *copies(timeline), *maps(timeline), *waits(timeline)]
    return place if place in places else ""


def name_of(timeline: OffloadTimeline, place: str) -> str:
    """Return the name of the map that a place is about; empty for the peak."""
    kind, _, name = place.partition(":")
    return timeline.wait(timeline.longest[int(name)])[0] if kind == WAIT else name


def sentence(timeline: OffloadTimeline, place: str) -> str:
    """Return the sentence on a place."""
    kind, _, name = place.partition(":")
    if kind == PEAK:
        return timeline.at_peak
    return timeline.wait(timeline.longest[int(name)])[1] if kind == WAIT else timeline.fact(name)


def moved(timeline: OffloadTimeline, here: str, key: str) -> str:
    """Return the place that a key leads to from the place ``here``.

    Left and right go along the copies, up and down across the maps, W to the next longest wait, P
    to the peak; other keys lead nowhere, an empty text.
    """
    if key in ALONG:
        return _next(copies(timeline), here, ALONG[key], of_name=name_of(timeline, here))
    if key in ACROSS:
        return _next(maps(timeline), here, ACROSS[key], of_name=name_of(timeline, here))
    if key == "KeyW":
        return _after(waits(timeline), here)
    return PEAK if key == "KeyP" else ""


def _next(places: Sequence[str], here: str, by: int, of_name: str) -> str:
    """Return the place ``by`` steps further, within both ends; from elsewhere, first one of the
    same map."""
    if here in places:
        return places[min(max(places.index(here) + by, 0), len(places) - 1)]
    same = [place for place in places if place.partition(":")[2] == of_name]
    return [*same, *places[:1], ""][0]


def _after(places: Sequence[str], here: str) -> str:
    """Return the next place, and after the last one the first again."""
    if not places:
        return ""
    return places[(places.index(here) + 1) % len(places) if here in places else 0]

"""When maps come back from the host: one layer early, or when they are needed.

A map that comes back early hides its copy behind other operations, and takes its bytes for longer.
vDNN looks one convolution ahead (``offload.rules``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from memlab.techniques.offload.rules import Candidate, Move

VDNN, NEEDED = PREFETCH = ("vdnn", "needed")
"""When a map comes back: with the backward of a later layer, no further than the next convolution
(C5), or when its reader comes."""


def needed(there: Mapping[str, Candidate], chosen: Collection[str]) -> list[Move]:
    """Every chosen map comes back when its first reader comes, which waits for it."""
    away = sorted((each for name, each in there.items() if name in chosen), key=_when)
    return [Move(each.map, each.leaves, each.needed, each.needed) for each in away]


def back(prefetch: str) -> str:
    """The rule in the note of a step; vDNN's goes without saying."""
    return ", back when needed" if prefetch == NEEDED else ""


def _when(each: Candidate) -> int:
    return each.needed

"""Lesson 04, lowering on CUDA: a kernel that lowers an image, and what its stores move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from types import FunctionType, SimpleNamespace
from typing import Any

from memlab.errors import InputError
from memlab.lesson.content.questions.lesson_02 import FP32
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lines import Column as Values
from memlab.lines import np
from memlab.studies.lowering.warps import WARP, moved


class Threads:
    """What a kernel calls ``cuda`` while it is checked: the place of the thread that runs now.

    Threads of a line of blocks run one after the other, on any machine: no thread can wait for
    another one here.
    """

    def __init__(self) -> None:
        self.blockDim = SimpleNamespace(x=WARP)
        self.gridDim = SimpleNamespace(x=1)
        self.blockIdx, self.threadIdx = SimpleNamespace(x=0), SimpleNamespace(x=0)

    def grid(self, axes: int) -> int:
        """The number of the thread in the grid."""
        if axes != 1:
            raise InputError(f"this grid is a line of threads, got {axes} axes; try cuda.grid(1).")
        return int(self.blockIdx.x * WARP + self.threadIdx.x)

    def gridsize(self, axes: int) -> int:
        """How many threads there are."""
        return int(self.gridDim.x * WARP)

    def each(self, values: int) -> Iterator[int]:
        """A thread for each value, whole blocks, and one block too many; which of them runs."""
        self.gridDim.x = -(-values // WARP) + 1
        for n in range(self.gridDim.x * WARP):
            self.blockIdx.x, self.threadIdx.x = divmod(n, WARP)
            yield n


cuda = Threads()


def on_threads(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a kernel, for which ``cuda`` are these threads."""
    plain = getattr(function, "py_func", getattr(function, "fn", function))
    if not isinstance(plain, FunctionType):
        return function
    space = {**plain.__globals__, "cuda": cuda}
    return FunctionType(
        plain.__code__, space, plain.__name__, plain.__defaults__, plain.__closure__
    )


def run(function: Callable[..., Any], a: Arguments) -> tuple[int, int] | None:
    """The values that are wrong after all threads of a kernel ran, and the bytes that moved for the
    stores of its first warp. None where nothing was stored."""
    kernel, lowered, first = on_threads(function), a["lowered"], 0
    for n in cuda.each(lowered.size):
        kernel(**a)
        if n == WARP - 1:
            first = moved(FP32 * np.flatnonzero(~np.isnan(lowered)))
    if np.isnan(lowered).all():
        return None
    return int(np.sum(lowered != _lowered(a))), first


def _lowered(a: Arguments) -> Values:
    """[C, k, k, Ho, Wo], from NumPy's windows."""
    pad = ((0, 0), *2 * [(a["pad"], a["pad"])])
    found = np.lib.stride_tricks.sliding_window_view(np.pad(a["image"], pad), 2 * (a["k"],), (1, 2))
    return found.transpose(0, 3, 4, 1, 2)


def _draw_image(chance: Random, size: int) -> Arguments:
    """An image that is not square, of several channels where it is not the smallest."""
    k = chance.choice((1, 2, 3, 3))
    pad = chance.randint(0, k - 1)
    high, wide = chance.sample(range(k, k + 4), 2)
    image = np.arange(1, 1 + size * high * wide, dtype=np.float32).reshape(size, high, wide)
    shape = (size, k, k, high + 2 * pad - k + 1, wide + 2 * pad - k + 1)
    lowered = np.full(shape, np.nan, np.float32)
    return {"image": image, "lowered": lowered, "k": k, "pad": pad}


def _read(a: Arguments, turned: bool = False, pad: int | None = None) -> tuple[Values, Values]:
    """Which row and column of its channel each value of the matrix is read from."""
    _, ky, kx, oy, ox = np.indices(a["lowered"].shape)
    pad = a["pad"] if pad is None else pad
    return (oy + kx - pad, ox + ky - pad) if turned else (oy + ky - pad, ox + kx - pad)


def _gathered(a: Arguments, iy: Values, ix: Values, channel: int | None = None) -> Values:
    """The values that are read there, 0 outside."""
    (_, high, wide), c = a["image"].shape, np.indices(a["lowered"].shape)[0]
    inside = (iy >= 0) & (iy < high) & (ix >= 0) & (ix < wide)
    found = a["image"][c if channel is None else channel, iy % high, ix % wide]
    return np.where(inside, found, 0)


def _with(values: Callable[[Arguments], Values]) -> Slip:
    """What comes out with other values in the same places."""
    return lambda truth, a: (int(np.sum(values(a) != _lowered(a))), truth[1])


def _wrapped(a: Arguments) -> Values:
    """As if only the last row and column were looked for: -1 is Python's last one."""
    (_, high, wide), (iy, ix) = a["image"].shape, _read(a)
    return _gathered(a, np.where(iy < 0, iy + high, iy), np.where(ix < 0, ix + wide, ix))


def _unpadded(truth: tuple[int, int], a: Arguments) -> tuple[int, int]:
    """As if nothing were stored for the padding."""
    zeros = (_lowered(a) == 0).ravel()
    return int(zeros.sum()), moved(FP32 * np.flatnonzero(~zeros[:WARP]))


def _in_order(*axes: int) -> Slip:
    """The right values, with threads that count along other axes first."""

    def slip(truth: tuple[int, int], a: Arguments) -> tuple[int, int]:
        numbers = np.arange(a["lowered"].size).reshape(a["lowered"].shape).transpose(axes)
        return 0, moved(FP32 * numbers.ravel()[:WARP])

    return slip


_LOWER_SLIPS: dict[str, Slip] = {
    "rows_and_columns": _with(lambda a: _gathered(a, *_read(a, turned=True))),
    "no_padding": _with(lambda a: _gathered(a, *_read(a, pad=0))),
    "first_channel": _with(lambda a: _gathered(a, *_read(a), channel=0)),
    "wraps": _with(_wrapped),
    "nothing_outside": _unpadded,
    "down_a_column": _in_order(3, 4, 0, 1, 2),
    "transposed": _in_order(0, 1, 2, 4, 3),
}


@task("04.lower", _draw_image, slips=_LOWER_SLIPS, sizes=(1, 1, 2, 2, 2, 3, 3, 3, 4, 4), run=run)
def lower(image: Values, lowered: Values, k: int, pad: int) -> tuple[int, int]:
    """No wrong value, and the bytes of 32 neighbours."""
    return 0, moved(range(0, FP32 * min(WARP, lowered.size), FP32))

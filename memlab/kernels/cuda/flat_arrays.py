"""Device arrays as lines of values, the shape in which every kernel takes them.

An operand is contiguous, or a slice of larger samples (a concat's gradient). In the second case
each sample is contiguous, and the samples lie further apart. Nothing here reads or writes a value.
"""

from __future__ import annotations

from typing import Any

from numpy.lib.stride_tricks import as_strided

from memlab.kernels.cuda import driver
from memlab.kernels.cuda.compile import SIMULATED, Shape, launch, planes, values
from memlab.kernels.cuda.simulator import numpy_values


def line(array: Any) -> Any:
    """View of all memory from the first value of an array to the last, as one contiguous array of
    one axis.

    Between the samples of a slice, it holds values that belong to other arrays.
    """
    item = array.dtype.itemsize
    length = 1 + sum(
        (extent - 1) * stride // item
        for extent, stride in zip(array.shape, array.strides, strict=True)
    )
    if SIMULATED:
        return type(array)(as_strided(numpy_values(array), (length,), (item,)))
    return driver.flat(array, length)


def pitch(array: Any) -> int:
    """Distance from one sample to the next, in values."""
    return int(array.strides[0] // array.dtype.itemsize)


def contiguous(*arrays: Any) -> bool:
    """Return whether all arrays are contiguous."""
    return all(array.flags["C_CONTIGUOUS"] for array in arrays)


def launch_on_values(kernel: Any, arrays: list[Any], *numbers: Any) -> None:
    """Run a kernel on the values of arrays of one shape, side by side.

    The kernel gets each array as a line with its pitch, then the number of samples, the values of a
    sample, and the numbers. Arrays that are all contiguous are passed as one sample.
    """
    first = arrays[0]
    batch = 1 if contiguous(*arrays) else len(first)
    count = first.size // batch
    spans = [part for array in arrays for part in (line(array), pitch(array))]
    launch(kernel, values(count, batch), *spans, batch, count, *numbers)


def by_channel(maps: Any) -> tuple[Shape, tuple[int, int, int]]:
    """Launch shape for every value of every channel, and the sizes: samples, channels, values of a
    map."""
    batch, channels = maps.shape[:2]
    plane = maps.size // (batch * channels)
    return planes(plane, channels, batch), (batch, channels, plane)


def overlap(a: Any, b: Any) -> bool:
    """Return whether two contiguous arrays share memory."""
    name = "__array_interface__" if SIMULATED else "__cuda_array_interface__"
    first, second = (getattr(array, name)["data"][0] for array in (a, b))
    return bool(first < second + b.nbytes and second < first + a.nbytes)

"""The devices that a step runs on, a row each; and what their kernels compute, found in the files.

The folder of a device in ``memlab.kernels`` has its kernels, and that in ``memlab.runtime`` its
arrays: a function ``backend`` makes them. Nothing is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from memlab import lesson_folders
from memlab.errors import one_option

PACKAGE = "memlab.kernels"


@dataclass(frozen=True, slots=True)
class DeviceSupport:
    """Abilities of a device beside those that its kernels tell.

    ``every_layer``: it has kernels for each layer whose row names no devices. ``staged``: it runs
    steps that are stored in other formats than they are computed in, and masks. ``sequences``: its
    kernels of linear layers and losses take the steps of a sequence, too. ``own_memory``: its
    arrays do not lie in the host's memory.
    """

    name: str
    every_layer: bool = False
    staged: bool = False
    sequences: bool = False
    own_memory: bool = False


DEVICES: dict[str, DeviceSupport] = {
    device_support.name: device_support
    for device_support in (
        DeviceSupport("cpu", every_layer=True, staged=True, sequences=True),
        DeviceSupport("cuda", every_layer=True, own_memory=True),
    )
}
"""The devices by the names that ``run(..., device=...)`` takes."""

EVERY_LAYER = tuple(name for name, device in DEVICES.items() if device.every_layer)
"""Those that are expected to have kernels for a new layer."""


def find(name: str) -> DeviceSupport:
    """Return the device of that name.

    Raises:
        InputError: there is none.
    """
    return one_option("device", name, DEVICES)


class Kernels(NamedTuple):
    """File that registers kernels: its module, and the kinds of operations with the algorithms that
    it names."""

    module: str
    names: frozenset[tuple[str, str]]


_REGISTERS = re.compile(r"^@kernel\((?:\"([\w.]+)\")?(?:, \"([\w-]+)\")?", re.MULTILINE)


@cache
def kernels(device: str) -> tuple[Kernels, ...]:
    """Return the files of a device that register kernels. They are found by their text, so a new
    file needs no entry in a list.

    Raises:
        InputError: no such device.
    """
    name = find(device).name
    return tuple(_registering(lesson_folders.PACKAGE / "kernels" / name, f"{PACKAGE}.{name}"))


def _registering(folder: Path, package: str) -> Iterator[Kernels]:
    for path in sorted(folder.iterdir(), key=lambda one: one.name):
        if path.is_dir():
            yield from _registering(path, f"{package}.{path.name}")
        elif path.name.endswith(".py"):
            kinds = _REGISTERS.findall(path.read_text(encoding="utf-8"))
            if kinds:
                yield Kernels(f"{package}.{path.name.removesuffix('.py')}", frozenset(kinds))


def computing(kind: str, algorithm: str = "") -> list[str]:
    """Return the devices that have a kernel for operations of a kind with an algorithm."""
    return [name for name in DEVICES if any((kind, algorithm) in k.names for k in kernels(name))]

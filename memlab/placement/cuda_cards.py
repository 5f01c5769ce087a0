"""Graphics cards by the figures that decide about the memory of a training step on CUDA."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memlab import lesson_folders, units
from memlab.errors import InputError, known, one_option, shorten

KIB = 1024
CUBLAS, CUBLAS_HOPPER = (4096 * 2 + 16 * 8) * KIB, 4096 * 8 * KIB
"""Bytes of one workspace that PyTorch gives to cuBLAS, and on compute capability 9.0:
``aten/src/ATen/cuda/CUDABlas.cpp`` and ``CublasHandlePool.cpp``; ``CUBLAS_WORKSPACE_CONFIG``
changes them."""


@dataclass(frozen=True, slots=True)
class CudaCard:
    """Card with its compute capability.

    ``name`` is empty where only the capability was given; ``memory`` is in bytes, 0 where it is not
    known.
    """

    name: str
    capability: tuple[int, int]
    memory: int = 0

    @property
    def cublas(self) -> int:
        """Bytes of one workspace of cuBLAS. A thread has its own: forward one, backward another."""
        return CUBLAS_HOPPER if self.capability == (9, 0) else CUBLAS

    @property
    def title(self) -> str:
        """Name of the card, or its compute capability: ``'T4'``, ``'compute capability 8.0'``."""
        major, minor = self.capability
        return self.name or f"compute capability {major}.{minor}"


def find(given: str | CudaCard) -> CudaCard:
    """Return the card of a name (``'t4'``, ``'RTX 4090'``), or one that is known by its compute
    capability alone (``'8.9'``).

    >>> find("rtx 4090").capability
    (8, 9)

    Raises:
        InputError: no such card, or no capability that CUDA has.
    """
    if isinstance(given, CudaCard):
        return given
    name: object = given
    if isinstance(name, str) and re.fullmatch(r"\d+(\.\d+)?", name.strip()):
        return _of_capability(name.strip())
    key = _key(name) if isinstance(name, str) else name
    return one_option("card", key, {_key(card.name): card for card in CARDS.values()})


def _of_capability(text: str) -> CudaCard:
    major, _, minor = text.partition(".")
    if not (5 <= int(major) <= 20 and len(minor or "0") == 1):
        raise InputError(
            f"a compute capability is a number as 7.5 or 8.9, got {shorten(text)}; try card='T4'."
        )
    return CudaCard("", (int(major), int(minor or 0)))


def chosen(device: str, card: str | CudaCard | None) -> CudaCard | None:
    """Return the card that a step is planned for: the given one, else the one of this machine, else
    the usual one; None for ``device="cpu"``.

    Raises:
        InputError: no such device or card, or a card for a processor.
    """
    if known("device", device, ("cpu", "cuda")) == "cuda":
        return find(card) if card is not None else installed() or USUAL
    if card is not None:
        raise InputError(
            f"device='cpu' has no card, got {shorten(card)}; try device='cuda', or leave it out."
        )
    return None


def _key(name: str) -> str:
    """Return a name as it is compared: without its maker, in small letters."""
    words = name.lower().replace("-", " ").split()
    return " ".join(word for word in words if word not in ("nvidia", "geforce", "tesla"))


def _cards() -> Iterator[tuple[str, CudaCard]]:
    path = lesson_folders.PACKAGE / "placement" / "cuda_cards.toml"
    for name, row in tomllib.loads(path.read_text(encoding="utf-8"))["card"].items():
        major, minor = row["capability"]
        yield name, CudaCard(name, (major, minor), units.parse(row["memory"]))


CARDS: dict[str, CudaCard] = dict(_cards())
"""Cards by name."""
USUAL = CudaCard("", (8, 0))
"""Card that is planned for where none is named: flash attention and bf16 are there, as on all later
ones."""


@cache
def installed() -> CudaCard | None:
    """Return the card of this machine, or None without one."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(0)
    return CudaCard(properties.name, (properties.major, properties.minor), properties.total_memory)

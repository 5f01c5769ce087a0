"""Operations of a recording written down, so that another process can run each of them alone.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import torch

from memlab.frontends.torch.recording import BEFORE, Call, Recording, Spec, at, specs

OPAQUE = "uint8"
"""The format of what an operator keeps for its backward in an order of its own: made-up values of
it crash, so the operator makes it."""


class UnwrittenError(Exception):
    """An argument that cannot be written down."""


class Jobs:
    """The calls of a recording at one batch, as text; equal texts are one operation.

    ``text[n]`` is call n, ``lacks[n]`` says why it cannot be run alone.
    """

    def __init__(self, found: Recording, batch: int) -> None:
        self.found, self.batch = found, batch
        self.text: dict[int, str] = {}
        self.lacks: dict[int, str] = {}
        for call in found.calls:
            if not call.view and not call.copies:
                self._add(call)

    def _add(self, call: Call) -> None:
        try:
            self.text[call.number] = json.dumps(self.job(call))
        except UnwrittenError as error:
            self.lacks[call.number] = str(error)

    def job(self, call: Call) -> dict[str, Any]:
        """One call; ``first`` are the calls that make what no made-up values can stand for."""
        args, kwargs = at(call.args, self.batch), at(dict(call.kwargs), self.batch)
        numbers = _Numbers(specs((args, kwargs)))
        first: dict[str, Any] = {}

        def written(value: Any) -> Any:
            return self.written(value, numbers, first)

        job = {
            "op": call.func._schema.name,
            "overload": call.func._overloadname,
            "grad": call.grad,
            "args": [written(each) for each in args],
            "kwargs": {name: written(each) for name, each in kwargs.items()},
        }
        return {**job, "first": first} if first else job

    def written(self, value: Any, numbers: _Numbers, first: dict[str, Any]) -> Any:
        """An argument as JSON."""
        if isinstance(value, Spec):
            return self.tensor(value, numbers, first)
        if isinstance(value, list | tuple):
            return [self.written(each, numbers, first) for each in value]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return {"torch": str(value).removeprefix("torch.")}
        raise UnwrittenError(f"an argument of type {type(value).__name__}")

    def tensor(self, spec: Spec, numbers: _Numbers, first: dict[str, Any]) -> Any:
        """A tensor: its view of a storage, or which output of which call it is."""
        maker = self.maker(spec)
        if maker is None:
            return {"tensor": numbers.view(spec)}
        call, output = maker
        name = str(len(first))
        first[name] = self.job(call)
        return {"made": [name, output]}

    def maker(self, spec: Spec) -> tuple[Call, int] | None:
        """The call that an opaque tensor comes from, and which of its outputs it is."""
        block = self.found.blocks[spec.storage]
        if spec.dtype != OPAQUE or block.born == BEFORE:
            return None
        call = self.found.calls[block.born]
        outputs = (each.storage if each else None for each in call.outputs)
        index = next((n for n, storage in enumerate(outputs) if storage == spec.storage), None)
        return None if index is None or not call.args else (call, index)


class _Numbers:
    """The storages of the arguments of one call, numbered from 0, each as large as it is seen."""

    def __init__(self, arguments: Iterable[Spec]) -> None:
        self.order: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        for spec in arguments:
            key, offset = spec.storage, _whole(spec.offset)
            self.order.setdefault(key, len(self.order))
            self.first[key] = min(offset, self.first.get(key, offset))
            self.ends[key] = max(offset + _extent(spec), self.ends.get(key, 0))

    def view(self, spec: Spec) -> list[Any]:
        """A tensor as ``alone`` makes it: what no argument sees of a storage is left out."""
        key = spec.storage
        count = self.ends[key] - self.first[key]
        offset = _whole(spec.offset) - self.first[key]
        return [self.order[key], count, list(spec.shape), list(spec.stride), offset, spec.dtype,
                spec.device]  # fmt: skip


def _extent(spec: Spec) -> int:
    """How many values lie between the first that it sees and the last."""
    shape, stride = [*map(_whole, spec.shape)], [*map(_whole, spec.stride)]
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))


def _whole(value: Any) -> int:
    """A number of a ``Spec`` that has been put at a batch."""
    return int(value)

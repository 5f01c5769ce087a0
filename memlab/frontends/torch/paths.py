"""Which module of a model is at work: the dotted name that its owner knows it by.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)


class Paths:
    """The modules whose forward runs now, from the outermost to the innermost, while it is entered.

    A module that is used under several names has the first; one that is no part of the model, such
    as a loss, has that of its class. ``entered`` and ``left`` are told when the model itself begins
    and ends.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.modules = {name: type(each).__name__ for name, each in model.named_modules()}
        self.stack: list[str] = []
        self.last = ""
        self.entered: Callable[[], None] = _nothing
        self.left: Callable[[], None] = _nothing
        self._names = {id(each): name for name, each in model.named_modules()}
        self._handles: list[Any] = []

    @property
    def now(self) -> str:
        """The innermost; empty in the model itself and outside it."""
        return self.stack[-1] if self.stack else ""

    def __enter__(self) -> Paths:
        self.stack.clear()
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in self._handles:
            handle.remove()

    def _enter(self, module: Any, inputs: Any) -> None:
        if module is self.model:
            self.entered()
        name = self._names.get(id(module))
        if name is None:
            name = self.now or type(module).__name__
        self.stack.append(name)
        self.last = name

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        if self.stack:
            self.stack.pop()
        if module is self.model:
            self.left()


def _nothing() -> None:
    return None

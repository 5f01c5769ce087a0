"""Functions that save a model, which write nothing while a script is watched.

A library that is not loaded yet is changed when the script loads it. Import this module only where
PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from types import ModuleType
from typing import Any

import torch

from memlab.frontends.torch.observed_model import sentence
from memlab.frontends.torch.torch_private_api import NO_MODES

METHOD = "save_pretrained"
"""Name of the method that saves models, tokenizers and the like of Hugging Face's libraries."""
FUNCTIONS = {
    "safetensors.torch": ("save_file",),
    "safetensors.numpy": ("save_file",),
    "torch.distributed.checkpoint": ("save", "async_save", "save_state_dict"),
    "torch.distributed.checkpoint.state_dict_saver": ("save", "async_save", "save_state_dict"),
}
"""Functions that write files, by their modules; ``torch.save`` is not among them."""
_PLACES = ("filename", "save_directory", "checkpoint_id", "path")
"""Names of the arguments that say where a file is written."""


class SkippedSaves:
    """Saves that were skipped, each as a function and a path, in the order of the calls. ``failed``
    is told why a save to memory failed, as that of fake tensors does."""

    def __init__(self) -> None:
        self.skipped: list[tuple[str, str]] = []
        self.failed: Callable[[str], None] = lambda reason: None

    def change(self, module: ModuleType) -> None:
        """Let the functions of a module, and the methods of the classes that it defines, write
        nothing."""
        if module.__name__ == "torch":
            torch.save = torch.serialization.save = self._torch_save(torch.save)
        for name in FUNCTIONS.get(module.__name__, ()):
            function = getattr(module, name, None)
            if function is not None and not hasattr(function, "skips"):
                place = module.__name__.removesuffix(".state_dict_saver")
                setattr(module, name, self._skip(function, f"{place}.{name}"))
        if module.__name__.partition(".")[0] != "torch":
            self._change_classes(module)

    def _change_classes(self, module: ModuleType) -> None:
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                method = vars(kind).get(METHOD)
                if inspect.isfunction(method):
                    setattr(kind, METHOD, self._skip(method, METHOD))

    def _skip(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function that writes nothing and notes where it would have written."""
        signature = inspect.signature(function)

        @wraps(function)
        def skip(*args: Any, **kwargs: Any) -> None:
            given: dict[str, Any] = {}
            with suppress(TypeError):
                given = signature.bind(*args, **kwargs).arguments
            places = (given[place] for place in _PLACES if given.get(place) is not None)
            self.skipped.append((name, _text(next(places, ""))))

        skip.skips = True  # type: ignore[attr-defined]  # so that it is changed once
        return skip

    def _torch_save(self, save: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``torch.save`` that writes to memory alone, not to files."""

        @wraps(save)
        def skip(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            if isinstance(f, str | os.PathLike) or _is_file(f):
                self.skipped.append(("torch.save", _text(f)))
            else:
                self._save_to_memory(save, obj, f, *args, **kwargs)

        return skip

    def _save_to_memory(self, save: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        try:
            with NO_MODES()():
                save(*args, **kwargs)
        except Exception as error:
            self.failed(sentence(error))
            raise


def _is_file(stream: Any) -> bool:
    """Return whether a stream writes to a file of the system."""
    try:
        return isinstance(stream.fileno(), int)
    except (AttributeError, OSError):
        return False


def _text(place: Any) -> str:
    """Return where something is written, as text."""
    place = getattr(place, "name", place) if hasattr(place, "fileno") else place
    return os.fsdecode(place) if isinstance(place, str | bytes | os.PathLike) else ""

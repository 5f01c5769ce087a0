"""The arguments of the function that makes a view, and its text: both follow from the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, ClassVar, Protocol

from memlab.pictures.live.setting import Setting


class Settled(Protocol):
    """A class of views, as far as its arguments go."""

    settings: ClassVar[Mapping[str, Setting[Any]]]
    positional: ClassVar[Sequence[str]]


def signature(view: type[Settled]) -> Signature:
    """The arguments of a view: its settings."""
    arguments = {name: each for name, each in view.settings.items() if each.argument}
    ordered = [*view.positional, *(name for name in arguments if name not in view.positional)]
    return Signature([_parameter(arguments[name], name in view.positional) for name in ordered])


def _parameter(setting: Setting[Any], positional: bool) -> Parameter:
    kind = Parameter.POSITIONAL_OR_KEYWORD if positional else Parameter.KEYWORD_ONLY
    return Parameter(setting.name, kind, default=None if setting.optional else setting.usual)


def explained(view: type[Settled]) -> str:
    """The text of the function: what the class says first, then each argument."""
    head = (view.__doc__ or "").strip().partition("\n\n")[0]
    ordered = signature(view).parameters
    lines = [f"    {name}: {view.settings[name].doc}." for name in ordered]
    raises = "Raises:\n    InputError: a value that is not allowed."
    return "\n".join([head, "", "Args:", *lines, "", raises])

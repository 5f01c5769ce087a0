"""Setting of the network of a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memlab.networks.graph import Network
from memlab.pictures.live.setting import Setting
from memlab.pictures.values.step_recipe import name_of, named_or_given


def network_setting(
    kind: Callable[..., Setting[Network]] = Setting,
    doc: str = "a name of ``memlab.zoo``, or a network of yours",
    **given: Any,
) -> Setting[Network]:
    """Return the setting of a network, by its name or as it is.

    Args:
        kind: makes the setting: ``Setting``, which has no control, or a class with one.
        doc: its description.
        **given: its other arguments.
    """
    return kind(doc=doc, check=named_or_given, code="plain",
                write=lambda network: repr(name_of(network)), **given)  # fmt: skip

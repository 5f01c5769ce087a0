"""Traits of operations: the rewrites that they allow beyond what their reads, writes and updates
say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from memlab.moved import old_names
from memlab.step.storage import Size


class SplitAxis(StrEnum):
    """Axis along which an operation can be split into parts that are computed one after another."""

    WHOLE = "whole"
    VALUES = "values"
    SAMPLES = "samples"
    CHANNELS = "channels"
    OUTPUTS = "outputs"
    PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True)
class RerunRule:
    """Rule by which an operation that changes something in place runs another time: it reads the
    outputs that it ``kept``, writes the others anew and changes nothing. ``flops`` are those of
    the second run."""

    kept: tuple[str, ...]
    flops: Size


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of the operations of a kind. An operation without any is of an unknown kind:
    techniques do with it what its reads and writes allow.

    ``over``: by output, the inputs in whose place it may lie: each of its values is computed from
    the value in its place, and from what is known before the first one is written. ``cut``: along
    what it can be cut. ``cheap``: it computes little for each byte that it writes. ``as_stored``:
    it reads bits as they are stored, in any format. ``moves``: it moves values and computes none.
    ``apart``: its kernel reads the gradients that it writes, so that where it adds to them it needs
    room for what it adds.
    """

    over: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cut: SplitAxis = SplitAxis.WHOLE
    cheap: bool = False
    as_stored: bool = False
    moves: bool = False
    apart: bool = False


PLAIN = Traits()
"""Those of an unknown kind."""


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)

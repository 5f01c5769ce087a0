"""Figures of the moving picture: planned bytes of one layer, and its recorded times."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from memlab import strings, units, zoo
from memlab.layers.layer import Node
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import RecordedFigures
from memlab.networks.graph import Network
from memlab.pictures.shifted_copies.lowering import (
    conv,
    factor,
    input_bytes,
    short_times,
    workspace,
)
from memlab.pictures.values import timings

NETWORK, LAYER, BATCH = "resnet50", "1.1.conv2", 8
WAYS = {"copies": "im2col-batch", "tile": "im2col-tile", "none": "offsets"}
"""Algorithms of the recording, by the names that the picture has for them."""
FILE = recorded_figures.FOLDER / "recorded" / "03-tile.json"


def text_of(key: str, /, **values: object) -> str:
    """Return a text of the picture by its key."""
    return strings.get(f"hero.{key}", **values)


@dataclass(frozen=True)
class HeroFigures:
    """Layer of the picture, and the recording of its algorithms on ``threads`` threads."""

    network: Network
    node: Node
    recorded: RecordedFigures
    threads: int

    @classmethod
    def kept(cls) -> HeroFigures:
        """Return the figures of the recording that lesson 03 shows.

        Raises:
            InputError: the recording is missing or damaged.
        """
        network, recorded = zoo.build(NETWORK), recorded_figures.load(FILE)
        threads = json.loads(FILE.read_text(encoding="utf-8"))["picture"]["threads"]
        return cls(network, network.by_name[LAYER], recorded, threads)

    def input(self, copies: int = 1) -> int:
        """Return the bytes of the input, or of several copies of it."""
        return input_bytes(self.node, BATCH) * copies

    def workspace(self, way: str) -> int:
        """Return the planned bytes that a way needs besides input, weights and output."""
        return workspace(self.node, WAYS[way]).size.at(BATCH)

    def seconds(self, way: str) -> float:
        """Return the recorded time of a way."""
        return self.recorded.line(f"{self.network.label} {LAYER}: {WAYS[way]}").value

    def faster(self, way: str) -> str:
        """Return how many times faster a way is than the copies: ``'2.4'``."""
        return f"{self.seconds('copies') / self.seconds(way):.1f}"

    @cached_property
    def values(self) -> dict[str, object]:
        """Values of the texts, by name."""
        kernel = conv(self.node).kernel
        return {
            "network": self.network.title,
            "layer": LAYER,
            "batch": BATCH,
            "k": kernel,
            "count": kernel**2,
            "times": short_times(factor(self.node)),
            "input": units.short(self.input()),
            "matrix": units.short(self.workspace("copies")),
            "tile": units.short(self.workspace("tile")),
            "tile_times": self.faster("tile"),
            "none": units.short(self.workspace("none")),
            "none_times": self.faster("none"),
            "threads": timings.on_threads(self.threads),
            "processor": self.recorded.result.machine.processor,
        }

    def sentence(self, key: str, /, **more: object) -> str:
        """Return a text of the picture with its figures filled in."""
        return text_of(key, **self.values | more)

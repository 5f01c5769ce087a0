"""Ways to fine-tune a language model, each with its plan: full, with low-rank adapters, and with
these on a base in 8 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from memlab import strings, units
from memlab.assemble.step import training_step
from memlab.networks.fine_tuning import lora
from memlab.networks.graph import Network
from memlab.networks.language_models import LanguageModel
from memlab.pictures.length.growth import LOGITS, MATRICES, OTHERS, TextStep, part_finder
from memlab.pictures.values.number_text import percent, three_digits, three_digits_of_sum
from memlab.pictures.values.study import Study
from memlab.step.lifetimes import Lifetime
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role

FULL, LORA, SMALL = "full", "lora", "small"
WAYS = (FULL, LORA, SMALL)
"""Every parameter learns; adapters alone do; so, and the base is in 8 bits."""
STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
MAPS = (LOGITS, MATRICES, OTHERS, str(Role.GRADIENT_MAP))
ADAPTED: Mapping[str, tuple[str, ...]] = {
    "q and v": ("*.q", "*.v"),
    "q, k and v": ("*.q", "*.k", "*.v"),
    "all": ("*.qkv", "*.project", "*.fc1", "*.fc2"),
}
"""Layers that have adapters, by name: parts of attention, or every linear layer of a block."""
_BLOCKS = 2
"""Layers of the model of which the last one is shown: something in front of it learns."""


@dataclass(frozen=True)
class TuningRecipe:
    """Language model and its adapters: their ``rank``, and the layers that have them
    (``ADAPTED``). ``fused`` computes attention without its matrices."""

    model: LanguageModel
    rank: int = 16
    adapters: str = "q and v"
    fused: bool = True

    @property
    def where(self) -> str:
        """The layers that have adapters, in words."""
        return text_of("control.adapters_all") if self.adapters == "all" else self.adapters

    def network(self, way: str, length: int) -> Network:
        """Return the network of a way, for texts of ``length`` tokens; the last ones are cached."""
        if way == FULL:
            return _whole(self.model, self.fused, length)
        return _adapted(self, length)

    def step(self, way: str, length: int) -> Step:
        """Return the training step of a way, with Adam."""
        return training_step(self.network(way, length), "adam", eight_bit_base=way == SMALL)

    def figures(self, way: str, length: int, batch: int) -> TuningWay:
        """Return the figures of a way; its last plans are cached."""
        recipe = TuningRecipe(self.model, fused=self.fused) if way == FULL else self
        plan, learning = _planned(recipe, way, length), self.network(way, length).learning
        state, maps = (plan.largest(parts, batch) for parts in (STATE, MAPS))
        peak = plan.peak(batch)
        return TuningWay(way, learning, state, maps, peak.nbytes, peak.operation)

    def maps(self, length: int) -> tuple[LayerMap, ...]:
        """Return the maps that one layer of the model keeps when every parameter learns."""
        return _layer_maps(replace(self, model=replace(self.model, layers=_BLOCKS)), length)


@lru_cache(maxsize=32)
def _whole(model: LanguageModel, fused: bool, length: int) -> Network:
    return model.network(length, "fused" if fused else "matrix")


@lru_cache(maxsize=32)
def _adapted(recipe: TuningRecipe, length: int) -> Network:
    whole, layers = recipe.network(FULL, length), ADAPTED[recipe.adapters]
    return lora(whole, recipe.rank, 2 * recipe.rank, layers)


@lru_cache(maxsize=96)
def _planned(recipe: TuningRecipe, way: str, length: int) -> TextStep:
    return TextStep(recipe.step(way, length))


# -- one way -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TuningWay:
    """Figures of one way at a batch: how many values learn, the model ``state`` and the ``maps`` by
    part, each at the moment when they are largest, and the ``operation`` of the ``peak``."""

    name: str
    learning: int
    state: Mapping[str, int]
    maps: Mapping[str, int]
    peak: int
    operation: str

    @property
    def amounts(self) -> dict[str, int]:
        """Bytes of every part."""
        return {**self.state, **self.maps}

    @property
    def totals(self) -> tuple[int, int]:
        """Bytes of the model state, and of the maps."""
        return sum(self.state.values()), sum(self.maps.values())

    @property
    def sums(self) -> tuple[str, str]:
        """Return both totals as sums of their parts, rounded so that they add up."""
        sides = ([self.state[str(role)] for role in STATE], [n for n in self.maps.values() if n])
        total = (three_digits_of_sum(sum(parts), parts) for parts in sides)
        state, maps = (f"{' + '.join(parts)} = {whole}" for whole, parts in total)
        return state, maps

    @property
    def label(self) -> str:
        """Name for people."""
        return text_of(f"way.{self.name}")


# -- one layer ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerMap:
    """Map that a layer of the model keeps when every parameter learns.

    ``nbytes`` are those of one text, ``part`` is what the picture of lengths counts it as, and
    ``readers`` the layers that backward reads it for; ``adapted_readers`` are those that are left
    with adapters, none where it is not kept.
    """

    name: str
    nbytes: int
    part: str
    readers: tuple[str, ...]
    adapted_readers: tuple[str, ...]

    @property
    def kept(self) -> bool:
        """True if the map is kept with adapters, too."""
        return bool(self.adapted_readers)

    def read_by(self, adapted: bool) -> str:
        """Return who reads it in backward, in words."""
        readers = self.adapted_readers if adapted else self.readers
        own = (text_of("itself") if reader == self.name else reader for reader in readers)
        return strings.series(tuple(dict.fromkeys(own))) if readers else text_of("nobody")


@lru_cache(maxsize=32)
def _layer_maps(recipe: TuningRecipe, length: int) -> tuple[LayerMap, ...]:
    full, adapted = (_kept(recipe.step(way, length)) for way in (FULL, LORA))
    left: dict[str, tuple[str, ...]] = {}
    for name, (*_, readers) in adapted.items():
        left[name.removesuffix(".B")] = (*left.get(name.removesuffix(".B"), ()), *readers)
    return tuple(
        LayerMap(name, nbytes, part, readers, left.get(name, ()))
        for name, (nbytes, part, readers) in full.items()
    )


def _kept(step: Step) -> dict[str, tuple[int, str, tuple[str, ...]]]:
    """Return the maps of the last layer that backward reads: bytes of one text, part and readers,
    by the name of the layer that makes it, without the number of the block."""
    prefix, maps = f"{_BLOCKS}.", dict[str, tuple[int, str, tuple[str, ...]]]()
    part_of = part_finder(step)
    for op in step.ops:
        if op.phase is Phase.FORWARD and op.layer.startswith(prefix):
            life = step.lifetimes[op.writes["y"].storage.name]
            if readers := _readers(step, life):
                short = (_reader(name.removeprefix(prefix)) for name in readers)
                name = op.layer.removeprefix(prefix)
                maps[name] = life.size.per_sample, part_of(life), tuple(short)
    return maps


def _readers(step: Step, life: Lifetime) -> list[str]:
    """Return the layers for whose backward a block is read."""
    name = life.tensor.storage.name
    uses = step.lifetimes.uses[name].all
    return [step.ops[n].layer for n in uses if step.ops[n].phase is Phase.BACKWARD]


def _reader(name: str) -> str:
    """Return a reader in words: an adapter's layers are that."""
    return text_of("adapter") if name.endswith((".A", ".B")) else name


# -- all of them -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FineTuning(Study):
    """Fine-tuning of a language model on ``batch`` texts of ``length`` tokens, in each way."""

    recipe: TuningRecipe
    batch: int
    length: int

    @cached_property
    def ways(self) -> tuple[TuningWay, ...]:
        """Figures of each way."""
        return tuple(self.recipe.figures(way, self.length, self.batch) for way in WAYS)

    @property
    def first(self) -> TuningWay:
        """Way in which every parameter learns, with which the others are compared."""
        return self.ways[0]

    @property
    def adapted(self) -> TuningWay:
        """Way with adapters on the base in fp32."""
        return self.ways[1]

    @cached_property
    def maps(self) -> tuple[LayerMap, ...]:
        """Maps that one layer keeps when every parameter learns."""
        return self.recipe.maps(self.length)

    @property
    def unit(self) -> int:
        """Bytes of a map of the model's width, of one text: one cell."""
        return 4 * self.length * self.recipe.model.features

    # -- in words ---------------------------------------------------------------------------

    @property
    def finding(self) -> str:
        """Return the finding, its weight between asterisks."""
        sides = zip(self.adapted.totals, self.first.totals, strict=True)
        state, maps = (round(100 * now / max(whole, 1)) for now, whole in sides)
        key = "found" if maps < 99 else "all"
        return text_of(f"title.{key}", state=f"{100 - state}", maps=f"{maps}")

    @property
    def title(self) -> str:
        return self.finding.replace("*", "")

    @property
    def sentences(self) -> list[str]:
        return [text_of("see"), *self.lines]

    @property
    def lines(self) -> list[str]:
        """Return each way in one exact sentence."""
        return [
            text_of("line", name=way.label, state=units.exact(way.totals[0]),
                    maps=units.exact(way.totals[1]), peak=units.exact(way.peak),
                    operation=way.operation)
            for way in self.ways
        ]  # fmt: skip

    @property
    def subject(self) -> str:
        """Return what the figures are of."""
        recipe, count = self.recipe, "subject" if self.batch > 1 else "subject_one"
        attention = text_of("fused" if recipe.fused else "matrix")
        return text_of(count, model=recipe.model.title, batch=f"{self.batch:,}",
                       length=f"{self.length:,}", attention=attention)  # fmt: skip

    @property
    def notes(self) -> list[str]:
        more = [text_of(f"note.{key}") for key in ("moments", "small", "pytorch")]
        return [f"{self.subject} {self.adapters}", *more]

    @property
    def adapters(self) -> str:
        """Return what the adapters are, and how many values learn."""
        counts = {"learning": self.adapted.learning, "parameters": self.recipe.model.parameters}
        return text_of("adapters", rank=self.recipe.rank, adapters=self.recipe.where,
                       **{key: f"{count:,}" for key, count in counts.items()})  # fmt: skip

    def row_note(self, way: TuningWay) -> str:
        """Return what stands under the name of a way."""
        learning = percent(way.learning, way.learning + self.recipe.model.parameters)
        return text_of(f"note.row.{way.name}", adapters=self.recipe.where, share=learning)

    # -- tables -----------------------------------------------------------------------------

    def table(self) -> list[list[str]]:
        """Return exact bytes by part with a column for each way; heads first."""
        rows = [[text_of("table.bytes"), *(way.label for way in self.ways)]]
        rows.append([text_of("table.learning"), *(f"{way.learning:,}" for way in self.ways)])
        for role in STATE:
            rows.append([name_of(role), *(f"{way.state[str(role)]:,}" for way in self.ways)])
        rows.append([text_of("table.state"), *(f"{way.totals[0]:,}" for way in self.ways)])
        for part in MAPS:
            if any(sizes := [way.maps[part] for way in self.ways]):
                rows.append([name_of(part), *(f"{nbytes:,}" for nbytes in sizes)])
        rows.append([text_of("table.maps"), *(f"{way.totals[1]:,}" for way in self.ways)])
        rows.append([text_of("table.peak"), *(f"{way.peak:,}" for way in self.ways)])
        rows.append([text_of("table.operation"), *(way.operation for way in self.ways)])
        for side, key in enumerate(("state_share", "maps_share")):
            shares = [percent(way.totals[side], self.first.totals[side]) for way in self.ways]
            rows.append([text_of(f"table.{key}"), *shares])
        return rows

    def map_table(self) -> list[list[str]]:
        """Return a row for each map of one layer; heads first."""
        heads = [text_of(f"table.{key}") for key in ("map", "bytes_all", "readers", "adapted")]
        return [heads, *([map_.name, f"{self.batch * map_.nbytes:,}", map_.read_by(False),
                          map_.read_by(True)] for map_ in self.maps)]  # fmt: skip

    def amount(self, way: TuningWay, part: str) -> str:
        """Return the bytes of a part of a way in three digits."""
        return three_digits(way.amounts[part])


def name_of(part: str) -> str:
    """Return a part in words."""
    return text_of(f"part.{part}")


def parts_of(way: TuningWay) -> Sequence[str]:
    """Return the parts that are drawn of a way, from left to right."""
    return [part for part in (*map(str, STATE), *MAPS) if way.amounts[part]]


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"fine_tuning.{key}", **values)

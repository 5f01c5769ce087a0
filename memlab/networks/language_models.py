"""Sizes of published language models: parameters, and the cache of keys and values that they fill.

A model that writes a text token by token keeps a key and a value of every head of keys and values
in every layer, for each token so far. Where several heads of queries share one of these (grouped
heads, Ainslie et al. 2023), the cache is smaller by that factor.

The figures of a model follow from its published configuration by formula. Models with the layers of
GPT-2 are networks of the zoo, too, which memlab plans and runs; those with the layers of Llama are
not: memlab has neither RMSNorm nor a gated layer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memlab import lesson_folders, units
from memlab.errors import InputError, known, one_option, whole_number
from memlab.formats import FORMATS, STORED, Format
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.networks.zoo.transformers import Attention


@dataclass(frozen=True)
class LanguageModel:
    """Configuration of a language model.

    ``heads`` ask (queries), ``kv_heads`` are kept (keys and values). ``inner`` is the width inside
    of the two or three linear layers after attention. A model with a table of ``positions`` has the
    layers of GPT-2, one without has those of Llama. With ``tied`` the output layer shares the table
    of the embedding.

    >>> model = memlab.language_models.find("gpt2")
    >>> model.parameters, model.cache_per_token()
    (124439808, 73728)
    """

    name: str
    title: str
    layers: int
    features: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    positions: int
    tied: bool
    source: str

    @property
    def planned(self) -> bool:
        """True if memlab has its layers, so that ``network`` makes a network of it."""
        return self.positions > 0

    @property
    def head_size(self) -> int:
        """Values of a query, of a key and of a value of one head."""
        return self.features // self.heads

    @property
    def group(self) -> int:
        """Heads of queries that share one head of keys and values."""
        return self.heads // self.kv_heads

    @property
    def parameters(self) -> int:
        """Number of parameters, by formula."""
        table = self.vocabulary * self.features
        tables = table + self.positions * self.features + (0 if self.tied else table)
        norm = self.features * (2 if self.planned else 1)
        return tables + self.layers * (self._of_attention + self._after_attention + 2 * norm) + norm

    @property
    def _of_attention(self) -> int:
        """Parameters of queries, keys, values and of the layer that mixes the heads."""
        width = 2 * self.kv_heads * self.head_size
        biases = 2 * self.features + width if self.planned else 0
        return 2 * self.features**2 + self.features * width + biases

    @property
    def _after_attention(self) -> int:
        """Parameters of the linear layers after attention: two, or three where one is a gate."""
        if self.planned:
            return 2 * self.features * self.inner + self.inner + self.features
        return 3 * self.features * self.inner

    def grouped(self, kv_heads: int) -> LanguageModel:
        """Return the model with as many heads of keys and values, and fewer parameters for them.

        >>> memlab.language_models.find("gpt2").grouped(4).cache_per_token()
        24576

        Raises:
            InputError: the number does not divide the heads of queries.
        """
        count = whole_number("kv_heads", kv_heads, most=self.heads)
        if self.heads % count:
            raise InputError(
                f"{count} heads of keys and values do not divide {self.heads} heads of queries; "
                f"try {max(n for n in shared_heads(self) if n < count)}."
            )
        return replace(self, kv_heads=count)

    def network(self, length: int, attention: Attention = "matrix") -> Network:
        """Return the network of the zoo in this size, for texts of ``length`` tokens.

        >>> memlab.language_models.find("gpt2_xl").network(1024).parameters
        1557611200

        Raises:
            InputError: the model has the layers of Llama, or grouped heads.
        """
        if not self.planned or self.kv_heads < self.heads:
            what = "grouped heads" if self.planned else "the layers of Llama"
            planned = ", ".join(name for name, model in MODELS.items() if model.planned)
            raise InputError(
                f"memlab has no network with {what}, as {self.title} needs; try one of {planned}."
            )
        make = zoo.gpt_small if self.name == "gpt_small" else zoo.gpt2
        return make(length, self.layers, self.features, self.heads, self.vocabulary, attention)

    # -- the cache of keys and values ---------------------------------------------------------

    def cache_per_token(self, format: str = "fp32") -> int:
        """Return the bytes of keys and values of one token: 2 · layers · kv_heads · head_size
        values.

        >>> memlab.language_models.find("llama3_8b").cache_per_token("bf16")
        131072

        Args:
            format: the format of a value (``memlab.formats``).

        Raises:
            InputError: no such format.
        """
        return _format(format).nbytes(2 * self.layers * self.kv_heads * self.head_size)

    def parameter_bytes(self, format: str = "fp32") -> int:
        """Return the bytes of all parameters in a format.

        Raises:
            InputError: no such format.
        """
        return _format(format).nbytes(self.parameters)

    def cache(self, texts: int, tokens: int, format: str = "fp32") -> int:
        """Return the bytes of the cache of some texts of as many tokens each.

        >>> memlab.language_models.find("gpt2").cache(texts=4, tokens=1024)
        301989888

        Raises:
            InputError: no whole numbers of at least 1, or no such format.
        """
        read = whole_number("texts", texts) * whole_number("tokens", tokens)
        return read * self.cache_per_token(format)

    def passes(self, texts: int = 1, format: str = "fp32") -> int:
        """Return the least number of tokens of each text at which the cache has as many bytes as
        the parameters, or more.

        >>> memlab.language_models.find("gpt2").passes(texts=16)
        422

        Args:
            texts: number of texts at a time.
            format: the format of the parameters and of the cache.

        Raises:
            InputError: no whole number of at least 1, or no such format.
        """
        return -(-self.parameter_bytes(format) // self.cache(texts, 1, format))

    def largest_batch(self, memory: int | str, tokens: int, format: str = "fp32") -> int:
        """Return the largest number of texts whose cache fits a memory beside the parameters; 0 if
        not even one text does. What one layer needs while it computes is not counted.

        >>> memlab.language_models.find("gpt2").largest_batch("24 GB", tokens=1024)
        311

        Args:
            memory: bytes, or a text such as ``"24 GB"``.
            tokens: length of each text.
            format: the format of the parameters and of the cache.

        Raises:
            InputError: no amount of memory, no whole number of at least 1, or no such format.
        """
        free = units.exact_or_parsed(memory) - self.parameter_bytes(format)
        return max(free // self.cache(1, tokens, format), 0)


def shared_heads(model: LanguageModel) -> list[int]:
    """Return the numbers of heads of keys and values that a model can have: the divisors of its
    heads of queries, from the largest to 1."""
    return [count for count in range(model.heads, 0, -1) if model.heads % count == 0]


def find(name: str) -> LanguageModel:
    """Return the model of that name.

    Raises:
        InputError: there is none; the message names all.
    """
    return one_option("language model", name, MODELS)


def _format(name: str) -> Format:
    return FORMATS[known("format", name, STORED)]


def _models() -> Iterator[LanguageModel]:
    path = lesson_folders.PACKAGE / "networks" / "language_models.toml"
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["model"]:
        positions = row.get("positions", 0)
        usual = {"kv_heads": row["heads"], "positions": 0, "tied": positions > 0}
        yield LanguageModel(**usual | row)


MODELS: dict[str, LanguageModel] = {model.name: model for model in _models()}
"""Models by name."""

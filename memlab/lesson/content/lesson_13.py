"""Lesson 13, a language model.

Cards: twice the text, low-rank adapters, the cache of keys and values. Exercises: the length at
which the matrices of attention pass the rest, and the bytes of a cache with grouped heads.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from random import Random

from memlab.assemble.step import training_step
from memlab.claims import model_state_bytes, per_parameter
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import planned, step_of
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.misconceptions import Mistake
from memlab.networks import language_models, zoo
from memlab.networks.graph import Network
from memlab.networks.language_models import LanguageModel
from memlab.pictures.fine_tuning.ways import FULL, LORA, TuningRecipe
from memlab.pictures.length.growth import MATRICES, TrainingRecipe
from memlab.pictures.length.text_length import law_of
from memlab.pictures.values.number_text import three_digits
from memlab.step.tensor import Role

KEPT_MATRICES = ".softmax"
"""In the names of the matrices that attention keeps: its probabilities, and these after dropout."""

# -- what earlier lessons said --------------------------------------------------------------------


@topic("13.reads", AnswerKind.CHOICE, {"network": "gpt_small", "layer": "1.fc1"}, None,
       options=("input", "output", "both"), part=Purpose.RECALL,
       gives=("needs the input", "reads the input"))  # fmt: skip
def reads(n: Numbers) -> Truth:
    """Answer of 13.reads: the feature maps that the backward of a linear layer reads."""
    step = step_of(zoo.build(n["network"]))
    backward = next(op for op in step.ops if op.name == f"backward of {n['layer']}")
    slots = {"x": "input", "y": "output"}
    read = [slots[slot] for slot in backward.reads if slot in slots]
    return Truth("both" if len(read) > 1 else read[0])


@topic("13.state", AnswerKind.CHOICE, {"network": "gpt_small"}, None,
       options=("four", "eight", "sixteen"), part=Purpose.RECALL,
       gives=("16 B for each parameter", "16 bytes"))  # fmt: skip
def state(n: Numbers) -> Truth:
    """Answer of 13.state: bytes of the model state for each parameter, with Adam in fp32 (F1)."""
    nbytes = per_parameter(step_of(zoo.build(n["network"]), "adam"))
    return Truth({4: "four", 8: "eight", 16: "sixteen"}[round(nbytes)])


# -- twice the text -------------------------------------------------------------------------------


def _peak(network: str, length: int, batch: int) -> tuple[int, int]:
    """Bytes of the peak, and of the matrices of attention in it."""
    peak = TrainingRecipe(language_models.find(network)).peak(length, batch)
    return peak.nbytes, peak.parts[MATRICES]


def matrices_at(ledger: Ledger, batch: int, operation: int) -> int:
    """Return the bytes of the matrices of attention that are alive in an operation."""
    alive = ledger.alive(operation)
    return sum(entry.size.at(batch) for entry in alive if KEPT_MATRICES in entry.name)


def _draw_doubled(chance: Random) -> Numbers:
    lengths, batches = (512, 1024, 2048), (4, 8, 16)
    return {"network": "gpt2", "length": chance.choice(lengths), "batch": chance.choice(batches)}


def _with_title(n: Numbers) -> Numbers:
    """Numbers with the title of the model, the doubled length and the peak."""
    model = language_models.find(n["network"])
    peak, _ = _peak(n["network"], n["length"], n["batch"])
    lengths = {"length": f"{n['length']:,}", "twice": f"{2 * n['length']:,}"}
    return {**n, **lengths, "label": model.title, "peak": three_digits(peak)}


@topic("13.doubled", AnswerKind.TIMES, {"network": "gpt2", "length": 1024, "batch": 8},
       _draw_doubled, decimals=1, words=_with_title,
       stops=("1.0", "1.2", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0", "5.0", "6.0", "8.0"),
       gives=("four times", "length squared", "n²", "pair of tokens", "square of the length"),
       shows=({"fused": False, "network": "gpt2"},))  # fmt: skip
def doubled(n: Numbers) -> Truth:
    """Answer of 13.doubled: the peak with texts of twice the length over the peak, with the
    matrices of attention (F5)."""
    (before, few), (after, many) = (
        _peak(n["network"], length, n["batch"]) for length in (n["length"], 2 * n["length"])
    )
    ratio = Fraction(after, before)
    causes = Mistake("all_linear", Fraction(2)), Mistake("all_square", Fraction(4))
    told = {"before": three_digits(before), "after": three_digits(after)}
    told |= {"few": three_digits(few), "many": three_digits(many)}
    told |= {"rest": three_digits(before - few), "others": three_digits(after - many)}
    return Truth(ratio, (planned(ratio),), causes, told)


@topic("13.fused", AnswerKind.CHOICE,
       {"network": "gpt2", "length": 1024, "batch": 8, "chunks": 8}, None,
       options=("less", "twice", "more", "four"), part=Purpose.CHANGE, words=_with_title,
       gives=("less than 2",))  # fmt: skip
def fused(n: Numbers) -> Truth:
    """Answer of 13.fused: the growth of the peak with texts of twice the length, with fused
    attention and a loss in chunks (F5, F7)."""
    recipe = TrainingRecipe(language_models.find(n["network"]), True, n["chunks"])
    before, after = (recipe.peak(times * n["length"], n["batch"]).nbytes for times in (1, 2))
    told = {"before": three_digits(before), "after": three_digits(after)}
    return Truth(law_of(before, after), seen=told)


# -- low-rank adapters ----------------------------------------------------------------------------


def _recipe(n: Numbers) -> TuningRecipe:
    """Return the way in which the model of a question is fine-tuned, with fused attention."""
    return TuningRecipe(language_models.find(n["network"]), n["rank"])


def _networks(n: Numbers) -> tuple[Network, Network]:
    """Return a model in which all parameters learn, and the same with adapters."""
    whole, adapted = (_recipe(n).network(way, n["length"]) for way in (FULL, LORA))
    return whole, adapted


def _ledgers(n: Numbers) -> tuple[Ledger, Ledger]:
    whole, adapted = (plan(_recipe(n).step(way, n["length"])) for way in (FULL, LORA))
    return whole, adapted


def _draw_lora(chance: Random) -> Numbers:
    sizes = chance.choice(((4, 512), (8, 512), (4, 1024), (16, 512), (8, 1024)))
    return {
        "network": "gpt2",
        "batch": sizes[0],
        "length": sizes[1],
        "rank": chance.choice((8, 16)),
    }


def _lora_words(n: Numbers) -> Numbers:
    whole, adapted = _networks(n)
    share = f"{100 * adapted.learning / whole.parameters:.1f}"
    peak = three_digits(_ledgers(n)[0].peak(n["batch"]))
    title = language_models.find(n["network"]).title
    return {**n, "length": f"{n['length']:,}", "label": title, "share": share, "peak": peak}


@topic("13.lora", AnswerKind.TIMES, {"network": "gpt2", "batch": 8, "length": 1024, "rank": 16},
       _draw_lora, decimals=1, words=_lora_words,
       stops=("1.0", "1.1", "1.2", "1.4", "1.6", "2.0", "3.0", "4.0", "8.0", "16", "50", "200"),
       gives=("feature maps stay", "a quarter less"))  # fmt: skip
def adapters(n: Numbers) -> Truth:
    """Answer of 13.lora: the peak of a step in which all learns over that with adapters."""
    batch, ledgers = n["batch"], _ledgers(n)
    whole, adapted = _networks(n)
    before, after = (ledger.peak(batch) for ledger in ledgers)
    roles, left = (ledger.roles(batch) for ledger in ledgers)
    ratio = Fraction(before, after)
    causes = (
        Mistake("all_like_learning", Fraction(whole.parameters, adapted.learning)),
        Mistake("all_like_state", _state_over_parameters(whole)),
        Mistake("none_saved", Fraction(1)),
    )
    told = {"before": three_digits(before), "after": three_digits(after)}
    told |= {"maps": three_digits(roles[Role.FEATURE_MAP]),
             "others": three_digits(left[Role.FEATURE_MAP])}  # fmt: skip
    return Truth(ratio, (planned(ratio),), causes, told)


def _state_over_parameters(network: Network) -> Fraction:
    """Bytes of the model state with Adam over those of the parameters, which stay when nothing
    else is there."""
    step = training_step(network, "adam")
    return Fraction(model_state_bytes(step), model_state_bytes(step, Role.PARAMETER))


# -- the cache of keys and values -----------------------------------------------------------------

_TEXTS = ((16, 1024), (16, 4096), (4, 4096), (4, 8192), (4, 16_384), (3, 2048))
"""Numbers of texts and of tokens; the last cache is smaller than the parameters of GPT-2."""


def _draw_cache(chance: Random) -> Numbers:
    texts, length = chance.choice(_TEXTS)
    return {"network": "gpt2", "texts": texts, "length": length}


def _cache_words(n: Numbers) -> Numbers:
    model = language_models.find(n["network"])
    parameters = three_digits(model.parameter_bytes())
    length = f"{n['length']:,}"
    return {**n, "length": length, "label": model.title, "parameters": parameters}


@topic("13.cache", AnswerKind.TIMES, {"network": "gpt2", "texts": 16, "length": 2048}, _draw_cache,
       decimals=1, words=_cache_words,
       stops=("0.1", "0.2", "0.5", "1.0", "1.2", "1.5", "2.0", "2.5", "3.0", "4.0", "6.0", "10"),
       gives=("larger than the parameters", "passes the parameters"))  # fmt: skip
def cached(n: Numbers) -> Truth:
    """Answer of 13.cache: the bytes of the cache over those of the parameters, by formula (F9)."""
    model = language_models.find(n["network"])
    nbytes = model.cache(n["texts"], n["length"])
    ratio = Fraction(nbytes, model.parameter_bytes())
    causes = (
        Mistake("one_of_two", ratio / 2),
        Mistake("one_layer", ratio / model.layers, {"layers": model.layers}),
        Mistake("one_text", ratio / n["texts"], {"texts": n["texts"]}),
    )
    told = {"cache": three_digits(nbytes), "token": f"{model.cache_per_token():,}",
            "passes": f"{model.passes(n['texts']):,}", "heads": model.heads,
            "layers": model.layers, "features": f"{model.features:,}"}  # fmt: skip
    return Truth(ratio, (planned(ratio),), causes, told)


# -- exercise: where the matrices pass the rest ---------------------------------------------------


def _draw_growth(chance: Random, size: int) -> Arguments:
    """Draw bytes that grow with the square of the length, with the length, and not at all. In some
    cases both sides are equal at a length, in some 1 token is enough."""
    square, length = chance.randint(1, 9 * size), chance.randint(1, 16 * size)
    kind = chance.choice(("any", "any", "equal", "one"))
    if kind == "one":
        each = chance.randint(0, square - 1)
        return {"square": square, "each": each, "fixed": chance.randint(0, square - 1 - each)}
    each = chance.randint(0, square * length)
    fixed = length * (square * length - each)
    more = chance.randint(0, square * length) if kind == "any" else 0
    return {"square": square, "each": each, "fixed": fixed + more}


def _root(a: Arguments) -> int:
    """The largest length at which the matrices take no more than the rest."""
    square, each, fixed = (int(a[name]) for name in ("square", "each", "fixed"))
    return (each + isqrt(each**2 + 4 * square * fixed)) // (2 * square)


def _equal(a: Arguments) -> bool:
    """True if both sides are equal at a length of 1 token or more."""
    length = _root(a)
    rest = a["each"] * length + a["fixed"]
    return length > 0 and bool(a["square"] * length**2 == rest)


_PASSES_SLIPS: dict[str, Slip] = {
    "no_fixed": lambda truth, a: a["each"] // a["square"] + 1,
    "no_each": lambda truth, a: isqrt(a["fixed"] // a["square"]) + 1,
    "equal": lambda truth, a: truth - _equal(a),
    "before": lambda truth, a: truth - 1,
    "not_square": lambda truth, a: (a["each"] + a["fixed"]) // a["square"] + 1,
    "not_whole": lambda truth, a: (
        (a["each"] + (a["each"] ** 2 + 4 * a["square"] * a["fixed"]) ** 0.5) / (2 * a["square"])
    ),
}
_PASSES_TRAPS: dict[str, Slip] = {
    "doubling": lambda truth, a: 1 << (truth - 1).bit_length(),
    "from_2": lambda truth, a: max(2, truth),
    "to_100": lambda truth, a: min(100, truth),
    "even": lambda truth, a: truth + truth % 2,
}


@task("13.passes", _draw_growth, slips=_PASSES_SLIPS, traps=_PASSES_TRAPS, edge=_equal)
def passes(square: int, each: int, fixed: int) -> int:
    """Least number of tokens at which ``square`` bytes for each pair of tokens are more than
    ``each`` bytes for each token and ``fixed`` bytes together."""
    return _root({"square": square, "each": each, "fixed": fixed}) + 1


# -- exercise: a cache with grouped heads ---------------------------------------------------------

_FORMATS = {1: "fp8_e4m3fn", 2: "bf16", 4: "fp32"}
"""Formats by their bytes."""


def _draw_model(chance: Random, size: int) -> Arguments:
    """Draw a model whose heads of queries share heads of keys and values, and what it reads."""
    kv_heads, group = chance.randint(1, 1 + size), chance.randint(1, 1 + size)
    head_size = chance.choice((1, 2, 8, 16, 64, 128))
    return {
        "layers": chance.randint(1, 2 * size),
        "features": kv_heads * group * head_size,
        "heads": kv_heads * group,
        "kv_heads": kv_heads,
        "texts": chance.randint(1, 4 * size),
        "tokens": chance.randint(1, 500 * size),
        "nbytes": chance.choice(tuple(_FORMATS)),
    }


def _of(ratio: Callable[[Arguments], Fraction | int]) -> Slip:
    """Slip with the true value times a ratio."""
    return lambda truth, a: int(truth * ratio(a))


_CACHE_SLIPS: dict[str, Slip] = {
    "one_of_two": _of(lambda a: Fraction(1, 2)),
    "all_heads": _of(lambda a: Fraction(a["heads"], a["kv_heads"])),
    "one_head": _of(lambda a: Fraction(1, a["kv_heads"])),
    "whole_width": _of(lambda a: a["heads"]),
    "group": _of(lambda a: Fraction(a["heads"], a["kv_heads"] ** 2)),
    "one_layer": _of(lambda a: Fraction(1, a["layers"])),
    "one_text": _of(lambda a: Fraction(1, a["texts"])),
    "in_values": _of(lambda a: Fraction(1, a["nbytes"])),
    "queries": _of(lambda a: 1 + Fraction(a["heads"], 2 * a["kv_heads"])),
}
_CACHE_TRAPS: dict[str, Slip] = {
    "fp32": _of(lambda a: Fraction(4, a["nbytes"])),
    "one_token": _of(lambda a: Fraction(1, a["tokens"])),
    "square": _of(lambda a: a["tokens"]),
}


@task("13.cache_bytes", _draw_model, slips=_CACHE_SLIPS, traps=_CACHE_TRAPS,
      edge=lambda a: a["kv_heads"] == 1 < a["heads"])  # fmt: skip
def cache_bytes(
    layers: int, features: int, heads: int, kv_heads: int, texts: int, tokens: int, nbytes: int
) -> int:
    """Bytes of the keys and values of some texts, each as long as ``tokens``."""
    model = LanguageModel(
        "drawn", "", layers, features, heads, kv_heads, inner=features, vocabulary=1,
        positions=tokens, tied=True, source="",
    )  # fmt: skip
    return model.cache(texts, tokens, _FORMATS[nbytes])

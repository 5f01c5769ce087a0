"""Every argument of the functions that build, rewrite, place, run and train a step: what it cannot
be is refused in one sentence, and nothing is taken in silence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.lesson import digits
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from tests.quick import apart

NONE, YES, NO, ZERO, LIST, MAP, TEXT = None, True, False, 0, [], {}, ""  # type: ignore[var-annotated]  # of nothing
GIVEN: tuple[Any, ...] = (
    NONE, YES, NO, ZERO, LIST, MAP, TEXT, -1, 1.5, float("nan"), float("inf"), 10**45, 1j, "a",
    ["a"], (1,), b"x", object(), np.float64("nan"), np.int64(-3), np.array([0.5, 1.0]),
)  # fmt: skip
"""What an argument may be given by mistake; few of them are right anywhere."""
FLAG = (YES, NO)


class Data:
    """Eight samples of two classes."""

    x = x_test = np.eye(8, dtype=np.float32)
    y = y_test = np.arange(8) % 2


def vectors() -> memlab.Network:
    x = memlab.network("vectors", features=8).linear(8).relu()
    return x.linear(2).cross_entropy()


def maps() -> memlab.Network:
    x = memlab.network("maps", image=(2, 6, 6)).conv(3, 3).relu().max_pool(2)
    return x.flatten().linear(3).cross_entropy()


def tokens() -> memlab.Network:
    x = memlab.network("tokens", tokens=4, vocabulary=5).embedding(6)
    return x.linear(5).cross_entropy()


STEP = memlab.training_step(vectors(), "adam")
MAPS = memlab.training_step(maps(), "adam")
TOKENS = memlab.training_step(tokens())
LEDGER = memlab.plan(STEP)


def _fed(**given: Any) -> object:
    return memlab.feed(**given)


def timed(row: object) -> object:
    return memlab.lowering(MAPS, batch=2, times={"conv1": row})  # type: ignore[dict-item]  # anything


PROGRAM = {"step": (), "batch": (), "device": (), "host": (), "placement": (NONE,), "keep": (NONE,)}
SESSION = {"seed": (ZERO,), "poison": FLAG, "settings": (NONE, MAP), "parameters": (NONE, MAP)}
FUNCTIONS: dict[str, tuple[Callable[..., object], dict[str, tuple[Any, ...]]]] = {
    "training_step": (partial(memlab.training_step, network=vectors()), {
        "network": (), "optimizer": (), "format": (), "algorithm": (), "threads": ()}),
    "inference_step": (partial(memlab.inference_step, network=vectors()), {
        "network": (), "format": (), "algorithm": (), "threads": ()}),
    "run": (partial(memlab.run, step=STEP, batch=2), {
        **PROGRAM, **SESSION, "progress": FLAG, "overlapping": FLAG}),
    "a run that keeps its gradients": (partial(memlab.run, batch=2, keep="gradients"), {
        "step": ()}),
    "Program": (partial(Program, step=STEP, batch=2), PROGRAM),
    "Session": (partial(Session, program=Program(STEP, 2)), SESSION),
    "train": (partial(memlab.train, network=vectors(), data=Data(), batch=4, epochs=1), {
        "network": (), "data": (), "rewrite": (NONE,), "optimizer": (), "batch": (), "epochs": (),
        "seed": (ZERO,), "settings": (NONE, MAP), "progress": FLAG}),
    "recompute": (partial(memlab.recompute, step=STEP), {
        "step": (), "how": (), "k": (NONE,), "layers": (NONE,), "batch": (NONE,),
        "budget": (NONE,), "in_place": (NO,)}),
    "chain": (partial(memlab.recompute, step=STEP, how="chain", batch=2), {
        "batch": (), "budget": (NONE,), "k": (NONE,), "in_place": FLAG}),
    "slots": (partial(memlab.recompute, step=STEP, how="slots", k=2), {"k": ()}),
    "keep": (partial(memlab.recompute, step=STEP, how="keep"), {"layers": (LIST, MAP)}),
    "mode": (partial(memlab.precision, step=STEP, mode="mixed fp16"), {
        "step": (), "mode": (), "scaling": (NONE, *FLAG), "rounding": (), "feature_map": ()}),
    "role": (partial(memlab.precision, step=STEP, feature_map="fp16"), {
        "mode": (NONE,), "scaling": (NONE, *FLAG), "rounding": (), "feature_map": ()}),
    "lowering": (partial(memlab.lowering, step=MAPS), {"step": (), "algorithm": ()}),
    "search": (partial(memlab.lowering, step=MAPS, batch=2), {
        "batch": (), "limit": (NONE, ZERO), "times": (NONE, MAP), "device": ()}),
    "times of a convolution": (timed, {"row": (MAP,)}),
    "time of an algorithm": (lambda seconds: timed({"direct": seconds}), {
        "seconds": (ZERO, 1.5, 10**45)}),
    "in_place": (partial(memlab.in_place, step=STEP), {"step": (), "layers": (NONE, LIST, MAP)}),
    "eight_bit_states": (partial(memlab.eight_bit_states, step=STEP), {"step": (), "block": ()}),
    "relu_masks": (memlab.relu_masks, {"step": ()}),
    "offload": (partial(memlab.offload, step=MAPS), {
        "step": (), "policy": (), "maps": (NONE, LIST, MAP), "algorithms": (NONE,), "prefetch": (),
        "batch": (NONE,), "budget": (NONE,), "device": (NONE,), "link": (NONE,),
        "in_place": (NO,)}),
    "budget": (partial(memlab.offload, MAPS, "best", batch=2, budget="1 GB", link="1 GB/s"), {
        "batch": (), "budget": (), "device": (NONE,), "link": (10**45,),
        "in_place": FLAG, "algorithms": (NONE,), "prefetch": ()}),
    "clock": (partial(memlab.clock, step=STEP, batch=2), {
        "step": (), "batch": (), "device": (NONE,), "link": (NONE, 10**45),
        "disk": (NONE, 10**45)}),
    "no_reuse": (memlab.no_reuse, {"step": ()}),
    "accumulate": (partial(memlab.accumulate, step=STEP), {"step": (), "parts": ()}),
    "chunked_loss": (partial(memlab.chunked_loss, TOKENS), {"parts": ()}),
    "place": (partial(memlab.place, step=STEP, batch=2), {
        "step": (), "batch": (), "how": (), "alignment": ()}),
    "plan": (memlab.plan, {"step": ()}),
    "peak": (partial(LEDGER.peak, batch=2), {"batch": (), "memory": (), "workspace": FLAG}),
    "why": (partial(LEDGER.why, batch=2), {"batch": (), "memory": ()}),
    "fit": (partial(LEDGER.fit, nbytes=10**6), {"nbytes": (ZERO,), "memory": ()}),
    "of": (partial(LEDGER.of, layer="fc1", batch=2), {"layer": (), "batch": ()}),
    "encode": (partial(memlab.rounding.encode, values=[1.0], format="fp16"), {
        "format": (), "rounding": (), "seed": (ZERO,), "scale": (1.5, 10**45)}),
    "data_path": (partial(memlab.data_path, step=MAPS, batch=2), {
        "step": (), "batch": (), "buffers": (ZERO,), "augment": (), "disk": (10**45,),
        "host": (10**45,), "link": (NONE, 10**45), "device": (NONE,), "batches": (),
        "seconds": (NONE, MAP)}),
    "feed": (partial(_fed, step=MAPS, images=".", batch=2), {
        "step": (), "images": (), "batch": (), "buffers": (), "augment": (), "crop": (),
        "flip": (), "mean": (), "deviation": (), "bad": (), "disk": (), "batches": (), "seed": (),
        "settings": (), "device": ()}),
    "images": (partial(memlab.images, folder="."), {
        "count": (), "shape": (), "kind": (), "digits": (), "classes": (), "seed": ()}),
    "digits.load": (digits.load, {"seed": (ZERO,)}),
    "digits.dim": (digits.dim, {"seed": (ZERO,)}),
}  # fmt: skip
"""By name a call, and of its arguments what of the above each may be."""
CASES = [(name, argument) for name, (_, taken) in FUNCTIONS.items() for argument in taken]


@pytest.mark.table
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "argument"), apart(CASES, lambda case: case[0] in ("run", "Session", "train"))
)
def test_what_an_argument_cannot_be_is_one_sentence(name: str, argument: str) -> None:
    call, arguments = FUNCTIONS[name]
    answers = [(given, answer(partial(call, **{argument: given}))) for given in GIVEN]
    sentences = [sentence for _, sentence in answers if sentence is not None]
    assert not [each for each in sentences if "\n" in each or not each.endswith(".")]
    silent = {repr(given) for given, sentence in answers if sentence is None}
    assert silent == set(map(repr, arguments[argument]))


def answer(call: Callable[[], object]) -> str | None:
    """What is said, where the call is refused."""
    try:
        call()
    except InputError as error:
        return str(error)
    return None


@pytest.mark.measures
def test_a_number_is_as_good_in_the_types_of_numpy() -> None:
    plain = memlab.run(STEP, 2, seed=3, settings={"rate": 0.5})
    numbers: dict[str, Any] = {"batch": np.int64(2), "seed": np.int64(3)}
    other = memlab.run(STEP, **numbers, settings={"rate": np.float32(0.5)})  # type: ignore[dict-item]  # a number of NumPy
    assert plain.loss == other.loss
    states = memlab.eight_bit_states(STEP, 2048.0)  # type: ignore[arg-type]  # whole
    assert states == memlab.eight_bit_states(STEP, 2048)
    assert all(type(tensor.size.fixed) is int for tensor in states.live_in)

"""Every argument of every layer and network, with values that nobody means: one sentence, or a
network that can be planned."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import partial
from typing import Any

import pytest

import memlab
from memlab.layers import LAYERS
from memlab.networks import zoo
from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from tests.rows import every_row
from tests.strange import mostly_refused

MAP, GATES = {"image": (4, 8, 8)}, {"features": 12}
SEQUENCE, TOKENS = {"sequence": (4, 12)}, {"tokens": 4, "vocabulary": 9}
OF_TOKENS = ("at", "positions", "class_token", "first_token", "gelu", "layer_norm")
STARTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("embedding",), TOKENS),
    **dict.fromkeys(OF_TOKENS, SEQUENCE),
    **dict.fromkeys(("lstm_state", "lstm_output", "linear", "cross_entropy"), GATES),
}  # fmt: skip
USUAL: dict[str, Any] = {
    "rank": 2, "alpha": 4.0,
    "channels": 4, "kernel": 3, "features": 4, "t": 0, "out_channels": 4, "out_features": 4,
    "vocabulary": 9, "heads": 2,
}  # fmt: skip
"""Arguments without a default."""


def methods() -> dict[str, Callable[..., Any]]:
    return {
        name: method
        for name, method in vars(Handle).items()
        if inspect.isfunction(method) and not name.startswith("_") and name != "close"
    }


def whole_of(made: Any) -> Network:
    """The network that leads to what was made, with a loss."""
    if isinstance(made, Network):
        return made
    assert isinstance(made, Handle)
    return made.squared_error()


def usual(method: str, x: Handle) -> dict[str, Any]:
    if method == "lstm_output":
        return {"state": x.lstm_state()}
    parameters = inspect.signature(methods()[method]).parameters
    return {name: USUAL[name] for name in parameters if name in USUAL}


def write(method: str, name: str, given: Any) -> None:
    x = network("n", **STARTS.get(method, MAP))
    if method == "stage":
        with x.stage(given):
            whole_of(x.relu())
        return
    if method == "then":
        arguments = {"layer": memlab.layers.Linear(4)} | {name: given}
        positional = [arguments.pop("layer"), *([given] if name == "others" else [])]
        arguments.pop("others", None)
        whole_of(x.flatten().then(*positional, **arguments))
        return
    call = partial(getattr(x, method), **usual(method, x))
    made = call(given) if name == "others" else call(**{name: given})
    memlab.plan(memlab.training_step(whole_of(made))).peak(2)


ARGUMENTS = [
    (method, name)
    for method, function in methods().items()
    for name in list(inspect.signature(function).parameters)[1:]
]


def test_the_list_of_arguments_is_that_of_the_builder() -> None:
    assert {("conv", "kernel"), ("layer_norm", "epsilon"), ("add", "others")} <= set(ARGUMENTS)
    assert len(ARGUMENTS) > 50


@pytest.mark.table
@pytest.mark.parametrize(("method", "name"), ARGUMENTS)
def test_every_argument_of_every_method(method: str, name: str) -> None:
    mostly_refused(lambda given: write(method, name, given))


@every_row("kind", LAYERS)
def test_every_setting_of_every_layer(kind: str) -> None:
    layer = LAYERS[kind]
    needed = {f.name: USUAL[f.name] for f in fields(layer) if f.default is MISSING}
    for field in fields(layer):
        mostly_refused(lambda given: layer(**needed | {field.name: given}).describe())  # noqa: B023


@every_row("name", inspect.signature(network).parameters)
def test_every_argument_of_a_network(name: str) -> None:
    usual: dict[str, Any] = {"name": "n"}
    if name in ("tokens", "vocabulary"):
        usual |= TOKENS
    elif name not in ("image", "features", "sequence"):
        usual["features"] = 3

    def make(given: Any) -> int:
        x = network(**usual | {name: given})
        x = x.embedding(2) if x.start.vocabulary else x
        return memlab.plan(memlab.training_step(x.flatten().linear(2).squared_error())).peak(2)

    mostly_refused(make)


MADE: tuple[Callable[..., Network], ...] = (*zoo.ZOO.values(), zoo.resnet, zoo.build)
MAKERS = [(make, name) for make in MADE for name in inspect.signature(make).parameters]


@pytest.mark.table
@pytest.mark.parametrize(("make", "name"), MAKERS, ids=lambda part: getattr(part, "__name__", part))
def test_every_argument_of_the_zoo(make: Callable[..., Network], name: str) -> None:
    needed: dict[str, Any] = {"stages": (1, 1)} if make is zoo.resnet else {}
    needed |= {"name": "linear1"} if make is zoo.build else {}
    mostly_refused(lambda given: make(**needed | {name: given}))

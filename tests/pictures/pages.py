"""Every page that a view can show, for the tests that hold for all of them.

A new view adds its cases here: a name, and a function that makes the view. A view whose factory
needs no argument has a case without that.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import Parameter, signature
from typing import Any

import memlab
from memlab import views
from memlab.lesson.card import Card
from memlab.lesson.card_question import topics
from memlab.lesson.material.case_rows import LESSONS
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.pictures.budget.view import BudgetBoard
from memlab.pictures.draw.page import Page
from memlab.pictures.live.view import View
from tests.pictures import measurements

WORDS = {"exercise_card"}
"""Those of words and buttons alone."""
FACTORIES = [name for name in views.__all__ if name.islower() and name not in WORDS]
COMPUTED = ("gradient_histogram", "planned_and_measured", "running_sum", "training_curves")
"""Views of a run, a training or sums of arrays, which kernels made."""
CASES: dict[str, dict[str, Callable[[], Any]]] = {**measurements.CASES}
"""Of each public factory of ``memlab.views``, by its name: what is shown, and how it is made."""


def case(factory: str, name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """The function that is decorated makes a view of that factory."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        CASES.setdefault(factory, {})[name] = make
        return make

    return add


def every() -> dict[tuple[str, str], Callable[[], Any]]:
    """All cases by factory and name."""
    from tests.pictures import trainings

    return without_kernels() | _named(trainings.CASES)


def without_kernels() -> dict[tuple[str, str], Callable[[], Any]]:
    """Those of the views that need no kernel."""
    names = [name for name in FACTORIES if name not in COMPUTED and not _needs(name)]
    return _named({name: {"by default": getattr(views, name)} for name in names} | CASES)


def golden() -> dict[tuple[str, str], Callable[[], Any]]:
    """All cases, and as it opens every view that measures nothing."""
    opened = {
        (name, "by default"): getattr(views, name)
        for name in FACTORIES
        if not _needs(name) and name not in measurements.CASES
    }
    return opened | every()


def _named(
    found: dict[str, dict[str, Callable[[], Any]]],
) -> dict[tuple[str, str], Callable[[], Any]]:
    return {(factory, name): make for factory in found for name, make in found[factory].items()}


def _needs(factory: str) -> list[str]:
    """The arguments without which it makes nothing."""
    needed = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return [
        name
        for name, each in signature(getattr(views, factory)).parameters.items()
        if each.default is Parameter.empty and each.kind in needed
    ]


def page_of(view: Any, width: int = 820) -> Page:
    """The page of a view that stands still, or of the present state of a live one."""
    if isinstance(view, View):
        return view.page(width)
    page = view.page()
    assert isinstance(page, Page)
    return replace(page, width=width)


# -- a number in a format -------------------------------------------------------------------------


@case("number", "64 bits")
def _() -> Any:
    return views.number("0.1", "fp64")


@case("number", "nan")
def _() -> Any:
    return views.number("nan", "fp8_e4m3fn")


@case("number", "a walk below 0")
def _() -> Any:
    return views.number("-1e-400", "fp32", step=-3)


# -- a step in graphics cards ---------------------------------------------------------------------


@case("graphics_cards", "by default")
def _() -> Any:
    return views.graphics_cards()


@case("graphics_cards", "a guess and a revision")
def _() -> Any:
    return views.graphics_cards(guess="18 GB", revision="40 GB")


@case("graphics_cards", "the most images that fit")
def _() -> Any:
    view = views.graphics_cards(guess="18 GB")
    view.batch = 45
    return view


@case("graphics_cards", "guesses beyond and beside the end")
def _() -> Any:
    return views.graphics_cards("vgg16", most=128, guess="500 GB", revision="30 GB")


@case("graphics_cards", "one small card")
def _() -> Any:
    return views.graphics_cards("mnist_cnn", most=1, guess="1 MB", revision="2 MB")


@case("graphics_cards", "more cards than are drawn")
def _() -> Any:
    return views.graphics_cards("vgg16", most=4096, card=24)


# -- a format for each role -----------------------------------------------------------------------


@case("precision", "states in 8 bits")
def _() -> Any:
    return views.precision(optimizer_state="8 bits")


@case("precision", "all numbers, maps in fp8")
def _() -> Any:
    view = views.precision(batch=1, feature_map="fp8_e5m2", gradient_map="fp8_e5m2")
    view.numbers = True
    view.on_event("choose", "3:feature_map", False)
    return view


@case("precision", "fp32 alone")
def _() -> Any:
    view = views.precision(start_from="fp32", others=False)
    view.feature_map = "fp16"
    return view


@case("precision", "the model state is larger")
def _() -> Any:
    return views.precision("vgg16", 8)


@case("precision", "more than before")
def _() -> Any:
    return views.precision("mnist_cnn", 4096, "rmsprop", start_from="bf16", master="fp32")


@case("precision", "few bytes, no state")
def _() -> Any:
    return views.precision("linear1", 1, "sgd", start_from="fp32")


# -- fine-tuning ----------------------------------------------------------------------------------


@case("fine_tuning", "by default")
def _() -> Any:
    return views.fine_tuning()


@case("fine_tuning", "what is asked")
def _() -> Any:
    return views.fine_tuning("gpt2", 8, asked=True, only=("batch",))


@case("fine_tuning", "all numbers, matrices, every linear layer")
def _() -> Any:
    view = views.fine_tuning("gpt2", 1, 512, adapters="all", rank=64, fused=False)
    view.numbers = True
    view.on_event("choose", "1:matrices", False)
    return view


@case("fine_tuning", "longer texts than the axis")
def _() -> Any:
    view = views.fine_tuning("gpt_small", 8, 1024)
    view.length = 2048
    return view


@case("fine_tuning", "the model state is larger")
def _() -> Any:
    return views.fine_tuning("gpt2", 1, 128)


# -- one warp -------------------------------------------------------------------------------------


@case("warp_memory", "all numbers, after another stride")
def _() -> Any:
    view = views.warp_memory(stride=4)
    view.stride, view.numbers = 1, True
    return view


@case("warp_memory", "in the padding")
def _() -> Any:
    return views.warp_memory(warp=0)


@case("warp_memory", "a short row")
def _() -> Any:
    return views.warp_memory("resnet50", "4.2.conv2", stride=2)


# -- a tile in shared memory ----------------------------------------------------------------------


@case("shared_tile", "not counted")
def _() -> Any:
    return views.shared_tile(2, 6, step=10, counted=False, only=("step",))


@case("shared_tile", "the last step")
def _() -> Any:
    return views.shared_tile(step=8)


@case("shared_tile", "small cells")
def _() -> Any:
    return views.shared_tile(1, 16, step=300)


# -- all layers of a network ----------------------------------------------------------------------


@case("lowered_layers", "a copy in every layer")
def _() -> Any:
    return views.lowered_layers("alexnet", 1)


# -- totals of a step -----------------------------------------------------------------------------


@case("totals", "of a text")
def _() -> Any:
    return views.totals("vgg16", 128, said="14 GB")


@case("totals", "more planned than said, of many parts")
def _() -> Any:
    return views.totals("resnet50", 32, said="1 GB", optimizer="adam")


# -- batch, vectors and formats -------------------------------------------------------------------


def _vectors(*args: Any, then: dict[str, Any], **given: Any) -> Any:
    """A view after changes, with the state before the last one as its outline."""
    view = views.vectors(*args, **given)
    for name, value in then.items():
        setattr(view, name, value)
    return view


VECTORS: dict[str, Callable[[], Any]] = {
    "32 images": partial(_vectors, then={"batch": 32}),
    "twice the lanes": partial(_vectors, batch=32, then={"format": "fp16", "batch": 64}),
    "all numbers": partial(_vectors, batch=33, then={"numbers": True}),
    "channels": partial(_vectors, "vgg16", then={"source": "channels", "bits": 128}),
    "without a price": partial(_vectors, "mnist_cnn", 5, then={"format": "int8"}),
    "more than fit": partial(_vectors, "alexnet", 10**6, format="fp64", then={"batch": 999_999}),
}
for _name, _make in VECTORS.items():
    case("vectors", _name)(_make)


# -- one image of a batch -------------------------------------------------------------------------


@case("batch_speed", "batch 32")
def _() -> Any:
    return views.batch_speed(32)


@case("layer_bytes", "a linear layer")
def _() -> Any:
    view = views.layer_bytes("vgg16", "fc7")
    view.batch = 16
    return view


@case("layer_bytes", "a convolution")
def _() -> Any:
    view = views.layer_bytes("vgg16", "conv3_1", 64)
    view.batch = 16
    return view


# -- the length of a text, and its cache ----------------------------------------------------------


def _changed(view: Any, then: dict[str, Any]) -> Any:
    """A view after changes, one by one, with the state before the last one as its outline."""
    for name, value in then.items():
        setattr(view, name, value)
    return view


LENGTHS: dict[str, Callable[[], Any]] = {
    "by default": lambda: views.length(),
    "fused": lambda: _changed(views.length(), {"fused": True}),
    "loss in chunks": lambda: _changed(views.length(fused=True), {"chunks": 8}),
    "all numbers, too much": lambda: _changed(views.length(length=3000), {"numbers": True}),
    "asked": lambda: views.length(asked=True, only=("batch",), height=200),
    "asked at the first length": lambda: views.length("gpt2", length=128, asked=True, height=240),
    "a part in focus": lambda: _pressed(views.length("gpt_small"), "gradient_map"),
    "every length fits": lambda: views.length("gpt_small", 1, fused=True, card="80 GB card"),
    "no length fits": lambda: views.length("gpt2_xl", 16, length=128, card="12 GB card"),
    "fewer texts": lambda: _changed(views.length("gpt2_medium", 16, length=16_384), {"batch": 1}),
}
CACHES: dict[str, Callable[[], Any]] = {
    "by default": lambda: views.cache(),
    "grouped": lambda: _changed(views.cache(), {"kv_heads": 4}),
    "all numbers, one head": lambda: _changed(views.cache(), {"kv_heads": 1, "numbers": True}),
    "asked": lambda: views.cache(asked=True, height=260),
    "beyond the axis": lambda: _pressed(views.cache("llama3_70b", format="bf16"), "4"),
    "a long text": lambda: _changed(views.cache("gpt2", 16_384, kv_heads=3), {"kv_heads": 12}),
    "a short text": lambda: views.cache("gpt2_xl", 128),
}


def _pressed(view: Any, what: str) -> Any:
    view.on_event("choose", what, False)
    return view


for _name, _make in LENGTHS.items():
    case("length", _name)(_make)
for _name, _make in CACHES.items():
    case("cache", _name)(_make)


# -- the memory of a network ----------------------------------------------------------------------


def _network(*args: Any, then: dict[str, Any], **kwargs: Any) -> Any:
    """A view after a change, with the state before as its outline."""
    view = views.memory(*args, **kwargs)
    for name, value in then.items():
        setattr(view, name, value)
    return view


@case("memory", "a larger batch")
def _() -> Any:
    return _network("resnet50", then={"batch": 64})


@case("memory", "nearly all floor")
def _() -> Any:
    return _network("vgg16", 8, "adam", guess="3 GB", then={"batch": 4, "cursor": 9})


@case("memory", "a counting rule")
def _() -> Any:
    return views.memory("resnet50", rule="conv-sums")


@case("memory", "a stage by layer, refused")
def _() -> Any:
    return _network("resnet152", 512, budgets=["8 GB", "24 GB"], then={"unfolded": "stage 3"})


@case("memory", "lifetimes after a larger batch")
def _() -> Any:
    view = views.memory("linear1", 1, "sgd", format="fp64", detail="all")
    view.batch = 8
    return view


@case("memory", "lifetimes in place, a block in focus")
def _() -> Any:
    tiny = network("tiny", features=3).linear(4).relu().linear(2).squared_error()
    view = views.memory(tiny, 8, "sgd", control=("in_place", "batch"), networks=())
    view.in_place = True
    view.on_event("choose", "block:fc1", False)
    return view


@case("memory", "every number, after more operations")
def _() -> Any:
    return _network("resnet50", detail="all", then={"recompute": "every"})


@case("memory", "a rule with every number")
def _() -> Any:
    return views.memory("resnet50", rule="relu-in-place", detail="all")


@case("memory", "a block in focus")
def _() -> Any:
    view = _network("mnist_cnn", then={"in_place": True})
    view.on_event("key", "ArrowDown", False)
    return view


@case("memory", "another network, refused")
def _() -> Any:
    return _network("vgg16", 512, then={"network": "resnet152"})


@case("memory", "a function that makes a step")
def _() -> Any:
    net = memlab.zoo.mnist_cnn()
    return _network(
        lambda format: memlab.training_step(net, format=format), then={"format": "bf16"}
    )


@case("memory", "maps in host memory")
def _() -> Any:
    step = memlab.training_step(memlab.zoo.vgg11(), "sgd")
    return views.memory(memlab.in_place(memlab.offload(step, "conv")), 64)


@case("memory", "many parts of a batch")
def _() -> Any:
    step = memlab.accumulate(memlab.training_step(memlab.zoo.resnet50(), "sgd"), 16)
    return views.memory(step, 16)


@case("memory", "parts of a small step")
def _() -> Any:
    step = memlab.training_step(network("two", features=6).linear(4).squared_error(), "sgd")
    return views.memory(memlab.accumulate(step, 2), 4)


@case("memory", "a ledger")
def _() -> Any:
    return views.memory(memlab.plan(memlab.training_step(memlab.zoo.vgg11())), 16)


# -- shifted copies -------------------------------------------------------------------------------


@case("shifted_copies", "7 x 7, pinned, counted, on the way")
def _() -> Any:
    view = views.shifted_copies(k=7, step=20, free=False)
    view.pin, view.numbers = "place:9", True
    return view


@case("shifted_copies", "a quarter each, after 5 x 5")
def _() -> Any:
    view = views.shifted_copies(k=5, free=False)
    view.k, view.stride = 3, 2
    return view


@case("shifted_copies", "one tile")
def _() -> Any:
    return views.shifted_copies("resnet50", "conv1", how="im2col-tile", free=False)


@case("shifted_copies", "nothing is made")
def _() -> Any:
    return views.shifted_copies("resnet50", "1.2.conv1", free=False)


# -- a revealed card ------------------------------------------------------------------------------

GUESSES = {"02.output": "900 TB", "00.double": "little", "02.halve": "1000000"}
"""A guess at an amount, at an option, and at a ratio."""


def _revealed(name: str, guess: str) -> Callable[[], Any]:
    return lambda: views.prediction_card(Card(topics()[name]).guess(guess).reveal())


for _name, _guess in GUESSES.items():
    case("prediction_card", _name)(_revealed(_name, _guess))


# -- the guesses of a class -----------------------------------------------------------------------

SPREAD = "66 GB\n" * 9 + "12 GB\n" * 5 + "22 GB\n39 GB\n314 MB\n1 TB\n7 GB"
"""Guesses at an amount, whose truth runs no step."""


@case("class_guesses", "by default")
def _() -> Any:
    return views.class_guesses()


@case("class_guesses", "a factor, before and after")
def _() -> Any:
    return views.class_guesses(
        "04.warp", given="32 32 32 8.2 8.2 4 1", later="8 8.2 32", revealed=True
    )


@case("class_guesses", "amounts")
def _() -> Any:
    return views.class_guesses("00.case", given=SPREAD, revealed=True)


@case("class_guesses", "long options, not all read")
def _() -> Any:
    return views.class_guesses("11.overwrites", given="A 3\nb\nC\nno idea", later="A 2, B 1")


# -- the address map ------------------------------------------------------------------------------


def small_network() -> Network:
    """Two convolutions that run in a moment."""
    x = network("small", image=(3, 12, 12)).conv(4, 3, pad=1, name="conv1").relu()
    x = x.conv(4, 3, pad=1, name="conv2").relu().max_pool(2)
    return x.flatten().linear(10).cross_entropy()


MAP_STEP = memlab.training_step(small_network(), "sgd").keep("gradients")


def _map(*args: Any, then: dict[str, Any] | None = None, **given: Any) -> Any:
    """An address map, and then what is chosen in it."""
    view = views.addresses(*args, **given)
    for name, value in (then or {}).items():
        view.on_event(name, value, False)
    return view


MAPS: dict[str, Callable[[], Any]] = {
    **{how: partial(_map, how=how) for how in ("birth", "biggest", "best fit", "exact")},
    "two orders": partial(_map, how="birth", beside="biggest"),
    "two orders, every number": partial(_map, how="birth", beside="biggest", numbers=True),
    "five blocks lie": partial(_map, how="birth", packed=5, cursor=5, chosen="D", numbers=True),
    "no block lies": partial(_map, how="birth", packed=0),
    "a fault": partial(_map, how="birth", moved={"D": 0}, chosen="D",
                       then={"move": None, "score": None}),
    "all in one place": partial(_map, moved=dict.fromkeys("ABCDEF", 0), cursor=6, numbers=True),
    "a network": partial(_map, "mnist_cnn", how="best"),
    "in place": partial(_map, "mnist_cnn", in_place=True, cursor=4),
    "a step of few bytes": partial(_map, MAP_STEP, 3, how="best fit", numbers=True),
    "recomputed": lambda: _map(memlab.recompute(MAP_STEP, "cheap"), 3, how="best", in_place=True),
    "ResNet-50": partial(_map, then={"real": None}),
    "ResNet-50, every number": partial(_map, "resnet50", 16, how="best", in_place=True,
                                       cursor=300, numbers=True),
}  # fmt: skip
for _name, _make in MAPS.items():
    case("addresses", _name)(_make)


# -- the board of the budget ----------------------------------------------------------------------


def _submitted(level: int, choice: str, seed: int = 0, **given: Any) -> BudgetBoard:
    """The board of the budget after Submit."""
    view = views.budget(level, choice, seed=seed, **given)
    view.submit()
    return view


def _trying() -> BudgetBoard:
    view = views.budget()
    for line in ("half KKK-KKKK-KKKKKK-KKK", "half AAA-AAAA-AAAAAA-AAA"):
        view.choice = line
    view.choice = "half place AAA-AAAA-KKKKKK-KKH"
    return view


BOARDS: dict[str, Callable[[], BudgetBoard]] = {
    "by default": lambda: views.budget(),
    "trying": _trying,
    "submitted": lambda: _submitted(1, "half place AAA-AAAA-AKKKKK-KHK"),
    "the optimum": lambda: _submitted(1, "half cheap place AAK-AAKK-AKKKKK-KHK"),
    "a text": lambda: _submitted(2, "half eight place parts=2 AAAAAK"),
    "the whole card": lambda: _submitted(1, "half cheap KKK-KKKK-KKKKKK-KKK", budget="12 GB"),
    "drawn, cut": lambda: _submitted(3, "half cheap place " + 33 * "A", 1),
}
for _name, _board in BOARDS.items():
    case("budget", _name)(_board)


# -- the waves of recomputation -------------------------------------------------------------------


@case("recompute", "a U, all numbers")
def _() -> Any:
    view = views.recompute("resnet200", 5)
    view.numbers = True
    return view


@case("recompute", "the smallest k")
def _() -> Any:
    return views.recompute("resnet50", 1)


@case("recompute", "a budget")
def _() -> Any:
    return views.recompute("resnet50", budget="1.2 GB")


@case("recompute", "nearly all floor")
def _() -> Any:
    return views.recompute("mnist_cnn", batch=1)


# -- what is freed, and what is written in place --------------------------------------------------


@case("reuse", "by default")
def _() -> Any:
    return views.reuse()


@case("reuse", "inference")
def _() -> Any:
    return views.reuse("gpt_small", 8, training=False)


# -- offload, idle maps ---------------------------------------------------------------------------


OFFLOADS: dict[str, Callable[[], Any]] = {
    "a slow link": partial(views.offload, link="3 GB/s"),
    "a link that hides all": partial(views.offload, link="450 GB/s"),
    "nothing moves": partial(views.offload, policy="none"),
    "all layers, momentum": partial(views.offload, policy="all", optimizer="momentum"),
    "forks, a budget far above": partial(views.offload, "resnet50", 32),
    "the best set": partial(views.offload, policy="best", link="3 GB/s"),
    "not nested": partial(views.offload, "googlenet", 128, "all", link="3 GB/s"),
    "no convolution": partial(views.offload, "linear1", 8),
}
for _name, _make in OFFLOADS.items():
    case("offload", _name)(_make)


@case("offload", "the longest wait")
def _() -> Any:
    view = views.offload()
    view.on_event("key", "KeyW", False)
    return view


@case("offload", "the link is dragged")
def _() -> Any:
    view = views.offload()
    view.on_event("link", 1, True)
    return view


@case("idle", "asked")
def _() -> Any:
    return views.idle(asked=True, only=("batch",))


@case("idle", "a guess at the edge")
def _() -> Any:
    return views.idle("alexnet", 128, guess=1)


@case("idle", "a guess that is near")
def _() -> Any:
    return views.idle("resnet50", 32, guess=0.1)


# -- the data path --------------------------------------------------------------------------------


PATHS: dict[str, Callable[[], Any]] = {
    **{f"{n} buffers": partial(views.path, buffers=n) for n in (1, 2, 4)},
    **{f"{n} buffers, on the device": partial(views.path, buffers=n, augment="device")
       for n in (0, 4)},
    "a slow disk": partial(views.path, buffers=4, disk=0.01),
    "a slow link": partial(views.path, buffers=4, link=0.1),
    "a slow host": partial(views.path, buffers=2, host=0.2, disk=10),
    "a fast disk and link": partial(views.path, buffers=1, disk=10, link=450),
    "a network that hides the loader": partial(views.path, "vgg16", 256, 2),
    "JPEG files, in turn": partial(views.path, "resnet50", 128, files="jpeg", disk=7,
                                   device="rtx 4090"),
    "JPEG files, 4 workers, on the device": partial(views.path, "resnet50", 128, 2, files="jpeg",
                                                    workers=4, augment="device",
                                                    device="rtx 4090"),
    "small images": partial(views.path, "mnist_cnn", 100_000, 2),
    "one large image": partial(views.path, "resnet50", 1, 4, image=1024),
    "the beginning": partial(views.path, moment=0),
    "the end": partial(views.path, buffers=4, moment=10**6),
}  # fmt: skip
for _name, _make in PATHS.items():
    case("path", _name)(_make)


@case("path", "a batch in focus, after no buffer")
def _() -> Any:
    view = views.path()
    view.buffers = 2
    view.on_event("key", "ArrowDown", False)
    view.on_event("key", "ArrowRight", False)
    return view


@case("path", "asked")
def _() -> Any:
    return views.path(files="jpeg", asked=True, only=("batch",))


@case("path", "the disk is dragged")
def _() -> Any:
    view = views.path(buffers=2)
    view.on_event("disk", 0, True)
    return view


# -- techniques -----------------------------------------------------------------------------------


def _deep() -> Any:
    body = memlab.network("deep", image=(4, 8, 8))
    for _ in range(6):
        body = body.conv(4, 3, pad=1).relu()
    return memlab.training_step(body.flatten().linear(3).cross_entropy())


@case("memory", "a toy on a large card")
def _() -> Any:
    return views.memory(network("tiny", features=4).linear(2).squared_error(), 8, "sgd")


@case("techniques", "cheap beside every k-th")
def _() -> Any:
    return views.techniques("resnet50", stop=2)


@case("techniques", "the line, all numbers")
def _() -> Any:
    view = views.techniques("resnet50", 8, stop=3)
    view.numbers = True
    return view


@case("techniques", "a budget")
def _() -> Any:
    return views.techniques("resnet50", budget="1.3 GB")


@case("techniques", "nothing to save")
def _() -> Any:
    return views.techniques("linear1", 4, stop=3)


@case("techniques", "all of them")
def _() -> Any:
    return views.techniques(_deep(), 4, stop=3, others=True)


# -- the one case ---------------------------------------------------------------------------------


def _case(*args: Any, then: dict[str, Any] | None = None, **given: Any) -> Any:
    """The picture at the end of a lesson, and then what is chosen in it."""
    view = views.case(*args, **given)
    for name, value in (then or {}).items():
        setattr(view, name, value)
    return view


CASES_OF_THE_CASE: dict[str, Callable[[], Any]] = {
    **{f"lesson {lesson}": partial(_case, lesson) for lesson in LESSONS},
    "all numbers": partial(_case, "08", then={"numbers": True}),
    "a larger card": partial(_case, "08", card=24),
    "the largest card": partial(_case, "00", card=80),
    "images": partial(_case, "08", show="images"),
    "images of the largest card": partial(_case, "02", card=80, show="images"),
    "images, another mini-batch": partial(_case, "05", show="images", then={"numbers": True}),
    "images, a bar alone": partial(_case, "00", show="images"),
}
for _name, _make in CASES_OF_THE_CASE.items():
    case("case", _name)(_make)


# -- the ways out ---------------------------------------------------------------------------------


WAYS: dict[str, Callable[[], Any]] = {
    "batch norm, by peak": partial(views.remedies, "resnet50", sort="peak"),
    "in place alone": partial(views.remedies, batch=182),
    "all fits": partial(views.remedies, batch=64),
    "nearly none": partial(views.remedies, budget="1 GB"),
    "none": partial(views.remedies, batch=4096, budget="1 GB"),
    "one image": partial(views.remedies, "mnist_cnn", 1),
    "a slow link": partial(views.remedies, link="1 GB/s"),
    "a fast card, fp16": partial(views.remedies, device="v100", budget="16 GB", batch=512),
    "forks": partial(views.remedies, "googlenet", 1024, optimizer="adam"),
    "no convolution": partial(views.remedies, "linear1", 8, budget="100 B"),
}
for _name, _make in WAYS.items():
    case("remedies", _name)(_make)


@case("remedies", "a row in focus")
def _() -> Any:
    view = views.remedies()
    view.on_event("key", "Digit6", False)
    return view


@case("remedies", "the batch is dragged")
def _() -> Any:
    view = views.remedies(batch=128)
    view.on_event("batch", 8, True)
    return view


# -- a model and its card -------------------------------------------------------------------------


EXPLAINED: dict[str, Callable[[], Any]] = {
    "it fits": partial(views.explain, batch=2),
    "not one sample": partial(views.explain, batch=64, memory="2 GB"),
    "the optimizer's state": partial(views.explain, "vgg16", 1, "2.2 GB"),
    "blocks in stages": partial(views.explain, "resnet50", 256),
    "nothing helps": partial(views.explain, "mnist_cnn", 1, "500 MB"),
    "in parts": partial(views.explain, batch=64, changed_by="parts"),
    "a change is on": partial(views.explain, changed_by="recompute"),
}
for _name, _make in EXPLAINED.items():
    case("explain", _name)(_make)


@case("explain", "every number")
def _() -> Any:
    view = views.explain()
    view.numbers = True
    return view


@case("explain", "the batch is dragged")
def _() -> Any:
    view = views.explain(batch=4)
    view.on_event("batch", 3, True)
    return view

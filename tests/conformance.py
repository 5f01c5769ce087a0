"""The conformance set: plans, questions, techniques and pictures, as text by name.

A web page shows the same, byte for byte, without the packages that are blocked here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, product
from random import Random
from typing import Any, cast

import numpy as np

import memlab
from memlab import InputError, views

BLOCKED = ("numba", "scipy", "psutil")
NETWORKS = ("vgg16", "resnet50", "alexnet", "gpt2")
BATCHES = (1, 3, 8, 32, 100, 257)
MEASURED = ("prediction_card: 02.output",)
"""Beside its plan stands a bar that is measured, where something can run."""
COMPUTED = ("01.my_step",)
"""Exercises whose cases come from a run."""
EXACT = ("E6.chain",)
"""Claims that SciPy's solver computes."""
TIMED = ("algorithm_times", "batch_times", "memory_rate", "vector_lanes")
"""Views that measure when they are made. Recorded measurements are drawn everywhere."""

Cases = Iterator[tuple[str, Callable[[], object]]]
PART = 10
"""Of so many outputs one is drawn where time is short."""
LONG = ("budget: ", "remedies: ", "explain: ", "exercise 11", "card 11", "exercise 08")
"""Beginnings of the names of outputs that take seconds, which no draw has."""


def cases() -> dict[str, Callable[[], object]]:
    """Functions that make each output, by its name."""
    groups = (_plans, _techniques, _claims, _cards, _errors, _views)
    return dict(chain.from_iterable(group() for group in groups))


def drawn(whole: bool = False) -> list[str]:
    """Names of a tenth of the outputs that need no kernel, or of all of them."""
    names = [name for name in cases() if name not in MEASURED]
    if whole:
        return names
    quick = [name for name in names if not name.startswith(LONG)]
    return Random("conformance").sample(quick, len(names) // PART)


def checked() -> list[str]:
    """Names of the outputs that are compared without the packages that are blocked here: of all
    views, and of a part of the rest."""
    views = [name for name, _ in _views()]
    return [*views, *(name for name in drawn() if name not in views)]


def shown(names: Iterable[str] | None = None) -> dict[str, str]:
    """Outputs by their names, as text; all of them unless some are named."""
    make = cases()
    return {name: str(make[name]()) for name in (make if names is None else names)}


def code(function: str) -> str:
    """Python that prints what a function of this file returns for the names that it is given."""
    return (
        "import json, sys\nfrom tests import conformance\n"
        f"print(json.dumps(conformance.{function}(json.loads(sys.argv[1]))))\n"
    )


def natively(names: Sequence[str]) -> dict[str, str]:
    """Outputs by their names in a Python of their own: other tests change what one has measured."""
    command = [sys.executable, "-c", code("shown"), json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@cache
def _step(network: str) -> Any:
    return memlab.training_step(memlab.zoo.build(network), "adam")


@cache
def _plan(network: str) -> Any:
    return memlab.plan(_step(network))


def _lines(plan: Any, batch: int) -> object:
    return plan.timeline(batch), plan.before(batch), plan.after(batch), plan.reserved(batch)


def _in_place(network: str) -> object:
    return memlab.diff(_plan(network), memlab.plan(memlab.in_place(_step(network))), 8)


PLANNED: dict[str, Callable[[str], object]] = {
    "timelines": lambda name: _lines(_plan(name), 7),
    "timelines beyond 32 bits": lambda name: _lines(_plan(name), 4099),
    "timeline beyond 64 bits": lambda name: _plan(name).timeline(10**15),
    "fit": lambda name: _plan(name).fit("12 GB"),
    "why": lambda name: _plan(name).why(32),
    "diff": _in_place,
    "layers": lambda name: _step(name).network,
}


def _plans() -> Cases:
    for name, (kind, make) in product(memlab.zoo.ZOO, PLANNED.items()):
        yield f"{name}: {kind}", partial(make, name)


CHANGES: dict[str, Callable[[Any, int], Any]] = {
    "recompute": lambda step, _: memlab.recompute(step, "every"),
    "chain": lambda step, batch: memlab.recompute(step, "chain", batch=batch),
    "offload": lambda step, _: memlab.offload(step, "conv"),
    "precision": lambda step, _: memlab.precision(step, "mixed fp16"),
    "masks": lambda step, _: memlab.relu_masks(step),
    "states": lambda step, _: memlab.eight_bit_states(step),
    "no reuse": lambda step, _: memlab.no_reuse(step),
    "lowering": lambda step, _: memlab.lowering(step, algorithm="im2col-image"),
    "parts": lambda step, _: memlab.accumulate(step, 4),
    "release": lambda step, _: memlab.release(step),
    "resnet18 in place": lambda *_: memlab.in_place(_step("resnet18")),
}
"""Techniques by their names, for the step of VGG-16 at a batch."""


def _changed(name: str, batch: int) -> object:
    return memlab.plan(CHANGES[name](_step("vgg16"), batch)).timeline(batch)


def _seconds(batch: int) -> object:
    return memlab.clock(_step("vgg16"), batch, device="titan x", link="12 GB/s")


def _placed(how: str, batch: int) -> object:
    return memlab.place(_step("vgg16"), batch, how=how).text()


def _techniques() -> Cases:
    for name in CHANGES:
        yield name, partial(_changed, name, 8)
        yield f"{name}, beyond 32 bits", partial(_changed, name, 1033)
    for batch in (32, 2048):
        yield f"seconds of {batch}", partial(_seconds, batch)
    for how, batch in product(("best", "birth", "biggest"), (8, 777)):
        yield f"placed by {how}, batch {batch}", partial(_placed, how, batch)


def _claims() -> Cases:
    from memlab.claims import figures, listing, table

    rows: list[Any] = [*table(), *figures()]
    for number, row in enumerate(rows):
        if not (row.runs or row.here or row.id in EXACT):
            yield f"claim {number}: {row.id}", partial(listing.paragraph, row, 80)


def _cards() -> Cases:
    from memlab.lesson.card_question import topics
    from memlab.lesson.exercise_task import tasks

    for name, question in topics().items():
        yield f"card {name}", partial(_card, question)
    for name, task in tasks().items():
        if name not in COMPUTED:
            yield f"exercise {name}", partial(_exercise, task)


def asked() -> dict[str, Callable[[], object]]:
    """Functions that find the truth of each card and the cases of each exercise, by its name."""
    from memlab.lesson.card_question import topics
    from memlab.lesson.exercise_task import tasks

    return {
        **{f"card {name}": partial(each.truth, each.first) for name, each in topics().items()},
        **{f"exercise {name}": partial(_exercise, each) for name, each in tasks().items()},
    }


def truths(names: Iterable[str]) -> dict[str, str]:
    """Truths of cards and cases of exercises, as text; a sentence where one is refused."""
    make = asked()
    return {name: _said(make[name], "{}") for name in names}


def _card(question: Any) -> str:
    from memlab.lesson.card import Card

    return Card(question).text()


def _exercise(task: Any) -> object:
    return _plain(task.cases(Random(1)))


def _plain(value: Any) -> object:
    """The value with arrays as lists: releases of NumPy show them in other words."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.tolist()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _errors() -> Cases:
    step = partial(_step, "alexnet")
    calls: dict[str, Callable[[], object]] = {
        "no such network": lambda: memlab.zoo.build("resnet5"),
        "no such optimizer": lambda: memlab.training_step(memlab.zoo.alexnet(), "adem"),
        "half a sample": lambda: memlab.plan(step()).peak(cast("int", 1.5)),
        "no such view's network": lambda: views.memory("vgg61"),
        "a batch of none": lambda: views.memory("vgg16", batch=0),
        "no amount": lambda: memlab.plan(step()).fit("twelve"),
        "no such policy": lambda: memlab.offload(step(), "everything"),
        "no such mode": lambda: memlab.precision(step(), "mixed fp17"),
        "no such format": lambda: memlab.formats.find("fp33"),
        "no such way": lambda: memlab.place(step(), 8, how="worst"),
        "a window too large": lambda: memlab.network("n", image=(3, 4, 4)).conv(8, 9),
        "no such device": lambda: memlab.clock(step(), 8, device="titan y"),
        "a recorded file": lambda: memlab.load("nowhere.json"),
        "a wrong order": lambda: memlab.recompute(memlab.in_place(step()), "every"),
        "no such card": lambda: memlab.lesson.predict("01.peek"),
    }
    for name, call in calls.items():
        yield f"error: {name}", partial(_said, call)


def _said(call: Callable[[], object], answer: str = "nothing was refused: {}") -> str:
    """The sentence that a call is refused with, or what it returns."""
    try:
        return answer.format(call())
    except InputError as error:
        return str(error)


def _memory(network: str, batch: int) -> str:
    view = views.memory(network, batch=batch)
    return view.svg() + view.text()


def _dragged(batch: int) -> str:
    """The picture of a batch of a view that showed another one before."""
    view = views.memory("vgg16", batch=8)
    view.batch = batch
    svg: str = view.svg()
    return svg


def _page(make: Callable[[], Any]) -> str:
    from tests.pictures import pages

    page = pages.page_of(make())
    return page.alone() + page.text()


def _views() -> Cases:
    from tests.pictures import pages

    for name in NETWORKS:
        for batch in BATCHES:
            yield f"{name}, batch {batch}", partial(_memory, name, batch)
    for batch in (9, 50):
        yield f"dragged to {batch}", partial(_dragged, batch)
    yield (
        "an exercise",
        lambda: views.exercise_card(memlab.lesson.exercise("02.largest_batch")).text(),
    )
    for (factory, case), make in pages.without_kernels().items():
        yield f"{factory}: {case}", partial(_page, make)


def refused() -> dict[str, str]:
    """Sentences said by views, cards and exercises that compute, where nothing can, by name."""
    return dict(_refusals())


def _refusals() -> Iterator[tuple[str, str]]:
    timed: dict[str, Callable[[], object]] = {name: partial(_made, name) for name in TIMED}
    for name, ask in {**timed, **asked()}.items():
        try:
            ask()
        except InputError as error:
            yield name, str(error)


def _made(view: str) -> object:
    return getattr(views, view)()


if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(BLOCKED))  # type: ignore[arg-type]  # None: it is not there
    found = shown(checked())
    loaded = [name for name in BLOCKED if sys.modules[name] is not None]
    print(json.dumps([loaded, found, refused()]))

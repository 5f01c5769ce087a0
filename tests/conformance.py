"""The conformance set: plans, questions, techniques and pictures, as text by name.

A web page shows the same, byte for byte, without the packages that are blocked here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from random import Random

BLOCKED = ("numba", "scipy", "psutil")
NETWORKS = ("vgg16", "resnet50", "alexnet", "gpt2")
BATCHES = (1, 3, 8, 32, 100, 257)
TIMED = ("algorithm_times", "batch_times", "memory_rate", "vector_lanes")
"""Views that measure when they are made. Recorded measurements are drawn everywhere."""


def shown() -> dict[str, str]:
    """Everything by its name."""
    return {name: str(value) for name, value in chain(_plans(), _techniques(), _views())}


def _plans() -> Iterator[tuple[str, object]]:
    import memlab

    for name in memlab.zoo.ZOO:
        step = memlab.training_step(memlab.zoo.build(name), "adam")
        plan = memlab.plan(step)
        lines = plan.timeline(7), plan.before(7), plan.after(7), plan.reserved(7)
        yield f"{name}: timelines", lines
        yield f"{name}: timeline beyond 64 bits", plan.timeline(10**15)
        yield f"{name}: fit", plan.fit("12 GB")
        yield f"{name}: why", plan.why(32)
        yield f"{name}: diff", memlab.diff(plan, memlab.plan(memlab.in_place(step)), 8)


def _techniques() -> Iterator[tuple[str, object]]:
    import memlab

    step = memlab.training_step(memlab.zoo.vgg16(), "adam")
    made = {
        "recompute": memlab.recompute(step, "every"),
        "chain": memlab.recompute(step, "chain", batch=8),
        "offload": memlab.offload(step, "conv"),
        "precision": memlab.precision(step, "mixed fp16"),
        "masks": memlab.relu_masks(step),
        "states": memlab.eight_bit_states(step),
        "no reuse": memlab.no_reuse(step),
        "lowering": memlab.lowering(step, algorithm="im2col-image"),
    }
    for name, after in made.items():
        yield name, memlab.plan(after).timeline(8)
    yield "seconds", memlab.clock(step, 32, device="titan x", link="12 GB/s")
    for how in ("best", "birth", "biggest"):
        yield f"placed by {how}", memlab.place(step, 8, how=how).text()


def _views() -> Iterator[tuple[str, object]]:
    import memlab
    from memlab import views
    from tests.pictures import pages

    for name in NETWORKS:
        for batch in BATCHES:
            view = views.memory(name, batch=batch)
            yield f"{name}, batch {batch}", view.svg() + view.text()
    dragged = views.memory("vgg16", batch=8)
    for batch in (9, 50):
        dragged.batch = batch
        yield f"from batch 8 to {batch}", dragged.svg()
    exercise = memlab.lesson.exercise("02.largest_batch")
    yield "an exercise", views.exercise_card(exercise).text()
    for (factory, case), make in pages.without_kernels().items():
        page = pages.page_of(make())
        yield f"{factory}: {case}", page.alone() + page.text()


def refused() -> dict[str, str]:
    """What is said by views, cards and exercises that compute, where nothing can, by name."""
    return dict(_refusals())


def _refusals() -> Iterator[tuple[str, str]]:
    from memlab import InputError
    from memlab.lesson.card_question import topics
    from memlab.lesson.exercise_task import tasks

    asked: dict[str, Callable[[], object]] = {
        **{name: partial(_made, name) for name in TIMED},
        **{f"card {name}": partial(each.truth, each.first) for name, each in topics().items()},
        **{f"exercise {name}": partial(each.cases, Random(1)) for name, each in tasks().items()},
    }
    for name, ask in asked.items():
        try:
            ask()
        except InputError as error:
            yield name, str(error)


def _made(view: str) -> object:
    from memlab import views

    return getattr(views, view)()


if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(BLOCKED))  # type: ignore[arg-type]  # None: it is not there
    found = shown()
    loaded = [name for name in BLOCKED if sys.modules[name] is not None]
    print(json.dumps([loaded, found, refused()]))

"""What a web page shows of memlab: plans, questions, techniques and pictures, as text by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

BLOCKED = ("numpy", "numba", "scipy", "psutil")
NETWORKS = ("vgg16", "resnet50", "alexnet", "gpt2")
BATCHES = (1, 3, 8, 32, 100, 257)


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
    from memlab import views

    for name in NETWORKS:
        for batch in BATCHES:
            view = views.memory(name, batch=batch)
            yield f"{name}, batch {batch}", view.svg() + view.text()
    dragged = views.memory("vgg16", batch=8)
    for batch in (9, 50):
        dragged.batch = batch
        yield f"from batch 8 to {batch}", dragged.svg()
    others: list[Any] = [
        views.memory("vgg16", batch=32, rule="conv-sums"),
        views.memory("mnist_cnn", batch=4),
        views.case("02"),
        views.case("03"),
        views.shifted_copies(),
        views.recompute(),
        views.totals(),
        views.vectors(),
        views.warp_memory(),
        views.addresses(),
        views.idle(),
        views.offload(),
        views.path(),
        views.precision(),
        views.ways(),
    ]
    for number, each in enumerate(others):
        yield f"view {number}: {type(each).__name__}", each.svg() + each.text()


if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(BLOCKED))  # type: ignore[arg-type]  # None: it is not there
    found = shown()
    loaded = [name for name in BLOCKED if sys.modules[name] is not None]
    print(json.dumps([loaded, found]))

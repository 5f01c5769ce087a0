"""Steps that are run in a page and natively: what they cost, lose and learn, by name.

In Pyodide this file prints it as JSON for the names that it is given.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import memlab
from memlab.errors import InputError
from memlab.networks.graph import Network
from memlab.step.step import Step

Rewrite = Callable[[Step], Step]


def resnet() -> Network:
    """Two residual blocks, the second at half the height and width."""
    x = memlab.network("small ResNet", image=(3, 16, 16)).conv(8, 3, pad=1, bias=False)
    x = x.batch_norm().relu()
    for channels, stride in ((8, 1), (16, 2)):
        y = x.conv(channels, 3, stride=stride, pad=1, bias=False).batch_norm().relu()
        y = y.conv(channels, 3, pad=1, bias=False).batch_norm()
        if stride > 1:
            x = x.conv(channels, 1, stride=stride, bias=False).batch_norm()
        x = y.add(x).relu()
    return x.avg_pool("all").flatten().linear(10).cross_entropy()


def gpt() -> Network:
    """Two blocks of GPT-2 with few features."""
    return memlab.zoo.gpt2(steps=16, layers=2, features=32, heads=4, vocabulary=50)


NETWORKS: dict[str, Callable[[], Network]] = {
    "linear1": memlab.zoo.linear1,
    "mnist_cnn": memlab.zoo.mnist_cnn,
    "resnet": resnet,
    "gpt": gpt,
}
BATCHES = (1, 2, 3, 8, 32)
OPTIMIZERS = ("sgd", "adam")
TECHNIQUES: dict[str, Rewrite] = {
    "recompute": lambda step: memlab.recompute(step, "every"),
    "chain": lambda step: memlab.recompute(step, "chain", batch=2),
    "offload": lambda step: memlab.offload(step, "all"),
    "in place": memlab.in_place,
    "masks": memlab.relu_masks,
    "release": memlab.release,
    "no reuse": memlab.no_reuse,
    "accumulate": lambda step: memlab.accumulate(step, 2),
    "chunks": lambda step: memlab.chunked_loss(step, 2),
    "lowering": lambda step: memlab.lowering(step, "im2col"),
    "mixed fp16": lambda step: memlab.precision(step, "mixed fp16"),
    "mixed bf16": lambda step: memlab.precision(step, "mixed bf16"),
    "8-bit states": memlab.eight_bit_states,
    "offload and recompute": lambda step: memlab.offload(memlab.recompute(step, "every"), "all"),
}
FP64 = "fp64"
"""Name that stands in a technique's place for a step in fp64, where no value near 0 goes to the
other side of a ReLU."""
SOME = 100
ROUNDED = ("mixed fp16", "mixed bf16", "8-bit states")
"""Techniques after which a last digit may round to another number."""


@cache
def step(network: str, optimizer: str, technique: str) -> Step:
    """Training step of a network, after a technique if one is named."""
    format = FP64 if technique == FP64 else "fp32"
    made = memlab.training_step(NETWORKS[network](), optimizer, format=format)
    return TECHNIQUES[technique](made) if technique in TECHNIQUES else made


def names() -> Iterator[str]:
    """Yield the name of every run: network, optimizer, technique or none, batch."""
    for network, optimizer, batch in product(NETWORKS, OPTIMIZERS, BATCHES):
        yield f"{network}/{optimizer}//{batch}"
    for network, optimizer, technique in product(NETWORKS, OPTIMIZERS, (FP64, *TECHNIQUES)):
        try:
            step(network, optimizer, technique)
        except InputError:  # nothing in it to change
            continue
        yield f"{network}/{optimizer}/{technique}/2"


def ran(name: str) -> dict[str, Any]:
    """Residual, measured peaks, loss, and some values of each gradient of a run."""
    network, optimizer, technique, batch = name.split("/")
    run = memlab.run(step(network, optimizer, technique), int(batch), keep="gradients")
    gradients = {key: some(values) for key, values in run.gradients.items()}
    return {
        "residual": run.residual,
        "peaks": [run.peak, run.host_peak],
        "inside": run.inside,
        "loss": run.loss,
        "gradients": gradients,
    }


def some(values: Any) -> list[float]:
    """The largest size among values, then about ``SOME`` of them."""
    line = np.asarray(values, np.float64).reshape(-1)
    picked: list[float] = line[:: max(1, line.size // SOME)].tolist()
    return [float(np.abs(line).max()), *picked]


def all_of(chosen: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Results of some runs, by their names."""
    return dict(zip(chosen, map(ran, chosen), strict=True))


if __name__ == "__main__":
    print(json.dumps(all_of(sys.argv[1:])))

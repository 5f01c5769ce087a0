"""Measure what ``clocks.roofline`` goes by: ``python -m benchmarks.rates > rates.json``.

Processor time of one thread. Every algorithm takes its turn in each round, so that they meet the
same drift of the machine; medians are kept.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from memlab.assemble.step import training_step
from memlab.axes import Shape
from memlab.bench.measured_machine import copy, product
from memlab.clocks import roofline
from memlab.kernels import registry
from memlab.kernels.registry import Array
from memlab.layers import Conv2d
from memlab.layers.algorithms import on
from memlab.measure.processor import blas, limited, prepared, timed
from memlab.measure.timing import machine, median
from memlab.networks.builder import network
from memlab.step.op import Op

COMMAND = "python -m benchmarks.rates > memlab/clocks/rates.json"
BATCH = 2
LAYERS: tuple[tuple[Shape, Conv2d], ...] = (
    ((64, 224, 224), Conv2d(64, 3, pad=1)),
    ((64, 56, 56), Conv2d(64, 3, pad=1)),
    ((256, 56, 56), Conv2d(256, 3, pad=1)),
    ((512, 14, 14), Conv2d(512, 3, pad=1)),
    ((16, 16, 16), Conv2d(16, 3, pad=1)),
    ((128, 56, 56), Conv2d(128, 3, 2, 1)),
    ((256, 56, 56), Conv2d(64, 1)),
    ((512, 14, 14), Conv2d(1024, 1)),
    ((256, 56, 56), Conv2d(512, 1, 2)),
    ((64, 27, 27), Conv2d(192, 5, pad=2)),
    ((3, 224, 224), Conv2d(64, 7, 2, 3)),
)
"""Layers of VGG-16, ResNet-50 and AlexNet, and a small one."""


def measure(layers: tuple[tuple[Shape, Conv2d], ...] = LAYERS, rounds: int = 3) -> dict[str, Any]:
    """The rate of a large product, the bandwidth of a large copy, and the shares of every
    algorithm on each layer."""
    registry.load()
    with limited():
        flops, bandwidth = product(rounds), copy(rounds)
        rows = [row(shape, layer, flops, rounds) for shape, layer in layers]
    return {
        "machine": asdict(machine()) | {"blas": [line.name for line in blas()]},
        "command": COMMAND,
        "flops": flops,
        "bandwidth": bandwidth,
        "batch": BATCH,
        "layers": rows,
    }


def row(shape: Shape, layer: Conv2d, flops: float, rounds: int) -> dict[str, Any]:
    """The shares of the rate ``flops`` that every algorithm reaches on a layer."""
    ops = {
        f"{name}, {op.phase}": op
        for name in on("cpu")
        for op in _ops(shape, layer, name)
        if op.algorithm == name
    }
    operands: dict[str, Array] = {}
    times = timed({key: prepared(op, BATCH, operands) for key, op in ops.items()}, rounds)
    shares: dict[str, dict[str, float]] = {}
    for key, op in ops.items():
        share = op.flops.at(BATCH) / median(times[key]) / flops
        shares.setdefault(op.algorithm, {})[str(op.phase)] = float(f"{share:.3g}")
    places = layer.output(shape)[1] * layer.output(shape)[2]
    return {"layer": roofline.describe(layer, shape[0], places), "shares": shares}


def _ops(shape: Shape, layer: Conv2d, algorithm: str) -> list[Op]:
    """The layer, forward and backward, behind another that learns."""
    source = network("one layer", image=shape).conv(shape[0], 1)
    net = source.then(layer, name="layer").squared_error()
    step = training_step(net, "sgd", algorithm=algorithm)
    return [op for op in step.ops if op.layer == "layer" and op.kind.startswith("conv2d")]


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))

"""Kernels on several threads: the same bits as on one thread, and no unseen allocation."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import memlab
from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.kernels import registry
from memlab.kernels.cpu import threads as parts
from memlab.runtime.metering.meter import Meter
from tests.kernels_by_case import Case, Trial

SETTINGS = (
    ((16, 11, 13), L.Conv2d(24, 3, pad="same")),
    ((40, 9, 7), L.Conv2d(20, 1)),
    ((90, 6, 5), L.Conv2d(530, 3, pad=1)),
    ((3, 20, 17), L.Conv2d(9, 7, 2, 3, bias=False)),
    ((12, 9, 8), L.Conv2d(12, 3, 1, 2, 2, 3)),
    ((8, 10, 9), L.Conv2d(8, 3, 2, 1, groups=2)),
    ((2, 2, 2), L.Conv2d(3, 3, 1, 3)),
)
NAMES = ("im2col-tile", "offsets")
CASES = [
    (shape, layer, name)
    for shape, layer in SETTINGS
    for name in NAMES
    if name == "im2col-tile" or layer.stride == 1
]


@pytest.mark.parametrize("batch", [1, 2, 3, 8])
@pytest.mark.parametrize("format", ["fp32", "fp64"])
@pytest.mark.parametrize(("shape", "layer", "name"), CASES)
def test_several_threads_compute_the_same_bits(shape, layer, name, format, batch):
    runs = []
    for threads in (1, 2, 3):
        trial = Trial(Case(layer, (shape,), name, threads), batch, format)
        dy, into = trial.weights(), trial.draw("dx", trial.forward_op.reads["x"])
        assert trial.forward_op.algorithm == name
        runs.append((trial.forward(), trial.backward(dy), trial.backward(dy, into)))
    for several in runs[1:]:
        for one, other in zip(runs[0], several, strict=True):
            assert one.keys() == other.keys()
            for key, values in one.items():
                assert np.isfinite(values).all()
                np.testing.assert_array_equal(values, other[key], key)


@pytest.mark.parametrize("name", NAMES)
def test_as_many_threads_take_part_as_are_planned(name, monkeypatch):
    seen = set()
    spread = parts.run_on_threads

    def watched(work, workspaces, units):
        def counted(workspace, some):
            seen.add((threading.get_ident(), id(workspace)))
            barrier.wait(10)
            work(workspace, some)

        spread(counted, workspaces, units)

    for module in ("im2col_tiles", "offset_table"):
        monkeypatch.setattr(f"memlab.kernels.cpu.conv.{module}.run_on_threads", watched)
    trial = Trial(Case(L.Conv2d(6, 3, pad=1), ((4, 12, 10),), name, threads=3), 3, "fp32")
    barrier = threading.Barrier(3)
    trial.forward()
    assert len(seen) == 3
    trial.backward(trial.weights())
    assert len({thread for thread, _ in seen}) >= 3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("network", ["mnist_cnn", "resnet18"])
def test_the_plan_of_several_threads_holds(network, name):
    net = memlab.zoo.build(network, image=64 if network == "resnet18" else 28)
    runs = [
        memlab.run(memlab.training_step(net, algorithm=name, threads=threads), 3)
        for threads in (1, 2, 3)
    ]
    assert [run.residual for run in runs] == [0, 0, 0]
    one, two = runs[0].step.ops, runs[1].step.ops
    index = next(i for i, op in enumerate(one) if op.algorithm == name)
    sizes = [sum(w.size.at(3) for w in ops[index].workspace.values()) for ops in (one, two)]
    assert sizes[1] == 2 * sizes[0] > 0


# -- the workers --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("units", [0, 1, 2, 5, 12])
def test_every_unit_has_one_worker(units, count):
    ranges = parts.shares(units, count)
    assert [unit for share in ranges for unit in share] == [*range(units)]
    assert max(map(len, ranges)) - min(map(len, ranges)) <= 1


@pytest.mark.parametrize("units", [range(12), range(1, 11), range(3, 7), range(4, 8)])
def test_pieces_are_the_units_of_each_image(units):
    ranges = [
        image * 4 + unit
        for image, first, stop in parts.image_ranges(units, 4)
        for unit in range(first, stop)
    ]
    assert ranges == [*units]
    assert all(first < stop for _, first, stop in parts.image_ranges(units, 4))


def test_an_error_in_a_worker_is_raised_here():
    def fail(workspace, units):
        if workspace == 2:
            raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        parts.run_on_threads(fail, [1, 2, 3], 6)


def test_a_meter_sees_an_array_of_a_worker():
    def careless(workspace, units):
        if workspace == 1:
            np.empty(1000, np.uint8)

    registry.load()
    with Meter() as meter:
        parts.run_on_threads(careless, [0, 1], 2)
        assert [seen.nbytes for seen in meter.seen] == [1000]


def test_there_is_no_worker_without_a_unit():
    seen = []
    parts.run_on_threads(lambda workspace, units: seen.append((workspace, units)), [0, 1, 2], 2)
    parts.run_on_threads(lambda workspace, units: seen.append((workspace, units)), [0, 1], 0)
    assert sorted(seen) == [(1, range(1)), (2, range(1, 2))]


def test_no_worker_is_left():
    before = threading.active_count()
    parts.run_on_threads(lambda workspace, units: None, [0, 1, 2], 3)
    assert threading.active_count() == before

"""A small project of a user: a plan, its questions, techniques, a run, views, and a layer."""

from dataclasses import dataclass
from typing import ClassVar

import memlab
from memlab import views
from memlab.axes import Shape
from memlab.layers.layer import Layer
from memlab.layers.layer_kind import IN_PLACE, Flops, LayerKind, by_value
from memlab.step.rewrite_traits import SplitAxis


@dataclass(frozen=True)
class Square(Layer):
    """The square of each value."""

    kind: ClassVar[str] = "square"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.VALUES, cheap=True, over=IN_PLACE
    )

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, 1, 2)


def largest_batch(network: memlab.Network, card: str) -> int | None:
    step: memlab.Step = memlab.training_step(network, "adam")
    ledger: memlab.Ledger = memlab.plan(memlab.in_place(memlab.recompute(step)))
    print(ledger.why(8), ledger.peak(8), memlab.diff(ledger, memlab.plan(step), 8))
    return ledger.fit(card).batch


def measured(network: memlab.Network) -> int:
    result: memlab.Run = memlab.run(memlab.training_step(network), batch=2)
    return result.residual


def seconds(network: memlab.Network) -> float:
    return memlab.clock(memlab.training_step(network), 32, device="titan x").seconds


def picture(network: memlab.Network) -> views.Memory:
    view: views.Memory = views.memory(network, batch=8)
    print(view.peak, view.text())
    return view


x = memlab.network("mine", image=(3, 8, 8)).conv(4, 3, pad="same").then(Square()).flatten()
net: memlab.Network = x.linear(10).cross_entropy()
print(largest_batch(net, "12 GB"), seconds(net), picture(memlab.zoo.vgg16()))

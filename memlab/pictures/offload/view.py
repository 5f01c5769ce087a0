"""View of offload over time: operations, the copies under them, and both memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

from memlab import hardware, optimizers, units
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.pictures.draw.page import Page
from memlab.pictures.live.fixed_axes import Needs, SteadyView
from memlab.pictures.live.setting import ByName, Range, Select, Setting, State
from memlab.pictures.live.setting import TextBox as Typed
from memlab.pictures.live.view import PageState, maker
from memlab.pictures.offload import focus
from memlab.pictures.offload.page import NEAR, OffloadPageInputs, needs, page
from memlab.pictures.offload.streams import OffloadTimeline, offloaded, short, speed
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.number_text import three_digits
from memlab.pictures.values.step_recipe import network_of

SPEEDS = tuple(
    10**9 * gigabytes for gigabytes in (1, 2, 3, 4, 6, 8, 12, 16, 25, 32, 50, 64, 100, 200, 450)
)
"""Bytes per second at which the slider of the link stops."""


# -- settings --------------------------------------------------------------------------------------


@cache
def networks() -> dict[str, str]:
    """Return titles by name of the networks of the zoo."""
    return {name: network_of(name).title for name in zoo.ZOO}


def devices() -> dict[str, str]:
    """Return titles by name of the devices whose figures time a step in fp32."""
    return {
        name: short(device)
        for name, device in hardware.DEVICES.items()
        if device.bandwidth and "fp32" in device.flops
    }


def of_networks(
    titles: Callable[[], Mapping[str, str]] = networks, default: str = "vgg16", **given: Any
) -> Setting[Network]:
    """Return the setting of the network.

    Args:
        titles: returns the titles of the networks that are offered, by name.
        default: name of the network when none is given.
        **given: other arguments of the setting.
    """
    return network_setting(ByName, options=lambda now: titles(), default=default, **given)


def of_devices(**given: Any) -> ByName:
    """Return the setting of the device."""
    return ByName(lambda now: devices(), doc="a machine by name (``memlab.hardware``), or a file",
                  default="titan x", check=hardware.find,
                  write=lambda device: repr(device.name), **given)  # fmt: skip


def of_batches(default: int, **given: Any) -> Range:
    """Return the setting of the mini-batch size."""
    return Range(1, 1_000_000, doc="the mini-batch size", default=default, code="always",
                 stops=tuple(2**n for n in range(11)), **given)  # fmt: skip


def of_links(way: str, **given: Any) -> Range:
    """Return the setting of a link in bytes per second; ``way`` says in words between which
    memories."""
    return Range(1, 10**15, default=lambda now: now.device.wire.speed,
                 check=lambda given: hardware.link(given).speed,
                 doc=f'bytes per second {way}, ``"12 GB/s"`` or ``"PCIe 4.0 x16"``; those of the '
                 "device if not given", show=speed, stops=SPEEDS, follows=["device"], stands=True,
                 write=lambda value: repr(speed(value)), **given)  # fmt: skip


def of_memories(**given: Any) -> Typed[int]:
    """Return the setting of the card's memory in bytes."""
    return Typed(doc="the bytes of the card; those of the device if not given",
                 default=lambda now: now.device.room, check=units.parse, follows=["device"],
                 stands=True, **given)  # fmt: skip


def of_optimizers() -> Select[str]:
    """Return the setting of the optimizer."""
    titles = {name: optimizers.title(name) for name in optimizers.OPTIMIZERS}
    return Select(titles, default="sgd", doc=optimizers.ONE_OF, place="more")


class Offloaded(SteadyView[OffloadTimeline]):
    """Step whose feature maps wait in host memory: operations, copies and both memories in time.

    >>> view = memlab.views.offload("vgg16", batch=64, policy="all")
    >>> view.peak, view.rows.plain_peak
    (3829857348, 5090399300)
    """

    name, made_by = "offload", "offload"
    positional = ("network", "batch", "policy")
    picture_keys = focus.KEYS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "surprise": {"policy": "all"}, "break": {"link": "3 GB/s"}
    }  # fmt: skip
    """All maps move, and the peak stays; and a link that is too slow."""

    policy = Select(
        ("none", "conv", "all", "dynamic", "best"), default="conv", code="always",
        doc="which maps go (``memlab.offload``); searches keep the algorithms of the others",
    )  # fmt: skip
    link = of_links("between both memories", code="always")
    batch = of_batches(256)
    device = of_devices(place="more", brief=lambda now: now.device.name)
    budget = of_memories(place="more", show=three_digits)
    network = of_networks(place="more")
    optimizer = of_optimizers()
    chosen: Setting[str] = Setting(
        doc="the copy, map or wait that is in focus, or the peak", default="", argument=False,
        code="never",
    )  # fmt: skip
    pinned: Setting[str] = Setting(
        doc="what stays outlined beside it", default="", argument=False, code="never"
    )

    @property
    def peak(self) -> int:
        """Bytes of the peak on display."""
        return self.rows.peak

    def study(self, now: State) -> OffloadTimeline:
        return offloaded(now.network, now.batch, now.policy, now.link, now.device, now.optimizer,
                         now.budget)  # fmt: skip

    def needs(self, now: State, rows: OffloadTimeline) -> Needs:
        return needs(rows)

    def most(self, now: State) -> tuple[int | None, ...]:
        seconds, device, host = self.needs(now, self.rows_of(now))
        most = now.budget if device < now.budget < NEAR * device else device
        return None if self._slower(now) else seconds, most, host  # the link changes seconds alone

    def _slower(self, now: State) -> bool:
        """Return True if the link can be moved and is as fast as that of the device: then the axis
        of seconds has room for a slower one."""
        moved = not now.only or "link" in now.only
        return moved and now.link >= now.device.wire.speed

    def question(self, now: State) -> object:
        return now.network, now.policy, now.device, now.optimizer

    def values(self, now: State) -> Mapping[str, object]:
        return {"link": speed(now.link), "batch": f"{now.batch:,}"}

    def outline_key(self, now: State) -> object:
        return now.replace(chosen="", pinned="")

    def test_state(self, now: State) -> str:
        timeline = self.rows_of(now)
        return "|".join(map(str, (now.network.name, now.batch, now.policy, now.link, timeline.peak,
                                  timeline.host, f"{timeline.now.seconds:.6f}")))  # fmt: skip

    def says(self, scene: PageState) -> str:
        timeline, place = self.rows_of(scene.now), self._place(scene.now)
        if place and not scene.news:
            return focus.sentence(timeline, place)
        return f"{timeline.title}. {timeline.sentences[0]}"

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        timeline, here = self.rows_of(now), self._place(now)
        if name == "choose" and focus.known(timeline, str(value)):
            return now.replace(chosen="" if value == here else value)
        if name != "key":
            return None
        if value == "Enter":
            return now.replace(pinned="" if here == now.pinned else here)
        if value == "Escape":
            return now.replace(chosen="") if here else now.replace(pinned="")
        return now.replace(chosen=focus.moved(timeline, here, value))

    def compose(self, scene: PageState) -> Page:
        now, timeline = scene.now, self.rows_of(scene.now)
        pinned = focus.known(timeline, now.pinned)
        inputs = OffloadPageInputs(timeline, now.room, self._place(now), pinned, scene.width)
        return page(inputs, self.says(scene))

    def _place(self, now: State) -> str:
        """Return the place in focus; empty where the timeline has it no more."""
        return focus.known(self.rows_of(now), now.chosen)


offload = maker(Offloaded)

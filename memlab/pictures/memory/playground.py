"""The playground: the memory view of a network that is chosen, or written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memlab.errors import known, printed
from memlab.networks.graph import Network
from memlab.networks.written import network_in
from memlab.pictures.live.setting import Setting, State, TextArea, same
from memlab.pictures.live.view import maker
from memlab.pictures.live.widget import Control, Labels
from memlab.pictures.memory.choices import BY_ROW, NetworkChoice, of_network
from memlab.pictures.memory.choices import network_in as network_in_state
from memlab.pictures.memory.snapshot import text_of
from memlab.pictures.memory.view import Memory
from memlab.pictures.values.step_recipe import network_of

WRITTEN = "written"
"""The name of the network that is written by hand, among those to choose from."""
EXAMPLE = """\
x = network("tiny", image=(3, 32, 32))
x = x.conv(32, 3, pad="same").relu().max_pool(2)
y = x.conv(32, 3, pad="same").relu()
x = y.conv(32, 3, pad="same").add(x).relu()
x.max_pool("all").flatten().linear(10).cross_entropy()"""
"""The text that stands there first."""
FRONT = ("network", WRITTEN, "batch", "optimizer", "format", "recompute", "k", "budget", *BY_ROW,
         "algorithm")  # fmt: skip
"""The settings in front of the disclosure."""


def is_written(now: State) -> bool:
    """True if the network that is written by hand is shown."""
    return isinstance(now.what, Network) and bool(now.what == network_in(now.written))


def _checked(given: object) -> str:
    """Return the text of a network.

    Raises:
        InputError: it is none.
    """
    text = printed(given)
    network_in(text)
    return text


class AnyNetwork(NetworkChoice):
    """Choice among the networks of the zoo and the one that is written by hand."""

    def allowed(self, given: Any, now: State) -> Any:
        if isinstance(given, Network):
            return given
        name = known("network", given, [WRITTEN, *now.networks])
        return network_in(now.written) if name == WRITTEN else network_of(name)

    def controls(self, now: State, labels: Labels) -> list[Control]:
        own = ((WRITTEN, text_of(WRITTEN)),)
        options = own + tuple((name, network_of(name).title) for name in now.networks)
        value = WRITTEN if is_written(now) else now.what.name
        return [Control("select", self.name, labels(self.name), value, "main", options)]


class Playground(Memory):
    """Memory of a step of any network: one of the zoo, or one that is written into a field, with
    every technique to switch.

    >>> text = 'network("one", features=784).linear(10).cross_entropy()'
    >>> memlab.views.playground(batch=8, written=text).network
    <one: 2 layers, 7,850 parameters, input 784>
    """

    made_by = "playground"

    what = Setting(
        doc=Memory.what.doc,
        default=lambda now: network_of("resnet50"),
        check=Memory.what.check,
        code=lambda now: not is_written(now),
        write=Memory.what.write,
    )
    network = AnyNetwork(
        (),
        doc="the network, by its name; ``'written'`` is the one in the field",
        when=of_network,
        argument=False,
        code="never",
        synced=False,
        get=lambda now: network_in_state(now) if of_network(now) else None,
        put=lambda now, network: {"what": network},
    )
    written = TextArea(
        doc="a network as text: ``network('mine', ...)`` and its layers, none of it run as Python",
        default=EXAMPLE,
        check=_checked,
        when=is_written,
        code=is_written,
    )
    control = Setting(
        doc=Memory.control.doc, default=lambda now: FRONT, check=Memory.control.check, fixed=True
    )

    def changed(self, now: State, **changes: Any) -> State:
        stays = same(changes.get(WRITTEN), now.written)
        return super().changed(now, **(changes if stays else _shown(changes)))

    def _made(self, kept: Mapping[str, Any], given: Mapping[str, Any]) -> State:
        return super()._made(kept, _shown(given))


def _shown(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of settings in which a text that is written is the network that is shown."""
    if changes.get(WRITTEN) is None or "what" in changes:
        return dict(changes)
    return {**changes, "what": network_in(_checked(changes[WRITTEN]))}


playground = maker(Playground)

"""memlab: where the memory goes while a neural network trains, planned and measured.

>>> step = memlab.training_step(memlab.zoo.resnet50())
>>> memlab.plan(step).peak(batch=32)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memlab import claims as claims
    from memlab import formats as formats
    from memlab import kernels as kernels
    from memlab import lesson as lesson
    from memlab import rounding as rounding
    from memlab import units as units
    from memlab import views as views
    from memlab.build.step import inference_step as inference_step
    from memlab.build.step import training_step as training_step
    from memlab.errors import InputError as InputError
    from memlab.frontends.torch import record as record
    from memlab.frontends.torch.fitting import fit_model as fit_model
    from memlab.lesson.images import images as images
    from memlab.networks import counting as counting
    from memlab.networks import zoo as zoo
    from memlab.networks.builder import network as network
    from memlab.networks.graph import Network as Network
    from memlab.planner.book import plan as plan
    from memlab.planner.diff import diff as diff
    from memlab.planner.files import load as load
    from memlab.planner.files import save as save
    from memlab.planner.ledger import Ledger as Ledger
    from memlab.planner.path import data_path as data_path
    from memlab.planner.placement import place as place
    from memlab.planner.streams import clock as clock
    from memlab.runtime.feed import Fed as Fed
    from memlab.runtime.feed import feed as feed
    from memlab.runtime.run import Run as Run
    from memlab.runtime.run import run as run
    from memlab.runtime.training import History as History
    from memlab.runtime.training import train as train
    from memlab.step.step import Step as Step
    from memlab.studies.ways_out import ways as ways
    from memlab.techniques.accumulate import accumulate as accumulate
    from memlab.techniques.block_states import eight_bit_states as eight_bit_states
    from memlab.techniques.in_place import in_place as in_place
    from memlab.techniques.lowering import lowering as lowering
    from memlab.techniques.no_reuse import no_reuse as no_reuse
    from memlab.techniques.offload import offload as offload
    from memlab.techniques.precision import precision as precision
    from memlab.techniques.recompute import recompute as recompute
    from memlab.techniques.release import release as release
    from memlab.techniques.relu_masks import relu_masks as relu_masks
    from memlab.views.own_model import explain as explain

__version__ = "0.1.0"

_HOMES = {
    "units": "memlab.units",
    "formats": "memlab.formats",
    "claims": "memlab.claims",
    "Fed": "memlab.runtime.feed",
    "History": "memlab.runtime.training",
    "InputError": "memlab.errors",
    "Ledger": "memlab.planner.ledger",
    "Network": "memlab.networks.graph",
    "Run": "memlab.runtime.run",
    "Step": "memlab.step.step",
    "accumulate": "memlab.techniques.accumulate",
    "clock": "memlab.planner.streams",
    "counting": "memlab.networks.counting",
    "data_path": "memlab.planner.path",
    "diff": "memlab.planner.diff",
    "eight_bit_states": "memlab.techniques.block_states",
    "explain": "memlab.views.own_model",
    "feed": "memlab.runtime.feed",
    "fit_model": "memlab.frontends.torch.fitting",
    "images": "memlab.lesson.images",
    "in_place": "memlab.techniques.in_place",
    "inference_step": "memlab.build.step",
    "kernels": "memlab.kernels",
    "lesson": "memlab.lesson",
    "load": "memlab.planner.files",
    "lowering": "memlab.techniques.lowering",
    "network": "memlab.networks.builder",
    "no_reuse": "memlab.techniques.no_reuse",
    "offload": "memlab.techniques.offload",
    "place": "memlab.planner.placement",
    "plan": "memlab.planner.book",
    "precision": "memlab.techniques.precision",
    "recompute": "memlab.techniques.recompute",
    "record": "memlab.frontends.torch",
    "release": "memlab.techniques.release",
    "relu_masks": "memlab.techniques.relu_masks",
    "rounding": "memlab.rounding",
    "run": "memlab.runtime.run",
    "save": "memlab.planner.files",
    "train": "memlab.runtime.training",
    "training_step": "memlab.build.step",
    "views": "memlab.views",
    "ways": "memlab.studies.ways_out",
    "zoo": "memlab.networks.zoo",
}
"""Every public name and the module that it is loaded from when it is first used."""

_SHOWN = {
    "Exercise": "memlab.lesson.exercise",
    "Ledger": "memlab.planner.ledger",
    "Network": "memlab.networks.graph",
    "Run": "memlab.runtime.run",
}
"""What a notebook shows as a picture or a widget, and where it lives."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"memlab has no {name!r}; it has {', '.join(__all__)}.")
    home = import_module(_HOMES[name])
    value = getattr(home, name, home)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _bundle(value: Any) -> Any:
    """What a notebook shows of a value; what draws is loaded with the first one."""
    return import_module("memlab.views.formatters").bundle(value)


def _display(card: Any) -> None:
    """Show a card in a notebook, and what follows its answer."""
    import_module("memlab.views.formatters").show_card(card)


def _show_in_notebooks() -> None:
    """Tell IPython how values are shown, where it runs and can show more than text."""
    if "IPython" not in sys.modules:
        return
    shell = import_module("IPython.core.getipython").get_ipython()
    formatter = shell.display_formatter if shell else None
    if formatter is not None and "image/svg+xml" in formatter.active_types:
        for name, home in _SHOWN.items():
            formatter.mimebundle_formatter.for_type_by_name(home, name, _bundle)
        display = formatter.ipython_display_formatter
        display.for_type_by_name("memlab.lesson.card", "Card", _display)


_show_in_notebooks()

"""memlab: where the memory goes while a neural network trains, planned and measured.

>>> step = memlab.training_step(memlab.zoo.resnet50())
>>> memlab.plan(step).peak(batch=32)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memlab import claims as claims
    from memlab import formats as formats
    from memlab import units as units
    from memlab import views as views
    from memlab.errors import InputError as InputError
    from memlab.networks import counting as counting
    from memlab.networks import zoo as zoo
    from memlab.networks.builder import network as network
    from memlab.networks.graph import Network as Network
    from memlab.planner.book import plan as plan
    from memlab.planner.diff import diff as diff
    from memlab.planner.files import load as load
    from memlab.planner.files import save as save
    from memlab.planner.ledger import Ledger as Ledger
    from memlab.runtime.run import Run as Run
    from memlab.runtime.run import run as run
    from memlab.step.build import inference_step as inference_step
    from memlab.step.build import training_step as training_step
    from memlab.step.step import Step as Step

__version__ = "0.1.0"

_HOMES = {
    "units": "memlab.units",
    "formats": "memlab.formats",
    "claims": "memlab.claims",
    "InputError": "memlab.errors",
    "Ledger": "memlab.planner.ledger",
    "Network": "memlab.networks.graph",
    "Run": "memlab.runtime.run",
    "Step": "memlab.step.step",
    "counting": "memlab.networks.counting",
    "diff": "memlab.planner.diff",
    "inference_step": "memlab.step.build",
    "load": "memlab.planner.files",
    "network": "memlab.networks.builder",
    "plan": "memlab.planner.book",
    "run": "memlab.runtime.run",
    "save": "memlab.planner.files",
    "training_step": "memlab.step.build",
    "views": "memlab.views",
    "zoo": "memlab.networks.zoo",
}
"""Every public name and the module that it is loaded from when it is first used."""

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

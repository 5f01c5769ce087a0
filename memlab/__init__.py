"""memlab: where the memory goes while a neural network trains, planned and measured.

>>> step = memlab.training_step(memlab.zoo.resnet50())
>>> memlab.plan(step).peak(batch=32)
2942651620
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  # below, an older one fails without a reason
    raise (SystemExit if sys.argv[:1] == ["-m"] else ImportError)(
        "memlab needs Python 3.11 or newer, and {} is {}; install a newer one, then try `make lab "
        "PYTHON=python3.12`, or `python3.12 -m pip install` with memlab.".format(
            sys.executable, ".".join(map(str, sys.version_info[:3]))
        )
    )

import lazy_loader

from memlab.moved import NAMES, Finder, old_names
from memlab.notebook_hooks import show_values

__version__ = "0.1.0"
_load, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""``__init__.pyi`` lists the public names, for who reads and for who checks types."""


def __getattr__(name):  # typed in the stub
    if name in NAMES:
        return old_names(__name__)(name)
    if name not in __all__:
        raise AttributeError(f"memlab has no {name!r}; it has {', '.join(__all__)}.")
    return _load(name)


def __dir__():
    return [*__all__, "__version__"]


sys.meta_path.append(Finder)
show_values()

"""Modules that run again in backward, and the lines that make them do so.

What is printed to be pasted is the text of the functions that are called here. Import this module
only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from memlab.errors import InputError, shorten


# fmt: off
@contextmanager
def copied_statistics(module):
    """Let batch norm move copies of its statistics inside the context."""
    norms = [norm for norm in module.modules() if isinstance(norm, _BatchNorm) and norm.training]
    kept = [dict(norm._buffers) for norm in norms]
    for norm in norms:
        norm._buffers.update((k, v if v is None else v.clone()) for k, v in norm._buffers.items())
    try:
        yield
    finally:
        for norm, buffers in zip(norms, kept):
            norm._buffers.update(buffers)


def run_again(module):
    """Let a module keep its inputs alone and run again in backward."""
    kind = type(module)

    def forward(self, *args, **kwargs):
        def contexts():
            return nullcontext(), copied_statistics(self)

        run = partial(kind.forward, self, **kwargs)
        return checkpoint(run, *args, use_reentrant=False, context_fn=contexts)

    module.__class__ = type(kind.__name__, (kind,), {"forward": forward})
# fmt: on


_IMPORTS = """\
from contextlib import contextmanager, nullcontext
from functools import partial

from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint
"""


def wrap(model: Any, names: Sequence[str]) -> Any:
    """Let the modules of these names run again in backward; return the model, which is changed in
    place.

    Raises:
        InputError: as ``checked``.
    """
    for module in checked(model, names):
        run_again(module)
    return model


def checked(model: Any, names: Sequence[str]) -> list[Any]:
    """Return the modules of these names, all of which can get another class.

    Raises:
        InputError: a name that the model has not, a module whose ``forward`` is an attribute of it
            alone, which would go before that of its class, or a lazy one, which gets its class with
            its first input.
    """
    modules = dict(model.named_modules())
    for name in names:
        if name not in modules:
            raise InputError(
                f"this model has no module {shorten(name)}, which the recipe is for; apply it "
                "to a model of the same build()."
            )
        if "forward" in vars(modules[name]):
            raise InputError(
                f"the forward of {name or 'this model'} was replaced for this module alone; apply "
                "the recipe before that."
            )
        if getattr(modules[name], "cls_to_become", None) is not None:
            raise InputError(
                f"{name or 'this model'} is lazy, and becomes another module with its first input; "
                "run the model once, then apply the recipe."
            )
    return [modules[name] for name in names]


def lines(variable: str, names: Sequence[str], module: str = "wrapping") -> tuple[str, ...]:
    """Return the lines of code that wrap modules of the model of a variable, by the function
    ``wrap`` of a module of this package."""
    listed = ", ".join(map(json.dumps, names))
    return (
        f"from memlab.frontends.torch.fitting.{module} import wrap",
        f"{variable} = wrap({variable}, [{listed}])",
    )


def code(names: Sequence[str]) -> str:
    """Return the lines of code that wrap these modules, to be pasted after the line that makes
    ``model``."""
    return pasted(_IMPORTS, (copied_statistics, run_again), names)


def pasted(imports: str, parts: Sequence[Any], names: Sequence[str]) -> str:
    """Return the source of functions, the last of which wraps a module, and their use on these
    modules."""
    lines = "\n\n".join(inspect.getsource(inspect.unwrap(part)) for part in parts)
    listed = "".join(f"    {name!r},\n" for name in names)
    loop = f"for name in names:\n    {parts[-1].__name__}(model.get_submodule(name))\n"
    return f"{imports}\n\n{lines}\n\nnames = [\n{listed}]\n{loop}"

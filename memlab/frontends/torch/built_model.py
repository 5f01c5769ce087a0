"""Building a model without its memory.

A model is built first, and its tensors become fake ones then: of the same shape, stride, dtype and
storage. To build it among fake tensors would be shorter, but there PyTorch cannot change the dtype
or the layout of a module, ``copy.deepcopy`` gives views new storages, and no value can be read.

``on_meta`` builds on the meta device, which takes no memory and no time. A constructor that needs
values (``torch.linspace(0, 1, 12).tolist()``) cannot run there: the model is built for real,
converted, and its values are gone. Import this module only where PyTorch is installed: memlab does
not need it.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from memlab.errors import InputError, shorten
from memlab.frontends.torch.cuda.replaced_kernels import WITHOUT_WARNINGS
from memlab.frontends.torch.device_calls import is_cuda, means_here
from memlab.frontends.torch.torch_private_api import (
    CONSTRUCTORS,
    FAKE_TENSOR,
    LEAVES,
    MODE,
    UNSET,
    WRAPPER,
)

_constructors = CONSTRUCTORS()
_MOVES = {torch.Tensor.to, torch.Tensor.cpu, torch.Tensor.cuda}
_OWN = {"_parameters", "_buffers", "_modules"}
"""Attributes of a module that are converted by themselves."""


def built(build: Callable[[], Any]) -> Any:
    """Return the model of ``build``, set to training.

    Raises:
        InputError: it is no module.
    """
    model = build()
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"build() must give an nn.Module, got {shorten(model)}; try build=MyModel, "
            "or build=lambda: MyModel(...)."
        )
    return model.train()


def on_meta(build: Callable[[], Any], born: Born) -> Any | None:
    """Return the model of ``build`` on the meta device; ``None`` where it cannot be built there.

    Raises:
        InputError: it is no module.
    """
    try:
        with WITHOUT_WARNINGS.used(), torch.device("meta"), _StayOnMeta(), born:
            return built(build)
    except InputError:
        raise
    except Exception:  # it comes up again for real where it is the user's
        return None


class Born(MODE()):  # type: ignore[misc]  # PyTorch makes this class when it is asked for
    """Dispatch mode that notes the storages that are made while it is entered: others are the
    user's, who may go on with a model that ``build`` only returns."""

    def __init__(self) -> None:
        super().__init__()
        self._storages = WeakIdKeyDictionary()

    def __contains__(self, tensor: Any) -> bool:
        return tensor.is_meta or tensor.untyped_storage() in self._storages

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(map(WRAPPER(), types)):
            return NotImplemented
        output = func(*args, **(kwargs or {}))
        given = {storage._cdata for storage in _storages((args, kwargs))}
        for storage in _storages(output):
            if storage._cdata not in given:
                self._storages[storage] = True
        return output


def _storages(values: Any) -> list[Any]:
    """Return the storages of all tensors in a tree of values."""
    return [
        value.untyped_storage()
        for value in LEAVES()(values)
        if isinstance(value, torch.Tensor) and value.layout is torch.strided
    ]


class _StayOnMeta(TorchFunctionMode):
    """Mode in which a tensor on the meta device is not moved to a device, as PyTorch would refuse
    it; its dtype and its layout are changed. Where the processor answers calls of CUDA, tensors
    that are created on CUDA are on the meta device, too."""

    def __init__(self) -> None:
        super().__init__()
        self.cuda = means_here()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _MOVES and args[0].is_meta:
            return _changed(*args, **kwargs)
        if self.cuda and is_cuda(kwargs.get("device")) and func in _constructors():
            kwargs = {**kwargs, "device": "meta"}
        return func(*args, **kwargs)


def _changed(
    tensor: Any, *given: Any, dtype: Any = None, memory_format: Any = None, **others: Any
) -> Any:
    """Return a tensor with the dtype and the layout that a move to a device would give it."""
    dtypes = (value for value in given if isinstance(value, torch.dtype))
    like = (value.dtype for value in given if isinstance(value, torch.Tensor))
    dtype = dtype or next(dtypes, None) or next(like, tensor.dtype)
    return tensor.to(dtype, memory_format=memory_format or torch.preserve_format)


class Conversion:
    """Conversion of tensors into fake ones of a mode. Tensors that share a storage do so
    afterwards, and a tensor that is converted twice gives the same one.

    Tensors on the meta device come to the device on which PyTorch creates tensors now. ``numbers``
    says whether one of them was a single number, which would have a value elsewhere.
    """

    def __init__(self, fake: Any) -> None:
        self.fake, self.home = fake, torch.get_default_device()
        self._tensors, self._storages = WeakIdKeyDictionary(), WeakIdKeyDictionary()
        self._lent: list[tuple[dict[str, Any], str, Any]] = []
        self.numbers = False

    def __contains__(self, tensor: Any) -> bool:
        return tensor in self._tensors

    def model(self, model: Any, born: Born) -> Any:
        """Convert the parameters, the buffers and the attributes of all modules, in place; return
        the model. Those that were not ``born`` with it are converted inside ``lent`` alone."""
        for module in model.modules():
            for values in (module._parameters, module._buffers, vars(module)):
                for name in values.keys() - _OWN:
                    new = self.value(old := values[name])
                    if new is old:
                        continue
                    if _all_born(old, born):
                        values[name] = new
                    else:
                        self._lent.append((values, name, new))
        return model

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Convert the user's own tensors in a model inside the context."""
        own = [(values, name, values[name]) for values, name, _ in self._lent]
        try:
            for values, name, new in self._lent:
                values[name] = new
            yield
        finally:
            for values, name, old in own:
                values[name] = old

    def value(self, value: Any, around: tuple[int, ...] = ()) -> Any:
        """Return a tensor as a fake one, and a list, tuple or dictionary that contains tensors as a
        new one; any other value unchanged, also a list that lies in itself."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        kind = type(value)
        if kind not in (dict, list, tuple) or id(value) in around:
            return value
        old = list(value.values() if kind is dict else value)
        new = [self.value(item, (*around, id(value))) for item in old]
        if all(map(operator.is_, new, old)):
            return value
        return dict(zip(value, new, strict=True)) if kind is dict else kind(new)

    def tensor(self, tensor: Any) -> Any:
        """Return a tensor as a fake one, the same one every time."""
        if type(tensor) is FAKE_TENSOR():
            return tensor
        if (new := self._tensors.get(tensor)) is None:
            with self.fake:
                new = self._tensors[tensor] = self._new(tensor)
        return new

    def _new(self, tensor: Any) -> Any:
        """Return a new fake tensor with everything that a user may have given to the first."""
        new = self._like(tensor)
        if isinstance(tensor, torch.nn.Parameter):
            new = torch.nn.Parameter(new, tensor.requires_grad)
        elif tensor.is_leaf:
            new.requires_grad_(tensor.requires_grad)
        if tensor.is_leaf and tensor.grad is not None:
            new.grad = self.tensor(tensor.grad)
        for hook in (tensor._backward_hooks or {}).values():
            new.register_hook(hook)
        for hook in (tensor._post_accumulate_grad_hooks or {}).values():
            new.register_post_accumulate_grad_hook(hook)
        for name, attribute in vars(tensor).items():
            setattr(new, name, attribute)
        return new

    def _like(self, tensor: Any) -> Any:
        """Return a fake tensor of the same shape, stride, dtype and storage."""
        if WRAPPER()(type(tensor)):
            names, context = tensor.__tensor_flatten__()
            inner = {name: self.value(getattr(tensor, name)) for name in names}
            kind, shape, stride = type(tensor), tensor.shape, tensor.stride()
            return kind.__tensor_unflatten__(inner, context, shape, stride)
        if tensor.layout is not torch.strided or torch.nn.parameter.is_lazy(tensor):
            return self.fake.from_tensor(tensor)
        if not tensor.dim() and not tensor.requires_grad:
            if not tensor.is_meta:
                with UNSET()():
                    number = tensor.item()
                return torch.tensor(number, dtype=tensor.dtype, device=tensor.device)
            self.numbers = True
        whole = self._whole(tensor)
        whole = whole if whole.dtype == tensor.dtype else whole.view(tensor.dtype)
        with torch.no_grad():
            shape, stride = tuple(tensor.shape), tensor.stride()
            return whole.as_strided(shape, stride, tensor.storage_offset()).detach()

    def _whole(self, tensor: Any) -> Any:
        """Return all of the storage of a tensor as a fake one."""
        storage = tensor.untyped_storage()
        if (whole := self._storages.get(storage)) is None:
            count = storage.nbytes() // tensor.element_size()
            device = self.home if tensor.is_meta else tensor.device
            whole = torch.empty(count, dtype=tensor.dtype, device=device)
            self._storages[storage] = whole
        return whole


def _all_born(value: Any, born: Born) -> bool:
    """Return whether all tensors in a value are born."""
    return all(each in born for each in LEAVES()(value) if isinstance(each, torch.Tensor))

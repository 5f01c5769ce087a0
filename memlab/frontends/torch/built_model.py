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
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from memlab.errors import InputError, shorten
from memlab.frontends.torch.torch_private_api import FAKE_TENSOR, WRAPPER

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


def on_meta(build: Callable[[], Any]) -> Any | None:
    """Return the model of ``build`` on the meta device; ``None`` where it cannot be built there.

    Raises:
        InputError: it is no module.
    """
    try:
        with _meta():
            return built(build)
    except InputError:
        raise
    except Exception:  # it comes up again for real where it is the user's
        return None


@contextlib.contextmanager
def _meta() -> Iterator[None]:
    """Create tensors on the meta device inside the context; loading values into them is no fault
    there."""
    with warnings.catch_warnings(), torch.device("meta"), _StayOnMeta():
        warnings.filterwarnings("ignore", message=".*meta parameter.*no-op")
        yield


class _StayOnMeta(TorchFunctionMode):
    """Mode in which a tensor on the meta device is not moved to a device, as PyTorch would refuse
    it; its dtype and its layout are changed."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _MOVES and args[0].is_meta:
            if func is not torch.Tensor.to:
                return args[0]
            kwargs = {name: value for name, value in kwargs.items() if name != "device"}
            args = tuple(value for value in args if not isinstance(value, str | torch.device))
            if len(args) == 1 and not kwargs:
                return args[0]
        return func(*args, **kwargs)


class Conversion:
    """Conversion of tensors into fake ones of a mode. Tensors that share a storage do so
    afterwards, and a tensor that is converted twice gives the same one.

    Tensors on the meta device come to the device on which PyTorch creates tensors now.
    """

    def __init__(self, fake: Any) -> None:
        self.fake, self.home = fake, torch.get_default_device()
        self._tensors, self._storages = WeakIdKeyDictionary(), WeakIdKeyDictionary()

    def model(self, model: Any) -> Any:
        """Convert the parameters, the buffers and the attributes of all modules, in place; return
        the model."""
        for module in model.modules():
            for tensors in (module._parameters, module._buffers):
                for name, tensor in tensors.items():
                    tensors[name] = self.value(tensor)
            attributes = vars(module)
            for name in attributes.keys() - _OWN:
                attributes[name] = self.value(attributes[name])
        return model

    def value(self, value: Any) -> Any:
        """Return a tensor as a fake one, and a list, tuple or dictionary that contains tensors as a
        new one; any other value unchanged."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        kind = type(value)
        if kind is dict:
            new = {key: self.value(item) for key, item in value.items()}
            return new if any(new[key] is not value[key] for key in new) else value
        if kind is list or kind is tuple:
            items = [self.value(item) for item in value]
            changed = any(new is not old for new, old in zip(items, value, strict=True))
            return kind(items) if changed else value
        return value

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
        if not tensor.dim() and not tensor.is_meta and not tensor.requires_grad:
            return torch.tensor(tensor.item(), dtype=tensor.dtype, device=tensor.device)
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

"""Objects of a user's training loop: their names, their values before it ran, and those that hold
memory from one step to the next.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
import gc
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch

_CONTAINERS = (list, dict, set, deque)
_STATEFUL = (torch.nn.Module, torch.optim.Optimizer, torch.amp.GradScaler,
             torch.optim.lr_scheduler.LRScheduler)  # fmt: skip
_NOT_OBJECTS = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, str, bytes,
                int, float, bool, type(None))  # fmt: skip
DEEP = 3
"""Largest number of objects between a variable and a tensor that it holds."""


def live(*kinds: type) -> list[Any]:
    """Return all objects of some classes that are there now."""
    return [each for each in gc.get_objects() if issubclass(type(each), kinds)]


# -- variables of a function ----------------------------------------------------------------------


def variables(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the variables outside of a function that it uses, by their names: those of functions
    that it calls, too, where they are the user's."""
    found: dict[str, Any] = {}
    _add_variables(function, found, set())
    return found


def _add_variables(function: Any, found: dict[str, Any], visited: set[int]) -> None:
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        found.setdefault("self", owner)
    function = getattr(function, "__func__", function)
    for part in (getattr(function, "func", None), getattr(function, "__wrapped__", None)):
        if callable(part):
            _add_variables(part, found, visited)
    if not isinstance(function, types.FunctionType) or id(function) in visited:
        return
    visited.add(id(function))
    for name, value in _outside(function).items():
        found.setdefault(name, value)
        if isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            _add_variables(value, found, visited)


def _outside(function: types.FunctionType) -> dict[str, Any]:
    """Return the closure and the globals that a function uses."""
    names = set(_code_names(function.__code__))
    used = {name: value for name, value in function.__globals__.items() if name in names}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        with contextlib.suppress(ValueError):  # the cell is empty
            used[name] = cell.cell_contents
    return used


def _code_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_names(constant)


def object_names(objects: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of modules and tensors by their ids: of variables, or of attributes and
    items of variables."""
    names: dict[int, str] = {}
    kinds = (torch.nn.Module, torch.Tensor)
    for name, value in objects.items():
        if isinstance(value, kinds):
            names.setdefault(id(value), name)
    for name, value in objects.items():
        for key, item in _inside(value).items():
            if isinstance(item, kinds):
                path = key if name == "self" else f"{name}.{key}"
                names.setdefault(id(item), path)
    return names


def _inside(value: Any) -> dict[str, Any]:
    """Return the attributes of an object of the user, or the items of a container."""
    if isinstance(value, dict):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, list | tuple | deque):
        return {str(at): item for at, item in enumerate(value)}
    if isinstance(value, (*_NOT_OBJECTS, torch.Tensor, *_STATEFUL)):
        return {}
    return dict(getattr(value, "__dict__", {}))


# -- values from before ---------------------------------------------------------------------------


@contextlib.contextmanager
def restored(function: Callable[..., Any], values: bool) -> Iterator[None]:
    """Give the user's objects their state from before back when the context ends: models,
    optimizers, gradients, scalers, schedulers, and the variables of a function with the containers
    in them. ``values`` says whether tensors change, which are copied then."""
    undo: list[Callable[[], None]] = []
    for each in live(*_STATEFUL):
        undo += _undo_object(each, values)
    for target, names in _scopes(function):
        undo.append(_undo_names(target, names))
    for value in variables(function).values():
        undo += _undo_variable(value)
    try:
        yield
    finally:
        for step in undo:
            step()


def _undo_object(each: Any, values: bool) -> Iterator[Callable[[], None]]:
    """Yield what restores a model, an optimizer, a scaler or a scheduler."""
    tensors: Iterable[Any] = ()
    if isinstance(each, torch.optim.Optimizer):
        state = {key: dict(kept) if isinstance(kept, dict) else kept
                 for key, kept in each.state.items()}  # fmt: skip
        groups = [dict(group) for group in each.param_groups]
        parameters = [parameter for group in groups for parameter in group["params"]]
        yield from map(_undo_gradient, parameters)
        tensors = [value for kept in state.values() if isinstance(kept, dict)
                   for value in kept.values()] + parameters  # fmt: skip

        def restore(optimizer: Any = each) -> None:
            optimizer.state.clear()
            optimizer.state.update(state)
            for group, before in zip(optimizer.param_groups, groups, strict=False):
                group.clear()
                group.update(before)

        yield restore
    elif isinstance(each, torch.nn.Module):
        for own in (each._parameters, each._buffers, each._modules):
            yield _undo_container(own)
        own_parameters = [own for own in each._parameters.values() if own is not None]
        yield from map(_undo_gradient, own_parameters)
        tensors = [*each._parameters.values(), *each._buffers.values()]
    yield _undo_container(vars(each))
    if values:
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor):
                yield _undo_value(tensor)


def _undo_gradient(parameter: Any) -> Callable[[], None]:
    gradient = parameter.grad

    def restore() -> None:
        parameter.grad = gradient

    return restore


def _undo_value(tensor: Any) -> Callable[[], None]:
    copy = tensor.detach().clone()

    def restore() -> None:
        with torch.no_grad():
            tensor.copy_(copy)

    return restore


def _undo_container(container: Any) -> Callable[[], None]:
    """Return what gives a list, a dictionary, a set or a deque its items back."""
    before = container.copy()

    def restore() -> None:
        container.clear()
        (container.update if isinstance(container, dict | set) else container.extend)(before)

    return restore


def _scopes(function: Callable[..., Any]) -> Iterator[tuple[Any, list[str]]]:
    """Yield the globals of a function with the names that it uses, and each cell of its closure."""
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType):
        yield function.__globals__, list(_code_names(function.__code__))
        for cell in function.__closure__ or ():
            yield cell, []


def _undo_names(target: Any, names: list[str]) -> Callable[[], None]:
    """Return what binds the names of a scope to their values again."""
    if isinstance(target, types.CellType):
        try:
            value = target.cell_contents
        except ValueError:
            return lambda: None

        def restore_cell() -> None:
            target.cell_contents = value

        return restore_cell
    before = {name: target[name] for name in names if name in target}
    return lambda: target.update(before)


def _undo_variable(value: Any, depth: int = 1) -> Iterator[Callable[[], None]]:
    """Yield what restores a container of the user, or the attributes of an object."""
    if type(value) in _CONTAINERS:
        yield _undo_container(value)
    elif isinstance(value, (*_NOT_OBJECTS, torch.Tensor, *_STATEFUL)):
        return
    elif isinstance(getattr(value, "__dict__", None), dict):
        yield _undo_container(vars(value))
    if depth:
        for item in _inside(value).values():
            yield from _undo_variable(item, depth - 1)


# -- holders of memory ----------------------------------------------------------------------------


def holders(tensors: Iterable[Any], objects: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors that variables hold, by the names of the variables; of a container the
    last tensor."""
    wanted = {id(tensor): tensor for tensor in tensors}
    places: dict[str, Any] = {}
    for name, value in objects.items():
        is_object = not isinstance(value, (*_CONTAINERS, tuple))
        inside = _inside(value) if is_object else {}
        places |= {f"{name}.{key}": item for key, item in inside.items()} or {name: value}
    holding: dict[str, Any] = {}
    for name, value in places.items():
        held = [wanted[id(item)] for item in _reached(value, DEEP, set()) if id(item) in wanted]
        if held:
            holding[name] = held[-1]
    return holding


def _reached(value: Any, depth: int, visited: set[int]) -> Iterator[Any]:
    """Yield a value, and what lies in it."""
    if id(value) in visited:
        return
    visited.add(id(value))
    yield value
    if depth:
        for item in _inside(value).values():
            yield from _reached(item, depth - 1, visited)

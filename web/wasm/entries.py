"""Functions that a page calls: each takes its arguments from words of 64 bits, and calls one
kernel.

``memlab.kernels.cpu.compiled_table`` writes the words and reads the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.np import arrayobj

from web.wasm.target import context

types: Any = numba.types

WORD, DOUBLE = ir.IntType(64), ir.DoubleType()


class _Words:
    """Words behind an address, which are read or written in turn."""

    def __init__(self, builder: Any, address: Any) -> None:
        self.builder, self.address, self.count = builder, address, 0

    def place(self, kind: Any) -> Any:
        """Write the pointer to the next word, which holds a value of this type."""
        index = ir.Constant(ir.IntType(32), self.count)
        self.count += 1
        pointer = self.builder.gep(self.address, [index])
        return self.builder.bitcast(pointer, kind.as_pointer())

    def read(self, kind: Any = WORD) -> Any:
        """Write the load of the next word."""
        return self.builder.load(self.place(kind))

    def write(self, value: Any) -> None:
        """Write the store of a value into the next word."""
        self.builder.store(value, self.place(value.type))


def entry(name: str, compiled: Any) -> Any:
    """Module of a function that calls a kernel for one signature.

    The function returns 0, or another number where the kernel raised an exception.

    Args:
        name: name of the function.
        compiled: what Numba's compiler returned for the signature.
    """
    target, described = context(), compiled.fndesc
    module = target.create_module(name)
    kind = target.call_conv.get_function_type(described.restype, described.argtypes)
    kernel = ir.Function(module, kind, described.llvm_func_name)
    own = ir.Function(module, ir.FunctionType(ir.IntType(32), [WORD.as_pointer()]), name)
    builder = ir.IRBuilder(own.append_basic_block("entry"))
    with target.push_code_library(compiled.library):
        _call(_Words(builder, own.args[0]), kernel, described)
    return module


def _call(words: _Words, kernel: Any, described: Any) -> None:
    """Write the call of a kernel with what the words hold, and the store of its results."""
    builder, target = words.builder, context()
    arguments = [_argument(words, argument) for argument in described.argtypes]
    status, result = target.call_conv.call_function(
        builder, kernel, described.restype, described.argtypes, arguments
    )
    words.count = 0
    with builder.if_then(status.is_ok):
        for value in _results(builder, described.restype, result):
            words.write(value)
    builder.ret(builder.select(status.is_ok, ir.Constant(ir.IntType(32), 0), status.code))


def _argument(words: _Words, kind: Any) -> Any:
    """Write an argument of Numba's type, read from words."""
    builder, target = words.builder, context()
    if isinstance(kind, types.Array):
        return _array(words, kind)
    if isinstance(kind, types.BaseTuple):
        parts = [_argument(words, part) for part in kind]
        return target.make_tuple(builder, kind, parts)
    if isinstance(kind, types.NoneType | types.Omitted):
        return target.get_dummy_value()
    if isinstance(kind, types.Float):
        return target.cast(builder, words.read(DOUBLE), types.float64, kind)
    if isinstance(kind, types.Boolean):
        return target.cast(builder, words.read(), types.int64, kind)
    word = types.int64 if kind.signed else types.uint64
    return target.cast(builder, words.read(), word, kind)


def _array(words: _Words, kind: Any) -> Any:
    """Write an array: where it begins, its extents and its strides."""
    builder, target = words.builder, context()
    value = target.get_data_type(kind.dtype)
    data = builder.inttoptr(words.read(), value.as_pointer())
    shape, strides = ([words.read() for _ in range(kind.ndim)] for _ in range(2))
    array = arrayobj.make_array(kind)(target, builder)
    size = target.get_constant(types.intp, target.get_abi_sizeof(value))
    arrayobj.populate_array(
        array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None
    )
    return array._getvalue()


def _results(builder: Any, kind: Any, value: Any) -> Iterator[Any]:
    """Yield the words of a result."""
    target = context()
    if isinstance(kind, types.BaseTuple):
        for part, item in zip(kind, cgutils.unpack_tuple(builder, value), strict=True):
            yield from _results(builder, part, item)
    elif isinstance(kind, types.Float):
        yield target.cast(builder, value, kind, types.float64)
    elif not isinstance(kind, types.NoneType):
        yield target.cast(builder, value, kind, types.int64)

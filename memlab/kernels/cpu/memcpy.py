"""The C library's memcpy and memset, for use in compiled code.

They are faster than a loop on blocks of every length. They never check whether two arrays overlap:
the caller makes sure that they do not.
"""

from __future__ import annotations

from typing import Any

from memlab.kernels.cpu.llvm_modules import intrinsic, ir, types
from memlab.kernels.numba_private_api import data_pointer


def _bytes() -> Any:
    """LLVM's type of a pointer to bytes."""
    return ir.IntType(8).as_pointer()


def _pointer_and_size(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, Any]:
    """Pointer to the first value of an array, and the bytes of one value, in the code that is being
    compiled."""
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    return data_pointer(context, builder, kind, value), context.get_constant(types.intp, size)


def _call_llvm(builder: Any, name: str, to: Any, source: Any, nbytes: Any) -> None:
    """Write a call of LLVM's memcpy (from a pointer) or memset (of a byte) for ``nbytes`` bytes."""
    pointers = [operand.type for operand in (to, source) if operand.type == _bytes()]
    function = builder.module.declare_intrinsic(name, [*pointers, nbytes.type])
    builder.call(function, [to, source, nbytes, ir.Constant(ir.IntType(1), 0)])


def _copy_code(typing: Any, source: Any, start: Any, target: Any, at: Any, count: Any) -> Any:
    """Return the signature of ``copy`` and the function that writes its code, a memcpy."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        reads, size = _pointer_and_size(context, builder, source, values[0])
        writes, _ = _pointer_and_size(context, builder, target, values[2])
        reads, writes = builder.gep(reads, [values[1]]), builder.gep(writes, [values[3]])
        reads, writes = (builder.bitcast(pointer, _bytes()) for pointer in (reads, writes))
        _call_llvm(builder, "llvm.memcpy", writes, reads, builder.mul(values[4], size))
        return context.get_dummy_value()

    return types.void(source, types.intp, target, types.intp, types.intp), code


def _clear_code(typing: Any, target: Any, at: Any, count: Any) -> Any:
    """Return the signature of ``clear`` and the function that writes its code, a memset of 0."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        writes, size = _pointer_and_size(context, builder, target, values[0])
        writes = builder.bitcast(builder.gep(writes, [values[1]]), _bytes())
        nothing = ir.Constant(ir.IntType(8), 0)
        _call_llvm(builder, "llvm.memset", writes, nothing, builder.mul(values[2], size))
        return context.get_dummy_value()

    return types.void(target, types.intp, types.intp), code


copy: Any = intrinsic(_copy_code)
"""``copy(source, start, target, at, count)`` copies ``count`` values between contiguous arrays of
one format. ``start`` and ``at`` count from the first value of each, whatever its shape."""
clear: Any = intrinsic(_clear_code)
"""``clear(target, at, count)`` writes ``count`` zeros into a contiguous array, from value ``at``
on."""

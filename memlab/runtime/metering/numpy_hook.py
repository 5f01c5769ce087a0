"""NumPy's data-allocation hook (NEP 49): it sees every allocation and release of array data.

NumPy keeps the current allocator in a context variable; ``numpy_private_api`` sets it. The hook
below passes every call on to the C library and reports it.

Arrays are also freed while an exception is on its way to its handler, and Python code that runs at
that moment loses the exception, or crashes. So the function that frees is machine code: it only
notes the address. It is compiled here, or for a web page together with the kernels.
"""

from __future__ import annotations

import ctypes as c
import sys
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

from memlab.errors import InputError
from memlab.free_memory import compiler
from memlab.kernels.cpu import compiled_table
from memlab.runtime.metering.numpy_private_api import (
    CALLOC,
    MALLOC,
    POINTER,
    REALLOC,
    Handler,
    capsule,
    handler_setter,
)

Report = Callable[[int, int, int], None]
"""Function that is called with the address that is freed, the new address, and its bytes; 0 for
none."""

FREED = "memlab_freed"
"""Name of the function that frees, in machine code."""
NOTED = 2**16
"""Number of addresses that there is room for at first."""


class HookError(InputError):
    """Error about a process in which NumPy's allocations cannot be measured."""


class _Freed(c.Structure):
    """Addresses that were freed while they were ``wanted``.

    There are ``count`` of them, and the first ``taken`` are reported already. Only machine code
    adds to them; it starts again at 0 once all are taken. ``room`` is the number of addresses that
    fit.
    """

    _fields_ = [
        ("wanted", c.c_size_t),
        ("taken", c.c_size_t),
        ("count", c.c_size_t),
        ("room", c.c_size_t),
        ("addresses", c.POINTER(c.c_size_t)),
    ]


class Hook:
    """Allocation hook of this process. Arrays keep a reference to it, so it must never be
    destroyed."""

    def __init__(self) -> None:
        self.report: Report | None = None
        """Function that gets the reports. A new block is reported at once; a freed one before the
        next new block, or at ``settle``."""
        self.set_handler = handler_setter()
        libc = c_library()
        self._freed = _Freed()
        self._callbacks = self._allocation_callbacks(libc)
        self._code, free = _compiled_free(libc) if compiler() else _free_of_table()
        log = c.addressof(self._freed)
        self.handler = Handler(b"memlab", 1, log, *self._callbacks, free)
        self.name = c.create_string_buffer(b"mem_handler")
        self.capsule = capsule(self.handler, self.name)

    def _allocation_callbacks(self, libc: c.CDLL) -> tuple[Any, ...]:
        """C callbacks for malloc, calloc and realloc that report each call."""
        for name, arguments in (("malloc", 1), ("calloc", 2), ("realloc", 2)):
            function = getattr(libc, name)
            function.restype, function.argtypes = POINTER, [c.c_size_t] * arguments
        libc.realloc.argtypes = [POINTER, c.c_size_t]

        def allocate(function: Any, _: int, *arguments: Any) -> int | None:
            new: int | None = function(*arguments)
            old, sizes = (
                (arguments[0], arguments[1:]) if function is libc.realloc else (None, arguments)
            )
            self.settle()
            if self.report is not None and (new or not old):  # else the old block stays
                self.report(old or 0, new or 0, prod(sizes))
            return new

        return (
            MALLOC(partial(allocate, libc.malloc)),
            CALLOC(partial(allocate, libc.calloc)),
            REALLOC(partial(allocate, libc.realloc)),
        )

    def settle(self) -> None:
        """Report every release of memory that has been seen but not reported yet."""
        freed = self._freed
        while freed.taken < freed.count:
            address = freed.addresses[freed.taken]
            freed.taken += 1
            if self.report is not None:
                self.report(address, 0, 0)

    def install(self, report: Report) -> Any:
        """Make the hook NumPy's allocator in this context, and return the one before."""
        self.settle()
        self.report, self._freed.wanted = report, True
        return self.set_handler(self.capsule)

    def restore(self, before: Any) -> None:
        """Give NumPy its earlier allocator back."""
        self.settle()
        self.report, self._freed.wanted = None, False
        self.set_handler(before)


def c_library() -> c.CDLL:
    """C library of this process.

    Windows may have several loaded, and memory of one cannot be freed by another; there this is the
    one that Python and NumPy are built for.

    Raises:
        HookError: memlab knows none for this system.
    """
    try:
        return c.CDLL("ucrtbase.dll" if sys.platform == "win32" else None)
    except (OSError, TypeError):
        raise HookError(
            f"memlab knows no C library of this system, {sys.platform}: a step cannot be measured "
            "here; plan it instead."
        ) from None


def _free_of_table() -> tuple[Any, int]:
    """Library of the kernels that were compiled beforehand, which must be kept, and the address of
    NumPy's ``free`` in it.

    Raises:
        InputError: there is no such library.
    """
    library = compiled_table.table().library
    return library, _address(library, FREED)


def _address(library: c.CDLL, name: str) -> int:
    """Address of a function of a library."""
    return c.cast(getattr(library, name), POINTER).value or 0


def _compiled_free(libc: c.CDLL) -> tuple[Any, int]:
    """Compiler engine of NumPy's ``free`` in machine code, which must be kept, and the address of
    the function."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    addresses = {name: _address(libc, name) for name in ("free", "realloc")}
    module = llvm.parse_assembly(freeing_code(8 * c.sizeof(POINTER), addresses))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address(FREED)


def freeing_code(bits: int, addresses: Mapping[str, int] | None = None) -> str:
    """LLVM code of a function of (log, old, nbytes) that notes ``old`` in a ``_Freed`` and frees
    it.

    The address is not noted if there is no memory for that.

    Args:
        bits: bits of a pointer.
        addresses: addresses of the C library's ``free`` and ``realloc`` in this process; None for
            code that is linked with them.
    """
    from llvmlite import ir

    word, at, module = ir.IntType(bits), ir.IntType(bits).as_pointer(), ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [word] * 3), FREED)
    code, (log, old, _) = ir.IRBuilder(function.append_basic_block()), function.args

    def call(name: str, *arguments: Any) -> Any:
        result = ir.VoidType() if name == "free" else word
        kind = ir.FunctionType(result, [word] * len(arguments))
        if addresses is None:
            return code.call(ir.Function(module, kind, name), arguments)
        return code.call(code.inttoptr(word(addresses[name]), kind.as_pointer()), arguments)

    def place(number: int) -> Any:
        return code.inttoptr(code.add(log, word(bits // 8 * number)), at)

    wanted, taken, count, room, noted = map(place, range(5))
    with code.if_then(code.icmp_unsigned("!=", code.load(wanted), word(0))):
        with code.if_then(code.icmp_unsigned("==", code.load(taken), code.load(count))):
            code.store(word(0), taken)
            code.store(word(0), count)
        with code.if_then(code.icmp_unsigned("==", code.load(count), code.load(room))):
            more = code.add(code.mul(code.load(room), word(2)), word(NOTED))
            new = call("realloc", code.load(noted), code.mul(more, word(bits // 8)))
            with code.if_then(code.icmp_unsigned("!=", new, word(0))):  # else the old block stays
                code.store(new, noted)
                code.store(more, room)
        with code.if_then(code.icmp_unsigned("<", code.load(count), code.load(room))):
            end = code.add(code.load(noted), code.mul(code.load(count), word(bits // 8)))
            code.store(old, code.inttoptr(end, at))
            code.store(code.add(code.load(count), word(1)), count)
    call("free", old)
    code.ret_void()
    return str(module)

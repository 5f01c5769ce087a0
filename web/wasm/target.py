"""Numba's compiler, turned to WebAssembly: a process that calls ``install`` compiles nothing else.

Numba's types keep their 64-bit whole numbers there, so that a kernel counts as it counts on a
computer; LLVM makes addresses of 32 bits of them. No code is optimised before it is complete: see
``web.wasm.link``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from llvmlite import binding as llvm

codegen, config, cpu, externals, rewriting, registry = (
    import_module(f"numba.core.{name}")
    for name in ("codegen", "config", "cpu", "externals", "fastmathpass", "registry")
)

TRIPLE = "wasm32-unknown-emscripten"
FEATURES = ("simd128", "bulk-memory", "sign-ext", "nontrapping-fptoint", "mutable-globals")
"""Features that every browser since 2021 has, Safari since 2023."""


@cache
def machine() -> Any:
    """LLVM's description of the target."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    features = ",".join(f"+{name}" for name in FEATURES)
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu="mvp", features=features, opt=3, reloc="pic")


class Library(codegen.CPUCodeLibrary):  # type: ignore[name-defined, misc]  # Numba's
    """Code of one function as Numba writes it, with the libraries of the functions that it calls
    beside it."""

    def finalize(self) -> None:
        """Leave the code as it is."""
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _finalize_specific(self) -> None:
        """Load nothing into this process."""

    def libraries(self) -> dict[int, Library]:
        """Libraries of this function and of all that it calls, by number."""
        own = {id(self): self}
        for library in self._linking_libraries:
            if isinstance(library, Library) and id(library) not in own:
                own |= library.libraries()
        return own

    @property
    def module(self) -> Any:
        """Copy of the code of this function alone."""
        return self._final_module.clone()


class Codegen(codegen.CPUCodegen):  # type: ignore[name-defined, misc]
    """Writer of code for WebAssembly."""

    _library_class = Library

    def _init(self, llvm_module: Any) -> None:
        self._tm = machine()
        self._tm_features = ",".join(FEATURES)
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.triple = TRIPLE
        return module

    def _add_module(self, module: Any) -> None:
        """Load nothing into this process."""


class Context(cpu.CPUContext):  # type: ignore[name-defined, misc]
    """Context of the compiler. What it makes cannot be called in this process."""

    def init(self) -> None:
        """Take the writer of code for WebAssembly."""
        self.is32bit = False
        self._internal_codegen = Codegen("memlab.wasm")
        externals.c_math_functions.install(self)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Link no runtime: no kernel allocates."""
        if self.fastmath:
            rewriting.rewrite_module(mod, self.fastmath)

    def create_cpython_wrapper(self, *args: Any, **named: Any) -> None:
        """Write no function for Python: ``web.wasm.entries`` writes what a page calls."""

    def create_cfunc_wrapper(self, *args: Any, **named: Any) -> None:
        """Write no function for C."""

    def get_executable(self, *args: Any, **named: Any) -> Any:
        """Return a function of Python's that stands for the code, which cannot be called. Numba
        knows code by this function, so each has its own."""
        return [].append


@cache
def context() -> Context:
    """Context of the compiler in this process."""
    return Context(registry.cpu_target.typing_context, "cpu")


def install() -> None:
    """Let Numba compile for WebAssembly in this process, before it compiled anything."""
    settings: Any = config
    settings.CPU_FEATURES = ",".join(f"+{name}" for name in FEATURES)
    registry.CPUTarget._toplevel_target_context = property(lambda target: context())

"""Signs in a source that it could change how it is measured: it is read, never run.

A submission's own process measures the bytes of its arrays, and sees whether memlab, a thread or
another process works for it. Whoever can patch that process can have it say anything. So these
figures count only where the source has none of these signs; else a person looks. Most notebooks
have none: they import Python's and NumPy's arithmetic, define functions, and call them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

MOST = 5
"""Most signs of a cell that are listed."""
ALLOWED = {
    "__future__", "bisect", "cmath", "collections", "collections.abc", "datetime", "decimal",
    "fractions", "functools", "heapq", "itertools", "math", "matplotlib",
    "matplotlib.pyplot", "memlab", "memlab.units", "numbers", "numpy", "numpy.linalg",
    "numpy.random", "numpy.typing", "operator", "random", "re", "statistics", "string", "time",
}  # fmt: skip
"""Modules that compute and draw. Any other one may start a process, reach into this one, run a text
as code, or take memory that is no array of NumPy's; ``copy`` writes into whatever an object of the
learner's says that it is a copy of."""
NAMES = {
    "__import__", "breakpoint", "bytearray", "compile", "delattr", "eval", "exec", "get_ipython",
    "getattr", "globals", "locals", "memoryview", "open", "setattr", "vars",
}  # fmt: skip
"""Functions that change what a name means, or take memory that is no array."""
INSIDE = {
    "attrgetter", "bltns", "builtins", "cached_arrays", "classroom", "copyreg", "core", "ctypes",
    "ctypeslib", "data", "distutils", "eval", "exec", "f2py", "fromfile", "function_answers", "gc",
    "guarded_call", "importlib", "inspect", "io", "kernel_threads", "lib", "memmap",
    "methodcaller", "modules", "os", "pathlib", "pickle", "query", "returned_values", "runtime",
    "setprofile", "settrace", "shutil", "socket", "subprocess", "sys", "tempfile", "testing",
    "threading", "tofile", "types", "update_wrapper", "weakref", "wraps",
}  # fmt: skip
"""Attributes that lead inside of a library or of memlab, or that do what these functions do."""
BEGINNINGS = (
    "_", "ag_", "co_", "cr_", "dump", "f_", "gi_", "load", "open", "save", "tb_", "to_", "write",
)  # fmt: skip
"""Beginnings of attributes that are not for users, of those of frames and code, and of those that
read or write files: the pipe to whoever marks is a file, too."""
CALLED = NAMES - {"compile"}
"""Names of these functions as attributes of a module; a pattern is compiled, too."""
PLACES = "/proc", "/dev"
"""Folders of the running process."""
SPECIAL = {"__init__", "__name__", "__doc__", "__len__", "__main__"}
"""Names with two underscores at both ends that change nothing."""


def signs(code: str) -> list[str]:
    """Return what in a cell could change a measurement, at most ``MOST`` signs. Code that is no
    Python cannot run, so it has none."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return []
    except (MemoryError, RecursionError):
        return ["cannot be read as a whole"]
    said = (
        f"line {getattr(node, 'lineno', 0)} {sign}"
        for node in ast.walk(tree)
        for sign in _of_node(node)
    )
    return list(islice(dict.fromkeys(said), MOST))


def _of_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"imports {one.name}" for one in names if one.name not in ALLOWED)
        case ast.ImportFrom(module=module, level=level) if level or module not in ALLOWED:
            yield f"imports from {module}"
        case ast.ImportFrom(names=names):
            yield from (f"imports {one.name}" for one in names if _inside(one.name))
        case ast.Name(id=name) if name in NAMES or (name.startswith("__") and _inside(name)):
            yield f"uses {name}"
        case ast.Attribute(attr=name, ctx=ast.Load()) if _inside(name) or name in CALLED:
            yield f"uses .{name}"
        case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
            yield f"changes the attribute .{name}"
        case ast.MatchClass(kwd_attrs=names, patterns=patterns):
            yield from (f"matches the attribute .{name}" for name in names if _inside(name))
            yield from ("matches attributes by their place" for _ in patterns[:1])
        case ast.Constant(value=str(text)) if any(place in text for place in PLACES):
            yield f"names {text[:40]!r}"
        case ast.FunctionDef() | ast.AsyncFunctionDef() if _imports_memlab(node):
            yield "imports memlab inside of a function"


def _inside(name: str) -> bool:
    """True for a name that is not for users, or leads inside of a library."""
    return name not in SPECIAL and (name in INSIDE or name.startswith(BEGINNINGS))


def _imports_memlab(node: ast.AST) -> bool:
    """True if a function imports memlab, which is then not seen as one of its variables."""
    for inner in ast.walk(node):
        names = [one.name for one in inner.names] if isinstance(inner, ast.Import) else []
        names += [inner.module or ""] if isinstance(inner, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "memlab" for name in names):
            return True
    return False

"""Signs in a source that it could change how it is measured: it is read, never run.

A submission's own process measures the bytes of its arrays, and sees whether memlab, a thread or
another process works for it. Whoever can patch that process can have it say anything. So these
figures count only where the source has none of these signs; else a person looks. Most notebooks
have none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

MOST = 5
"""Most signs of a notebook that are listed."""
MODULES = {
    "_thread", "array", "ast", "asyncio", "atexit", "builtins", "cffi", "code", "codecs",
    "codeop", "concurrent", "ctypes", "dis", "faulthandler", "fcntl", "fileinput", "gc",
    "importlib", "inspect", "io", "llvmlite", "logging", "marshal", "mmap", "multiprocessing",
    "os", "pathlib", "pickle", "pkgutil", "posix", "pty", "resource", "runpy", "select",
    "shutil", "signal", "site", "socket", "subprocess", "sys", "sysconfig", "tempfile",
    "threading", "tracemalloc", "types", "unittest", "weakref",
}  # fmt: skip
"""Modules that reach into the running process, or start another one."""
CALLS = {
    "__import__", "breakpoint", "bytearray", "compile", "delattr", "eval", "exec",
    "get_ipython", "getattr", "globals", "locals", "memoryview", "open", "setattr", "vars",
}  # fmt: skip
"""Functions that change what a name means, or take memory that is no array."""
ATTRIBUTES = {
    "attrgetter", "builtins", "cached_arrays", "classroom", "core", "ctypes", "ctypeslib",
    "data", "eval", "exec", "fromfile", "function_answers", "gc", "guarded_call", "importlib",
    "kernel_threads", "lambdify", "memmap", "methodcaller", "modules", "os", "returned_values",
    "runtime", "setprofile", "settrace", "subprocess", "sys", "threading", "tofile",
}  # fmt: skip
"""Attributes that lead to raw memory, files or the inside of a library, or of memlab."""
WRITING = "dump", "load", "open", "save", "to_", "write"
"""Beginnings of attributes that write or read files: a pipe to whoever marks is one, too."""
PLACES = "/proc", "/dev"
"""Folders of the running process."""
SPECIAL = {"__init__", "__name__", "__doc__", "__len__", "__main__"}
"""Names with two underscores at both ends that change nothing."""
INSIDE = ("memlab.runtime", "memlab.lesson", "memlab.classroom", "memlab.moved")
"""Parts of memlab that an answer has no use for."""


def signs(code: str) -> list[str]:
    """Return what in a cell could change a measurement, at most ``MOST`` signs. Code that is no
    Python cannot run, so it has none."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return []
    except (MemoryError, RecursionError):
        return ["cannot be read as a whole"]
    nodes = ast.walk(tree)
    said = (f"line {node.lineno} {sign}" for node in nodes for sign in _of_node(node))  # type: ignore[attr-defined]  # each has one
    return list(islice(dict.fromkeys(said), MOST))


def _of_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"imports {one.name}" for one in names if _reaches_in(one.name))
        case ast.ImportFrom(module=module) if _reaches_in(module or "."):
            yield f"imports from {module}"
        case ast.ImportFrom(names=names):
            yield from (f"imports {one.name}" for one in names if one.name in MODULES | ATTRIBUTES)
        case ast.Name(id=name) if name in CALLS or _special(name):
            yield f"uses {name}"
        case ast.Attribute(attr=name, ctx=ast.Load()) if _reads_inside(node):
            yield f"uses .{name}"
        case ast.Constant(value=str(text)) if any(place in text for place in PLACES):
            yield f"names {text[:40]!r}"
        case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if not _of_self(node):
            yield f"changes the attribute .{name}"
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _in_function(node)


def _reaches_in(module: str) -> bool:
    return module.partition(".")[0] in MODULES or module.startswith((*INSIDE, "."))


def _special(name: str) -> bool:
    return name.startswith("__") and name not in SPECIAL


def _reads_inside(node: ast.Attribute) -> bool:
    """True for an attribute that leads inside, writes a file, or begins with an underscore, of
    anything but ``self``."""
    hidden = _special(node.attr) or (node.attr.startswith("_") and not _of_self(node))
    return hidden or node.attr in ATTRIBUTES or node.attr.startswith(WRITING)


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _in_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the imports of memlab inside of a function."""
    for inner in ast.walk(node):
        names = [one.name for one in inner.names] if isinstance(inner, ast.Import) else []
        names += [inner.module or ""] if isinstance(inner, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "memlab" for name in names):
            yield "imports memlab inside of a function"

"""The code as it is written: what a file imports and defines, and what a function is given."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

PIECE = re.compile(r"[\w.-]+")
ASSIGN = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr


@dataclass(eq=False)
class Function:
    """A function, and the module that it stands in."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef
    is_method: bool

    @property
    def places(self) -> list[str]:
        """Parameters that are given by their place, without ``self``."""
        of = self.node.args
        names = [one.arg for one in (*of.posonlyargs, *of.args)]
        return names[1:] if self.is_method and names[:1] in (["self"], ["cls"]) else names

    @cached_property
    def binding(self) -> dict[str, list[ast.AST]]:
        """The statements and loops inside that give a name a value."""
        found = defaultdict(list)
        for node in ast.walk(self.node):
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            for name in {name for target in targets for name in spread(target)}:
                found[name].append(node)
        return found

    @property
    def parameters(self) -> list[str]:
        return [*self.places, *(one.arg for one in self.node.args.kwonlyargs)]

    @property
    def defaults(self) -> dict[str, ast.expr | None]:
        of = self.node.args
        ends = zip(reversed(self.places), reversed(of.defaults), strict=False)
        words = zip((one.arg for one in of.kwonlyargs), of.kw_defaults, strict=True)
        return {**dict(ends), **dict(words)}

    def given(self, call: ast.Call, name: str) -> ast.expr | None:
        """What a call gives a parameter: by name, by place, or by default."""
        named = {word.arg: word.value for word in call.keywords}
        if name in named:
            return named[name]
        before = call.args[: self.places.index(name) + 1] if name in self.places else []
        if len(before) == len(self.places[: self.places.index(name) + 1] if before else [0]):
            return before[-1]
        return self.defaults.get(name)


@dataclass(eq=False)
class Module:
    """What a file defines and imports, by name."""

    name: str
    tree: ast.Module
    is_package: bool
    functions: dict[str, list[Function]] = field(default_factory=lambda: defaultdict(list))
    constants: dict[str, ast.expr] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    around: dict[ast.AST, Function] = field(default_factory=dict)
    """The function that a node stands in."""
    above: dict[ast.AST, ast.AST] = field(default_factory=dict)
    """What a node is a part of."""
    near: set[str] = field(default_factory=set)
    """The words of its folder, of the files that use it or that it uses, and of those of them."""

    def __post_init__(self) -> None:
        self._read(self.tree, None)

    def _read(self, node: ast.AST, inside: Function | None) -> None:
        for child in ast.iter_child_nodes(node):
            within = inside
            self.above[child] = node
            if inside is not None:
                self.around[child] = inside
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                within = Function(self, child, isinstance(node, ast.ClassDef))
                self.functions[child.name].append(within)
            elif isinstance(child, ast.Import | ast.ImportFrom):
                self._import(child)
            elif inside is None:
                self.constants.update((name, value) for name, value in named(child))
            self._read(child, within)

    def ancestors(self, node: ast.AST) -> set[ast.AST]:
        """All that a node is a part of."""
        found = set()
        while node in self.above:
            node = self.above[node]
            found.add(node)
        return found

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            self.imported.update((one.asname or one.name, (one.name, "")) for one in node.names)
            return
        parts = self.name.split(".")
        above = parts[: len(parts) - node.level + self.is_package] if node.level else []
        start = ".".join([*above, *filter(None, [node.module])])
        self.imported.update((one.asname or one.name, (start, one.name)) for one in node.names)


def named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement assigns a value to."""
    if isinstance(node, ASSIGN) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from ((one.id, node.value) for one in targets if isinstance(one, ast.Name))


def is_written(node: ast.expr | None) -> bool:
    """Whether an expression is strings, and choices between them."""
    if isinstance(node, ast.IfExp):
        return is_written(node.body) and is_written(node.orelse)
    return isinstance(node, ast.Constant)


def words(module: Module) -> set[str]:
    """Its strings that may be a part of a key."""
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.Constant)]
    texts = [str(node.value) for node in nodes if isinstance(node.value, str | int)]
    texts += [text.lower().replace(" ", "_") for text in texts]
    texts += [name for node in ast.walk(module.tree) for name in fields(node)]
    return {text for text in texts if PIECE.fullmatch(text)}


def fields(node: ast.AST) -> Iterator[str]:
    """The names in a named tuple, and those of the settings of a view."""
    if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases):
        yield from (ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign))
    elif isinstance(node, ast.ClassDef) and any("View[" in ast.unparse(one) for one in node.bases):
        for one in node.body:
            yield from map(ast.unparse, one.targets if isinstance(one, ast.Assign) else ())


def spread(target: ast.expr | None) -> list[str]:
    """The names that a value is given to: one, or those of a tuple, by place."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return [one.id if isinstance(one, ast.Name) else "" for one in parts]

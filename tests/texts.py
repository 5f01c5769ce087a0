"""Which texts the code asks for, read from the code: the key of every call that ends in
``strings.get`` or ``strings.has``, whatever the functions on the way are called.

    asked = Code(Path("memlab")).asked()     # every key, and the line that asks for it

A key is a pattern: words, and holes for what the code does not tell. It is followed from the call
through parameters, names, loops, tables and what functions return.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tests.modules import Function, Module, is_written, named, spread, words

MOST = 300
"""Patterns of one expression; where there are more, it is a hole."""
DEEP = 14
"""Names and calls that are followed one after another."""


class Hole(NamedTuple):
    """What the code does not tell, or a parameter of a function."""

    module: Module
    function: Function | None = None
    parameter: str = ""


Pattern = tuple["str | Hole", ...]


@dataclass(frozen=True)
class Asked:
    """A key, the line that names it, and what is written out there: empty where it is made."""

    key: Pattern
    where: str
    given: str
    has_to_be: bool

    def fits(self, key: str) -> bool:
        """Whether it may be this key; what fills a hole stands in the code around it."""
        if not self.holes:
            return key == text_of(self.key)
        match = self.form.fullmatch(key)
        pairs = zip(self.holes, match.groups(), strict=True) if match else ()
        return match is not None and all(text in hole.module.near for hole, text in pairs)

    @cached_property
    def holes(self) -> list[Hole]:
        return [part for part in self.key if isinstance(part, Hole)]

    @cached_property
    def form(self) -> re.Pattern[str]:
        return re.compile("".join(re.escape(p) if isinstance(p, str) else "(.+)" for p in self.key))


# -- the code ------------------------------------------------------------------------------------


class Code:
    """All files below a folder."""

    def __init__(self, root: Path) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root.parent).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            tree = ast.parse(path.read_text(encoding="utf-8"))
            self.modules[name] = Module(name, tree, is_package)
        self.calls: dict[str, list[tuple[Module, ast.Call]]] = defaultdict(list)
        self.passed: set[str] = set()
        """Names that are given to a function, which may call them."""
        for module, node in self._nodes():
            if not isinstance(node, ast.Call):
                continue
            self.calls[self.target(module, node.func)[1]].append((module, node))
            given = [*node.args, *(w.value for w in node.keywords)]
            self.passed |= {one.id for one in given if isinstance(one, ast.Name)}
        self._introduce()

    def _nodes(self) -> Iterator[tuple[Module, ast.AST]]:
        for module in self.modules.values():
            yield from ((module, node) for node in ast.walk(module.tree))

    def _introduce(self) -> None:
        """Tell every module the words of the code around it."""
        own = {module: words(module) for module in self.modules.values()}
        uses = {module: {module, *self._imports(module)} for module in own}
        for module in own:
            folder = module.name if module.is_package else module.name.rpartition(".")[0]
            beside = [one for one in own if f"{one.name}.".startswith(f"{folder}.")]
            above = {one for one in own if module in uses[one]}
            above |= {one for one in own if above & uses[one]}
            below = set[Module]().union(*(uses[one] for one in uses[module]))
            module.near = set().union(*(own[one] for one in {*beside, *above, *below}))

    def _imports(self, module: Module) -> Iterator[Module]:
        for where, name in module.imported.values():
            whole = self.modules.get(f"{where}.{name}") or self.modules.get(where)
            if whole is not None:
                yield whole

    def asked(self) -> list[Asked]:
        """Every key that is asked for; where ``has`` asks, it need not be there."""
        found = []
        for name in ("get", "has"):
            for module, call in self.calls[name]:
                if self.target(module, call.func) == ("memlab.strings", name) and call.args:
                    ways = self._ways(module, call, call.args[0], DEEP)
                    found += [Asked(*way, name == "get") for way in ways]
        return found

    # -- who calls whom

    def target(self, module: Module, function: ast.expr) -> tuple[str, str]:
        """The module and the name of what is called; no module where the code does not tell."""
        if isinstance(function, ast.Name):
            return self._home(module, function.id)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            where, name = module.imported.get(function.value.id, ("", ""))
            whole = self.modules.get(f"{where}.{name}" if name else where)
            return self._home(whole, function.attr) if whole else ("", function.attr)
        return "", getattr(function, "attr", "")

    def _home(self, module: Module, name: str) -> tuple[str, str]:
        """Where a name of a module comes from."""
        where: Module | None = module
        while where and name not in where.functions | where.constants and name in where.imported:
            start, name = where.imported[name]
            module, where = where, self.modules.get(start)
            if where is None:
                return start, name
        return where.name if where else "", name

    def _callers(self, function: Function) -> Iterator[tuple[Module, ast.Call]]:
        for module, call in self.calls[function.node.name]:
            where, _ = self.target(module, call.func)
            by_an_object = not where and isinstance(call.func, ast.Attribute)
            if where == function.module.name or (by_an_object and function.is_method):
                yield module, call

    def _ways(
        self, module: Module, call: ast.Call, key: ast.expr, deep: int
    ) -> Iterator[tuple[Pattern, str, str]]:
        """The keys of a call, each with the line that names it: where no parameter is left."""
        for pattern in self.values(module, key, deep):
            given = text_of(pattern) if is_written(key) else ""
            yield from self._filled(pattern, f"{module.name}:{call.lineno}", given, deep)

    def _filled(
        self, pattern: Pattern, where: str, written: str, deep: int
    ) -> Iterator[tuple[Pattern, str, str]]:
        """The same with what every call gives the parameters of the innermost function."""
        function = next((p.function for p in pattern if isinstance(p, Hole) and p.function), None)
        callers = list(self._callers(function)) if function and deep else []
        if function is None or not callers:
            yield closed(pattern), where, written
            return
        if function.node.name in self.passed:  # as in map(say, names)
            yield closed(pattern), where, ""
        names = {p.parameter for p in pattern if isinstance(p, Hole) and p.function is function}
        for module, call in callers:
            given = {name: function.given(call, name) for name in names}
            ways = [self.values(module, one, deep - 1) for one in given.values()]
            for way in product(*ways):
                written = text_of(sum(way, ())) if all(map(is_written, given.values())) else ""
                full = replaced(pattern, function, dict(zip(given, way, strict=True)))
                yield from self._filled(full, f"{module.name}:{call.lineno}", written, deep - 1)

    # -- what an expression may be

    def values(self, module: Module, node: ast.expr | None, deep: int) -> set[Pattern]:
        """Every value of an expression, as far as the code tells."""
        found = set(self._values(module, node, deep)) if deep else unknown(module)
        return found if len(found) <= MOST else unknown(module)

    def _values(self, module: Module, node: ast.expr | None, deep: int) -> Iterable[Pattern]:
        match node:
            case ast.Constant(value=None):
                return ()
            case ast.Constant(value=value):
                return ((str(value),),)
            case ast.JoinedStr(values=parts):
                return self._joined(module, parts, deep)
            case ast.FormattedValue(value=value) | ast.NamedExpr(value=value):
                return self.values(module, value, deep)
            case ast.IfExp(body=one, orelse=other):
                return self._any(module, [one, other], deep)
            case ast.BoolOp(values=several):
                return self._any(module, several, deep)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined(module, [left, right], deep)
            case ast.Subscript(value=table):
                return self.elements(module, table, deep - 1, of_keys=False)
            case ast.Name(id=name):
                return self._of_name(module, node, name, deep - 1)
            case ast.Call():
                return self._of_call(module, node, deep - 1)
        return unknown(module)

    def _any(self, module: Module, nodes: Iterable[ast.expr], deep: int) -> set[Pattern]:
        return {one for node in nodes for one in self.values(module, node, deep)}

    def _joined(self, module: Module, parts: list[ast.expr], deep: int) -> Iterable[Pattern]:
        ways = [self.values(module, part, deep) for part in parts]
        while len(list(product(*ways))) > MOST:
            ways[max(range(len(ways)), key=lambda index: len(ways[index]))] = unknown(module)
        return {sum(way, ()) for way in product(*ways)}

    def _of_name(self, module: Module, node: ast.AST, name: str, deep: int) -> Iterable[Pattern]:
        function = module.around.get(node)
        while function is not None:
            around = module.ancestors(node)
            others = [one for one in function.binding.get(name, []) if one not in around]
            local = [way for one in others for way in self._bound(module, one, name, deep)]
            if local:
                return {one for way in local for one in way}
            if name in function.parameters:
                return {(Hole(module, function, name),)}
            function = module.around.get(function.node)
        where, name = self._home(module, name)
        home = self.modules.get(where)
        return self.values(home, home.constants.get(name), deep) if home else unknown(module)

    def _bound(
        self, module: Module, node: ast.AST, name: str, deep: int
    ) -> Iterator[Iterable[Pattern]]:
        """What a statement or a loop gives a name."""
        for one, value in named(node):
            if one == name:
                yield self.values(module, value, deep)
        if isinstance(node, ast.For | ast.comprehension):
            yield from self._looped(module, node.target, node.iter, name, deep)
        elif isinstance(node, ast.Assign) and name not in dict(named(node)):
            yield unknown(module)  # a tuple is taken apart

    def _looped(
        self, module: Module, target: ast.expr, over: ast.expr, name: str, deep: int
    ) -> Iterator[Iterable[Pattern]]:
        if isinstance(target, ast.Name):
            yield self.elements(module, over, deep)
        else:
            yield self._column(module, over, spread(target).index(name), deep)

    def _column(self, module: Module, over: ast.expr, index: int, deep: int) -> Iterable[Pattern]:
        """What a loop over pairs gives the name at a place."""
        match over:
            case ast.Call(func=ast.Attribute(value=table, attr="items")):
                return self.elements(module, table, deep, of_keys=index == 0)
            case ast.Call(func=ast.Name(id="zip"), args=several) if index < len(several):
                return self.elements(module, several[index], deep)
            case ast.Call(func=ast.Name(id="enumerate"), args=[first, *_]) if index == 1:
                return self.elements(module, first, deep)
        home, whole = self._whole(module, over)[0]
        rows = whole.elts if isinstance(whole, ast.Tuple | ast.List) else []
        if not rows or not all(isinstance(row, ast.Tuple) for row in rows):
            return unknown(module)
        return self._any(
            home, [row.elts[index] for row in rows if isinstance(row, ast.Tuple)], deep
        )

    def elements(
        self, module: Module, node: ast.expr, deep: int, of_keys: bool = True
    ) -> set[Pattern]:
        """What a loop over a table, a list or a generator meets."""
        several = [
            self._elements(home, whole, deep - 1, of_keys)
            for home, whole in (self._whole(module, node) if deep else [])
        ]
        return set().union(*several) if several else unknown(module)

    def _elements(
        self, module: Module, node: ast.expr, deep: int, of_keys: bool
    ) -> Iterable[Pattern]:
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                plain = [part for part in parts if not isinstance(part, ast.Starred)]
                inner = [part.value for part in parts if isinstance(part, ast.Starred)]
            case ast.Dict(keys=keys, values=values):
                plain = [key for key in keys if key] if of_keys else values
                inner = [v for k, v in zip(keys, values, strict=True) if k is None]
            case ast.GeneratorExp(elt=one) | ast.ListComp(elt=one) | ast.SetComp(elt=one):
                plain, inner = [one], []
            case ast.DictComp(key=key, value=value):
                plain, inner = [key if of_keys else value], []
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
                plain, inner = [], [one, other]
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=text), attr="split")):
                return {(word,) for word in str(text).split()}
            case _:
                return unknown(module)
        more = [self.elements(module, one, deep, of_keys) for one in inner]
        return self._any(module, plain, deep).union(*more)

    def _whole(self, module: Module, node: ast.expr) -> list[tuple[Module, ast.expr]]:
        """What a name stands for: all that it is given, or the constant of its module."""
        for _ in range(DEEP):
            if not isinstance(node, ast.Name):
                break
            name, function = node.id, module.around.get(node)
            inside = function.binding.get(name, []) if function else []
            local = [value for one in inside for key, value in named(one) if key == name]
            if len(local) > 1:
                return [(module, one) for one in local if not isinstance(one, ast.Name)]
            home = self.modules.get(self._home(module, name)[0])
            constant = home.constants.get(self._home(module, name)[1]) if home else None
            if not local and (constant is None or (function and name in function.parameters)):
                break
            module, node = (module, local[0]) if local else (home or module, constant or node)
        return [(module, node)]

    def _of_call(self, module: Module, call: ast.Call, deep: int) -> Iterable[Pattern]:
        """What a function returns; a table's ``get``, and the first that ``next`` finds."""
        where, name = self.target(module, call.func)
        if isinstance(call.func, ast.Attribute) and not where:
            if name == "get":
                found = self.elements(module, call.func.value, deep, of_keys=False)
                return found | self._any(module, call.args[1:], deep)
            where = module.name
        if name == "next" and call.args:
            return self.elements(module, call.args[0], deep) | self._any(
                module, call.args[1:], deep
            )
        home = self.modules.get(where)
        functions = home.functions.get(name, []) if home else []
        returned = [
            one
            for function in functions
            for node in ast.walk(function.node)
            if isinstance(node, ast.Return) and function.module.around.get(node) is function
            for one in self.values(function.module, node.value, deep)
        ]
        bare = {tuple(p if isinstance(p, str) else Hole(p.module) for p in one) for one in returned}
        return bare or unknown(module)


def text_of(pattern: Pattern) -> str:
    return "".join(part for part in pattern if isinstance(part, str))


def unknown(module: Module) -> set[Pattern]:
    """A value that a module does not tell."""
    return {(Hole(module),)}


def replaced(pattern: Pattern, function: Function, given: dict[str, Pattern]) -> Pattern:
    """The pattern with values for the parameters of a function."""
    found: Pattern = ()
    for part in pattern:
        mine = isinstance(part, Hole) and part.function is function
        found += given[part.parameter] if isinstance(part, Hole) and mine else (part,)
    return found


def closed(pattern: Pattern) -> Pattern:
    """Words beside each other as one, and a hole where no call gives the parameter."""
    found: list[str | Hole] = []
    for part in pattern:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif isinstance(part, str) or not (found and isinstance(found[-1], Hole)):
            found.append(part if isinstance(part, str) else Hole(part.module))
    return tuple(found)

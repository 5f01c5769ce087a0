"""A network that is written as text, read without running any of it.

    x = network("tiny", image=(3, 32, 32))
    for i in range(3):
        x = x.conv(16, 3, pad="same").relu()
    x.max_pool("all").flatten().linear(10).cross_entropy()

The text may come with a link from anybody. So only what is needed to write a network is understood:
names, whole numbers and texts, ``network(...)``, the layers of its handles, ``for`` over a
``range``, and ``with x.stage(...)``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from memlab.errors import InputError, shorten, unknown
from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from memlab.strings import gettext as _

LONGEST = 8_000
"""Characters of a text."""
MOST = 2_000
"""Steps of reading: statements and calls."""
DEEPEST = 150
"""Calls inside of each other, or behind each other in one line."""
LARGEST = 10**9
"""The largest number that arithmetic makes."""
LAYERS = sorted(name for name in vars(Handle) if name[0] != "_" and callable(getattr(Handle, name))
                and name not in ("then", "close", "stage"))  # fmt: skip
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
              ast.FloorDiv: operator.floordiv}  # fmt: skip
SHORT = 'network("tiny", image=(3, 32, 32)).conv(16, 3).relu().flatten().linear(10)'


@lru_cache(maxsize=64)
def network_in(text: str) -> Network:
    """Return the network that a text writes: the last one in it, the same object each time.

    >>> network_in('network("one", features=784).linear(10).cross_entropy()')
    <one: 2 layers, 7,850 parameters, input 784>

    Raises:
        InputError: the text is none; the sentence names the line.
    """
    if len(text) > LONGEST:
        raise InputError(_("a network takes at most {most} characters, got {given}.",
                           most=f"{LONGEST:,}", given=f"{len(text):,}"))  # fmt: skip
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise InputError(_("line {line} cannot be read: {why}.", line=line,
                           why=getattr(error, "msg", type(error).__name__))) from None  # fmt: skip
    return Reader().read(body)


class Reader:
    """Names that a text gives to handles and numbers, and the last value in it."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.last: Any = None
        self.steps = self.depth = 0

    def read(self, body: Sequence[ast.stmt]) -> Network:
        """Return the network that statements make.

        Raises:
            InputError: they make none.
        """
        self.run(body)
        if isinstance(self.last, Network):
            return self.last
        if isinstance(self.last, Handle):
            raise InputError(_("the network has no loss yet; end it with .cross_entropy()."))
        raise InputError(_("the text makes no network; try {usual}.",
                           usual=f"{SHORT}.cross_entropy()"))  # fmt: skip

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Read statements in their order."""
        for statement in body:
            self._count(statement)
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.names[name] = self.last = self.value(value)
                case ast.Expr(value=value):
                    self.last = self.value(value)
                case ast.For(target=ast.Name(id=name), iter=over, body=inside, orelse=[]):
                    for number in self._range(over):
                        self.names[name] = number
                        self.run(inside)
                case ast.With(items=[ast.withitem(context_expr=stage, optional_vars=None)]):
                    self._stage(stage, statement.body)
                case ast.Import(names=[ast.alias(name="memlab", asname=None)]) | ast.Pass():
                    pass
                case _other:
                    raise _refused(statement)

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise _at(node, _("a line takes at most {most} layers; give the output of one a name "
                              "and go on in the next line.", most=DEEPEST))  # fmt: skip
        try:
            return self._value(node)
        finally:
            self.depth -= 1

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() | str() | None as value):
                return value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(map(self.value, parts))
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return _computed(node, ARITHMETIC[type(op)], self.value(left), self.value(right))
            case ast.Call():
                return self._call(node)
        raise _refused(node)

    def _named(self, node: ast.expr, name: str) -> Any:
        if name not in self.names:
            raise _at(node, str(unknown("name", name, ["network", *self.names])))
        return self.names[name]

    def _call(self, node: ast.Call) -> Any:
        """Return the output of a layer, or the beginning of a network."""
        self._count(node)
        match node.func:
            case ast.Name(id="network") | ast.Attribute(value=ast.Name(id="memlab"),
                                                        attr="network"):  # fmt: skip
                return self._called(node, network)
            case ast.Attribute(value=before, attr=name):
                handle = self.value(before)
                if not isinstance(handle, Handle):
                    raise _at(node, _("layers follow a network that has no loss yet, got "
                                      "{given}.", given=shorten(handle)))  # fmt: skip
                if name not in LAYERS:
                    raise _at(node, str(unknown("layer", name, LAYERS)))
                return self._called(node, getattr(handle, name))
        raise _refused(node)

    def _called(self, node: ast.Call, function: Callable[..., Any]) -> Any:
        arguments = [self.value(given) for given in node.args]
        named = {each.arg: self.value(each.value) for each in node.keywords if each.arg}
        if len(named) < len(node.keywords):
            raise _refused(node)
        try:
            return function(*arguments, **named)
        except InputError as error:
            raise _at(node, str(error)) from None
        except TypeError as error:  # too few or too many arguments, or of another type
            raise _at(node, f"{str(error).removeprefix('Handle.')}.") from None

    def _range(self, node: ast.expr) -> range:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=given, keywords=[]):
                ends = [self.value(end) for end in given]
                if 1 <= len(ends) <= 3 and all(type(end) is int for end in ends):
                    return range(*ends[:2], *(end or 1 for end in ends[2:]))
        raise _at(node, _("a loop goes over a range; try for i in range(3)."))

    def _stage(self, node: ast.expr, body: Sequence[ast.stmt]) -> None:
        match node:
            case ast.Call(func=ast.Attribute(value=before, attr="stage"),
                          args=[name], keywords=[]):  # fmt: skip
                handle = self.value(before)
                if isinstance(handle, Handle):
                    with handle.stage(self.value(name)):
                        return self.run(body)
        raise _refused(node)

    def _count(self, node: ast.AST) -> None:
        """Refuse a text that takes too long."""
        self.steps += 1
        if self.steps > MOST:
            raise _at(node, _("a network takes at most {most} layers and lines here.", most=MOST))


def _computed(node: ast.AST, compute: Callable[[Any, Any], Any], left: Any, right: Any) -> int:
    """Return the result of arithmetic with whole numbers."""
    if not (type(left) is int and type(right) is int):
        raise _at(node, _("only whole numbers are computed with."))
    if compute is operator.floordiv and right == 0:
        raise _at(node, _("nothing can be divided by 0."))
    result: int = compute(left, right)
    if abs(result) > LARGEST:
        raise _at(node, _("numbers go up to {most}.", most=f"{LARGEST:,}"))
    return result


def _refused(node: ast.AST) -> InputError:
    """Return the error for what the text of a network may not have."""
    try:
        words = shorten(ast.unparse(node).partition("\n")[0])
    except RecursionError:  # thousands of signs in front of a number, for example
        words = "..."
    return _at(node, _("{words} does not belong to a network; try x = x.conv(16, 3).relu().",
                       words=words))  # fmt: skip


def _at(node: ast.AST, sentence: str) -> InputError:
    """Return an error with the line of its place; a sentence that names a line stays."""
    start = _("line {line}: {sentence}", line=getattr(node, "lineno", 1), sentence=sentence)
    return InputError(start)

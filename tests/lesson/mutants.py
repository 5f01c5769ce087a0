"""Wrong functions, made systematically: every small change to a right one, or to a known slip.

A change is what learners do: another rounding, a term left out, two names swapped, an end of a
range or of a list left out, a comparison that is strict, a step of the work forgotten.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np

from memlab.lesson.kernel_threads import cuda

STEPS = 1000
"""Turns of a loop, or numbers of a range, after which a mutant counts as stuck."""


class StuckError(Exception):
    """A loop that does not end, or hardly."""


def mutants(source: str, given: tuple[str, ...]) -> list[str]:
    """The code with one change, in every way, each once.

    ``given`` are the parameters, which can be taken for each other.
    """
    tree = ast.parse(source)
    codes = dict.fromkeys(map(ast.unparse, _changed(tree, given)))
    codes.pop(ast.unparse(tree), None)
    return list(codes)


def compiled(code: str, name: str) -> Callable[..., Any]:
    """The function of that name, whose loops end."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            node.body.insert(0, ast.parse("_turn()").body[0])
    space: dict[str, Any] = {"np": np, "gcd": gcd, "pairwise": pairwise, "cuda": cuda}
    space |= {"_turn": _turn, "range": _range}
    definitions = compile(ast.fix_missing_locations(tree), "<mutant>", "exec")

    def function(**arguments: Any) -> Any:
        if name not in space:  # here, so that a mutant of the definitions fails as any other does
            exec(definitions, space)
        _turns[0] = 0
        return space[name](**arguments)

    return function


_turns = [0]


def _turn() -> None:
    _turns[0] += 1
    if _turns[0] > STEPS:
        raise StuckError


def _range(*ends: int) -> range:
    numbers = range(*ends)
    if len(numbers) > STEPS:
        raise StuckError
    return numbers


def _changed(tree: ast.Module, given: tuple[str, ...]) -> Iterator[ast.Module]:
    """The whole code once for each change."""
    for index, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            places: list[int | None] = [None]
            if isinstance(value, list):
                places = [*range(len(value))]
            for place in places:
                old = value if place is None else value[place]
                if isinstance(old, ast.AST):
                    for new in _instead(old, node, field, given):
                        yield _with(tree, index, field, place, new)
                    if isinstance(old, ast.stmt) and len(value) > 1:
                        yield _with(tree, index, field, place, ast.Pass())
        if isinstance(node, ast.Tuple | ast.List | ast.Call | ast.BoolOp | ast.comprehension):
            yield from _shorter(tree, index, node)


def _with(tree: ast.Module, index: int, field: str, place: int | None, new: ast.AST) -> ast.Module:
    """A copy with one part replaced."""
    copy = deepcopy(tree)
    node = next(node for i, node in enumerate(ast.walk(copy)) if i == index)
    if place is None:
        setattr(node, field, deepcopy(new))
    else:
        getattr(node, field)[place] = deepcopy(new)
    return ast.fix_missing_locations(copy)


def _shorter(tree: ast.Module, index: int, node: ast.AST) -> Iterator[ast.Module]:
    """With one item left out of a list, of arguments or of conditions."""
    fields = {ast.Call: "args", ast.BoolOp: "values", ast.comprehension: "ifs"}
    field = fields.get(type(node), "elts")
    least = 1 if isinstance(node, ast.BoolOp) else 0
    for place in range(len(getattr(node, field))):
        copy = deepcopy(tree)
        parts = getattr(next(n for i, n in enumerate(ast.walk(copy)) if i == index), field)
        if len(parts) > least:
            del parts[place]
            yield ast.fix_missing_locations(copy)


def _expression(text: str, **parts: ast.AST) -> ast.expr:
    """An expression with parts of another one in it."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return deepcopy(parts.get(node.id, node))

    filled: ast.expr = Fill().visit(ast.parse(text, mode="eval").body)
    return filled


BINARY = {
    ast.Add: ("a", "b", "a - b", "a * b"),
    ast.Sub: ("a", "b", "a + b", "b - a"),
    ast.Mult: ("a", "b", "a + b", "a // b", "a * b * b", "a * a * b"),
    ast.FloorDiv: (
        "a", "b", "a / b", "-(-a // b)", "round(a / b)", "a // b + 1", "a // b - 1", "a % b",
        "a * b", "b // a",
    ),
    ast.Div: ("a", "b", "a // b", "-(-a // b)", "round(a / b)", "a * b", "b / a"),
    ast.Mod: ("a", "b", "a // b", "a % b + 1", "b - a % b", "-a % b"),
    ast.Pow: ("a", "b", "a * b", "a ** (b - 1)", "a ** (b + 1)"),
}  # fmt: skip
COMPARE = {
    ast.Lt: ("a <= b", "a > b"),
    ast.LtE: ("a < b", "a >= b", "a == b"),
    ast.Gt: ("a >= b", "a < b"),
    ast.GtE: ("a > b", "a <= b", "a == b"),
    ast.Eq: ("a != b", "a <= b", "a >= b"),
    ast.NotEq: ("a == b", "a > b", "a < b"),
    ast.In: ("a not in b",),
    ast.NotIn: ("a in b",),
}
CALLS = {
    "max": "min sum", "min": "max sum", "sum": "max len min", "all": "any", "any": "all",
    "sorted": "list", "set": "list sorted", "len": "sum", "next": "max min", "list": "sorted",
    "combinations": "permutations", "round": "int",
}  # fmt: skip
LISTS = ("a[1:]", "a[:-1]", "a[::2]", "a[::-1]", "a[:1]", "a[-1:]")


def _instead(
    old: ast.AST, parent: ast.AST, field: str, given: tuple[str, ...]
) -> Iterator[ast.AST]:
    """Parts that may replace a part of the code."""
    match old:
        case ast.Constant(value=bool(flag)):
            yield ast.Constant(not flag)
        case ast.Constant(value=int(number)):
            near = {number + 1, number - 1, 2 * number, number // 2, 0, 1}
            yield from (ast.Constant(value) for value in sorted(near - {number}))
        case ast.BinOp(left=left, op=op, right=right):
            for text in BINARY.get(type(op), ()):
                yield _expression(text, a=left, b=right)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for text in (*COMPARE.get(type(op), ()), "True", "False"):
                yield _expression(text, a=left, b=right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Name(id=name, ctx=ast.Load()) if name in given:
            yield from (ast.Name(other, ast.Load()) for other in given if other != name)
        case ast.Call(func=ast.Name(id=name), args=args):
            for other in CALLS.get(name, "").split():
                yield ast.Call(ast.Name(other, ast.Load()), args, [])
            yield from _swapped(old)
            if name == "range":
                texts = ("range(a + 1)", "range(a - 1)", "range(1, a)", "range(1, a + 1)")
                yield from (_expression(text, a=args[-1]) for text in texts)
        case ast.Call(func=ast.Attribute()):
            yield from _swapped(old)
        case ast.Attribute(value=value, attr="mean"):
            yield ast.Attribute(value, "sum", ast.Load())
        case ast.AugAssign(target=target, op=op, value=value):
            for sign in (ast.Sub(), ast.Mult()) if isinstance(op, ast.Add) else (ast.Add(),):
                yield ast.AugAssign(target, sign, value)
            yield ast.Assign([target], value)
        case ast.If(test=test, body=body, orelse=orelse):
            for truth in (ast.Constant(True), ast.Constant(False)):
                yield ast.If(truth, body, orelse)
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Tuple(elts=[one, other], ctx=ast.Load()):
            yield ast.Tuple([other, one], ast.Load())
        case ast.SetComp(elt=elt, generators=generators):
            yield ast.ListComp(elt, generators)
        case ast.comprehension(target=target, iter=source, ifs=ifs):
            yield from _filtered(target, source, ifs)
    if (isinstance(parent, ast.For | ast.comprehension) and field == "iter") or isinstance(
        old, ast.GeneratorExp | ast.ListComp | ast.SetComp
    ):
        rest = ("sorted(a)",) if isinstance(parent, ast.For) else ()
        yield from (_expression(f"list({text})", a=_listed(old)) for text in (*LISTS, *rest))


def _swapped(call: ast.Call) -> Iterator[ast.Call]:
    """With two arguments in the other order."""
    if len(call.args) == 2:
        yield ast.Call(call.func, call.args[::-1], call.keywords)


def _listed(iterated: ast.AST) -> ast.expr:
    return _expression("list(a)", a=iterated)


def _filtered(
    target: ast.expr, source: ast.expr, ifs: list[ast.expr]
) -> Iterator[ast.comprehension]:
    """Items left out where one of their parts is 0, or is 1."""
    names = [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
    for name in names:
        for text in (f"{name}", f"{name} != 1"):
            yield ast.comprehension(target, source, [*ifs, _expression(text)], 0)

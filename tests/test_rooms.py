"""A stranger finds the way: no module imports one that imports it, also not for types alone or
late, and a picture stands where its function is called like its file."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter

import grimp

from memlab.lesson_folders import PACKAGE


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Some modules that import each other in a circle; none where there is no circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_one_that_imports_it():
    graph = grimp.build_graph("memlab", exclude_type_checking_imports=False, cache_dir=None)
    found = {name: set(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
    assert circle(found) == []


def test_a_circle_is_seen():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})


def functions(module):
    """The public functions of a module: those that it defines, and what ``maker`` makes."""
    for node in ast.parse(module.read_text()).body:
        match node:
            case ast.FunctionDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                yield name


def test_each_picture_is_called_like_its_file_or_its_folder():
    pictures = PACKAGE / "pictures"
    for module in pictures.glob("[!_]*.py"):
        assert module.stem in functions(module), module.name
    for module in pictures.glob("*/view.py"):
        if module.parent.name != "live":
            assert module.parent.name in functions(module), module.parent.name

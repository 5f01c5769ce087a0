"""A stranger finds the way: no module imports one that imports it, also not for types alone or
late."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp


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

"""A stranger finds the way: no module imports one that imports it, also not for types alone or
late; a folder has at most 14 modules, and a module at most 500 lines."""

from __future__ import annotations

from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import memlab

ROOT = Path(memlab.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))
MOST, LONGEST = 14, 500


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


def test_no_folder_is_crowded():
    crowded = {str(folder.relative_to(ROOT)): count
               for folder, count in Counter(path.parent for path in MODULES).items()
               if count > MOST}  # fmt: skip
    assert crowded == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_module_is_long(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST

"""The pages of docs/ and the docstrings hold: links lead somewhere, examples run, errors are
raised."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import memlab

pytestmark = pytest.mark.measures

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WRITTEN = re.compile(r"```(?:python|toml)\n# (?:memlab|tests)/.*?```", re.DOTALL)
"""Files that an example adds to the package: tests/test_additions.py runs what stands in them."""
ERROR = re.compile(r"^## (.+)\n\n```python\n((?:.+\n)+)```\n\n((?:> .*\n)+)", re.MULTILINE)
FLAGGED = {"What", "Who", "Whose", "Where", "That", "Those", "Of", "How"}
"""First words of a clause that lacks its noun."""


def documented(module: str) -> Iterator[tuple[str, str]]:
    """The docstrings of a module's source, by qualified name."""
    path = Path(util.find_spec(module).origin)  # type: ignore[union-attr, arg-type]  # it is there
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", module), text


def modules() -> list[str]:
    """Every module of the package."""
    files = sorted(ROOT.glob("memlab/**/*.py"))
    parts = (file.relative_to(ROOT).with_suffix("").parts for file in files)
    return [".".join(names).removesuffix(".__init__") for names in parts]


def with_examples() -> list[str]:
    return [name for name in modules() if any(">>>" in text for _, text in documented(name))]


@pytest.mark.table
@pytest.mark.parametrize("name", with_examples())
def test_the_examples_of_a_module_run(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # what an example writes
    monkeypatch.setenv("MEMLAB_PROGRESS", str(tmp_path / "progress.json"))
    if ".torch" in name or name.endswith(("explain.report", "torch_models")):
        pytest.importorskip("torch", reason="the examples of its module are PyTorch models")
    names: dict[str, Any] = {"memlab": memlab}
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    parser, module = doctest.DocTestParser(), import_module(name)
    for place, text in documented(name):
        if ">>>" in text:
            given = {**vars(module), **names}
            said: list[str] = []
            runner.run(parser.get_doctest(text, given, place, name, 0), out=said.append)
            assert not "".join(said), "".join(said)


@pytest.mark.table
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # what an example writes
    text = WRITTEN.sub("", page.read_text(encoding="utf-8"))
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, {"memlab": memlab}, page.stem, str(page), 0)
    runner.run(test, out=said.append)
    assert not "".join(said), "".join(said)


def errors() -> list[tuple[str, str, str]]:
    """The rows of the page of errors: heading, code, sentence."""
    text = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    return [(head, code, " ".join(said.replace("> ", "").split())) for head, code, said
            in ERROR.findall(text)]  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize(("code", "sentence"), [row[1:] for row in errors()],
                         ids=[row[0] for row in errors()])  # fmt: skip
def test_an_error_of_the_page_is_raised(code: str, sentence: str) -> None:
    names = {"memlab": memlab, "views": memlab.views, "zoo": memlab.zoo}
    with pytest.raises(memlab.errors.InputError) as raised:
        exec(code, names)
    pattern = re.escape(sentence).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, " ".join(str(raised.value).split())), raised.value


def test_the_page_of_errors_has_rows() -> None:
    headings = re.findall(r"^## ", (ROOT / "docs/errors.md").read_text("utf-8"), re.MULTILINE)
    assert len(errors()) == len(headings) > 10


def functions(module: ModuleType) -> dict[str, Any]:
    """The public functions of a module, without classes and modules."""
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in values.items() if inspect.isroutine(value)}


@pytest.mark.parametrize("module", [memlab, memlab.views], ids=["memlab", "views"])
def test_a_public_function_has_its_arguments_and_an_example(module: ModuleType) -> None:
    lacks = []
    for name, function in functions(module).items():
        text = inspect.getdoc(function) or ""
        if inspect.signature(function).parameters and "Args:" not in text:
            lacks.append(f"{name} lists no arguments")
        if ">>>" not in text:
            lacks.append(f"{name} has no example")
    assert not lacks


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    texts = [text for name in modules() for _, text in documented(name)]
    flagged = [text for text in texts if text.split()[0].strip(",.:;") in FLAGGED]
    assert len(flagged) <= 0.02 * len(texts), flagged


@pytest.fixture
def build() -> ModuleType:
    """The script that builds the reference."""
    pytest.importorskip("pdoc", reason="the reference is built with pdoc")
    return import_module("docs.build")


def test_the_reference_has_every_public_name_and_no_broken_link(
    build: ModuleType, tmp_path: Path
) -> None:
    assert build.build(tmp_path / "docs") == []


def test_a_link_that_leads_nowhere_is_told(build: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<a href="gone.html#top">gone</a>', "utf-8")
    assert [*build.broken_links(tmp_path)] == ["page.html links to gone.html, which is not there."]

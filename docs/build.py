"""Build the reference of the public names and the pages of this folder as HTML, and check the
links.

``python docs/build.py [FOLDER]`` writes to ``build/docs``. The reference is made by pdoc from
docstrings; nothing is read from a network.
"""

from __future__ import annotations

import html
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import markdown2
import pdoc
import pdoc.render

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = ("memlab", "memlab.views")
"""Modules whose names are loaded when they are first used; the reference has all others, too."""
OUTSIDE = ("CONTRIBUTING.md", "README.md", "CHANGELOG.md", "benchmarks/LOG.md")
"""Pages beside this folder whose links are checked, too."""
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^ *```.*?^ *```|`[^`]*`", re.DOTALL | re.MULTILINE)
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
pre {{ background: #8881; padding: .7rem; overflow-x: auto }} td, th {{ padding: .2rem .6rem }}
:root {{ color-scheme: light dark }}
</style></head><body>
<p><a href="README.html">All pages</a> · <a href="../memlab.html">Reference</a></p>
{body}</body></html>
"""


def build(folder: Path) -> list[str]:
    """Write the reference and the pages, and return the complaints: links that lead nowhere, and
    public names without an entry.

    Args:
        folder: where to write; it is made where it is missing.
    """
    reference(folder, modules())
    pages = folder / "pages"
    pages.mkdir(exist_ok=True)
    for source in sorted(ROOT.glob("docs/*.md")):
        (pages / f"{source.stem}.html").write_text(_page(source, pages), encoding="utf-8")
    return [*missing_names(folder), *broken_links(folder), *broken_sources()]


def reference(folder: Path, names: Sequence[str]) -> None:
    """Write the reference of some modules, made from their docstrings.

    Args:
        folder: where to write; it is made where it is missing.
        names: modules, the public ones first.
    """
    for name in PUBLIC:
        module = import_module(name)
        for public in module.__all__:
            setattr(module, public, getattr(module, public))  # now pdoc finds it
    pdoc.render.configure(docformat="google", show_source=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Error parsing type annotation")  # of type checkers alone
        warnings.filterwarnings("ignore", "The module specification")  # a package names its modules
        pdoc.pdoc(*names, output_directory=folder)


def modules() -> list[str]:
    """The modules of the package, the public ones first."""
    files = sorted((ROOT / "memlab").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    names = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    return [*PUBLIC, *(name for name in names if name not in PUBLIC)]


def _page(source: Path, folder: Path) -> str:
    """A page as HTML for its folder; its links to other folders of the repository lead there."""

    def outside(link: re.Match[str]) -> str:
        path = os.path.relpath(source.parent / html.unescape(link[2]), folder)
        return f'{link[1]}="{html.escape(Path(path).as_posix())}'

    text = source.read_text(encoding="utf-8")
    body = markdown2.markdown(text, extras=["fenced-code-blocks", "tables", "header-ids"])
    body = re.sub(r'(href|src)="(\.\./[^"#]+)', outside, body)
    body = re.sub(r'href="([\w-]+)\.md(#[^"]*)?"', r'href="\1.html\2"', body)
    return PAGE.format(title=html.escape(text.partition("\n")[0].strip("# ")), body=body)


def missing_names(folder: Path) -> Iterator[str]:
    """The public names that have neither an entry nor a page of their own."""
    for name in PUBLIC:
        module, text = import_module(name), _page_of(folder, name).read_text(encoding="utf-8")
        for public in module.__all__:
            value = getattr(module, public)
            own_page = ismodule(value) and _page_of(folder, value.__name__).exists()
            if not own_page and f'id="{public}"' not in text:
                yield f"{name}.{public} has no entry in the reference."


def _page_of(folder: Path, module: str) -> Path:
    """The page of a module in the reference."""
    return folder / f"{module.replace('.', '/')}.html"


def broken_links(folder: Path) -> Iterator[str]:
    """The links of the built pages that lead to no file."""
    for page in sorted(folder.rglob("*.html")):
        for link in re.findall(r'href="([^"#]+)(?:#[^"]*)?"', page.read_text(encoding="utf-8")):
            inside = not re.match(r"\w+:|//|\$\{", link)
            target = page.parent / html.unescape(link)
            if inside and not target.exists():
                yield f"{page.relative_to(folder)} links to {link}, which is not there."


def broken_sources() -> Iterator[str]:
    """The links of the Markdown files that lead to no file of the repository."""
    for page in [*sorted(ROOT.glob("docs/*.md")), *(ROOT / name for name in OUTSIDE)]:
        for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            target = link.partition("#")[0]
            if not re.match(r"\w+:", link) and target and not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)} links to {link}, which is not there."


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs"
    complaints = build(where)
    print(*complaints, f"The reference is {where / 'memlab.html'}.", sep="\n")
    sys.exit(bool(complaints))

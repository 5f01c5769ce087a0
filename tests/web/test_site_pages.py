"""Every page of the site, without a browser: complete, without a dead link, loading nothing from
elsewhere."""

import json
import os
import re
import urllib.request
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from memlab import InputError, claims
from tests.web import live_page
from tests.web.site_pages import ReadPage
from web.pyodide import ROOT
from web.site import lessons, mountain, serve, stick
from web.site.places import SOURCES, TOOLS, outside, page_of

pytestmark = pytest.mark.measures


@pytest.fixture(scope="module")
def site(still_site):
    return still_site


@pytest.fixture(scope="module")
def pages(site):
    return {str(path.relative_to(site)): ReadPage(path) for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def framed(pages):
    """The pages in the frame of the site; the lecture has its own."""
    return {name: page for name, page in pages.items() if "/lecture/" not in name}


def test_there_is_a_page_of_each_notebook_and_text(pages):
    wanted = [*ROOT.glob("lessons/**/*.ipynb"), *ROOT.glob("lessons/**/*.md"),
              *ROOT.glob("docs/*.md")]  # fmt: skip
    assert {page_of(str(file.relative_to(ROOT).as_posix())) for file in wanted} <= {*pages}
    assert {"index.html", "claims.html", "teach.html"} <= {*pages}


def test_no_link_is_dead(pages):
    @cache
    def ids(path):
        return {*ReadPage(path).ids, ""}

    dead = []
    for name, page in pages.items():
        for link in page.all("a", "href"):
            path, _, anchor = link.partition("#")
            target = page.path if not path else (page.path.parent / unquote(path)).resolve()
            if outside(link):
                continue
            if not target.is_file() or (
                target.suffix == ".html" and "/lecture/" not in str(target)
                and "?" not in anchor  # settings of a view, which another test follows
                and unquote(anchor) not in ids(target)
            ):  # fmt: skip
                dead.append((name, link))
    assert dead == []


def test_links_out_of_the_site_lead_to_declared_sources(pages):
    away = {link for page in pages.values() for link in page.all("a", "href") if outside(link)}
    assert {link for link in away if not link.startswith(tuple(
        f"https://{each}" for each in (*SOURCES, *TOOLS)))} == set()  # fmt: skip


def test_a_page_loads_nothing_from_elsewhere(pages, site):
    for name, page in pages.items():
        for link in page.loaded:
            assert not outside(link) or link.startswith("data:"), (name, link)
            if not link.startswith("data:"):
                assert (page.path.parent / link).is_file(), (name, link)
    for file in site.glob("assets/*"):
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        found = re.findall(r"(?:url\(|import |fetch\()\s*[\"']?(?:https?:)?//", text)
        assert found == [], file


def test_a_page_has_what_readers_and_search_engines_need(framed):
    titles: dict[str, list[str]] = {}
    for name, page in framed.items():
        (language,) = page.all("html", "lang")
        assert language == ("zh" if "/zh/" in name else "en")
        assert [kind for kind, _ in page.elements].count("h1") == 1, name
        assert len(set(page.ids)) == len(page.ids), name
        (about,) = [a["content"] for k, a in page.elements if a.get("name") == "description"]
        assert len(about) > 10, name
        assert page.all("body", "data-root") == ["../" * name.count("/")]
        assert all(alt for alt in page.all("img", "alt")), name
        titles.setdefault(re.sub(r"\s+", " ", page.path.read_text("utf-8").partition("<title>")[2]
                                 .partition("</title>")[0]), []).append(name)  # fmt: skip
    assert [names for names in titles.values() if len(names) > 1] == []


def notebooks():
    return sorted(
        str(file.relative_to(ROOT).as_posix()) for file in ROOT.glob("lessons/**/*.ipynb")
    )


def test_a_notebook_is_complete_without_a_script(pages):
    for file in notebooks():
        page, cells = pages[page_of(file)], json.loads((ROOT / file).read_text("utf-8"))["cells"]
        codes = [cell for cell in cells if cell["cell_type"] == "code"]
        assert page.all("section", "data-cell") == [cell["id"] for cell in codes], file
        assert page.all("body", "data-lesson") == [file.removesuffix(".ipynb")]
        for cell in codes:
            assert _spaced("".join(cell["source"])) in page.text, (file, cell["id"])
            for output in cell["outputs"]:
                told = output.get("text") or output["data"]["text/plain"]
                assert _spaced("".join(told)) in page.text, (file, cell["id"])
        pictures = sum("image/svg+xml" in o.get("data", {}) for c in codes for o in c["outputs"])
        assert [kind for kind, _ in page.elements].count("svg") == pictures
        assert "".join(cells[0]["source"]).splitlines()[0].strip("# ") in page.text


def _spaced(text):
    return " ".join(text.split())


def test_learners_pages_show_nothing_that_their_notebooks_hide(pages):
    for file in notebooks():
        solved = ROOT / file.replace("solutions/", "")
        if "/solutions/" not in file or not solved.exists():
            continue
        page = pages[page_of(file.replace("solutions/", ""))]
        for cell in json.loads((ROOT / file).read_text("utf-8"))["cells"]:
            if "solution" in cell["metadata"].get("tags", []):
                assert _spaced("".join(cell["source"])) not in page.text, (file, cell["id"])


def test_only_cells_of_learners_run(pages):
    for name, page in pages.items():
        runs = "data-live" in dict(page.elements).get("body", {})
        own = bool(page.all("section", "data-cell"))
        assert runs == (own and "/solutions/" not in name), name
        assert ("tools" in page.ids) == runs
        assert ("python" in page.ids) == runs


def test_the_start_page_lists_every_lesson_with_its_question(pages):
    text = pages["index.html"].text
    for lesson in lessons.lessons():
        assert f"{lesson.number} {lesson.question} {lesson.title} {lesson.minutes} min" in text
    assert f"{len(lessons.lessons())} lessons" in text


def test_the_page_of_claims_has_every_row_with_its_verdict(pages):
    page = pages["claims.html"]
    rows = [*claims.table(), *claims.figures()]
    assert {row.id for row in rows} <= {*page.ids}
    for claim in claims.table():
        assert _spaced(claim.claim) in page.text
    assert "differs" in page.text


def test_the_states_of_the_mountain_are_the_pictures_of_the_view(site):
    text = (site / "assets" / "mountain.js").read_text(encoding="utf-8")
    data = json.loads(text.removeprefix("window.memlabStates = ").rstrip(";\n"))
    for (batch, before), state in mountain.states().items():
        peak, total, news, *pictures = data["states"][f"{batch}|{before}"]
        assert (peak, total, news) == (state.peak, state.sum, state.news)
        for name, numbers in zip(data["widths"], pictures, strict=True):
            drawn = "".join(data["parts"][number] for number in numbers)
            assert drawn == state.pictures[name]
    first = mountain.states()[mountain.FIRST, mountain.BEFORE]
    assert first.peak in unescape((site / "index.html").read_text(encoding="utf-8"))


def test_a_stick_has_the_site_with_a_server_that_answers(site, tmp_path):
    folder = tmp_path / "stick"
    stick.carry(site, folder)
    stick.carry(site, folder)  # again
    assert {*stick.STARTS, "README.txt", "serve.py", "site"} == {*os.listdir(folder)}
    assert (folder / "serve.py").read_bytes() == Path(serve.__file__).read_bytes()
    (folder / "site" / "a.wasm").write_bytes(b"\0asm" * 999)
    with live_page.served(folder / "site") as address:
        _ask(address)


def _ask(address):
    request = urllib.request.Request(f"{address}a.wasm", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["Content-Type"] == "application/wasm"
        assert answer.headers["Content-Encoding"] == "gzip"
        assert "max-age" in answer.headers["Cache-Control"]
    with urllib.request.urlopen(f"{address}index.html") as answer:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert b"Where does the memory go" in answer.read()


def test_a_stick_does_not_write_over_other_files(site, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"thesis\.txt"):
        stick.carry(site, Path(tmp_path))

"""Page of the published table: what texts claim, what memlab computes, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TypeVar

from memlab import claims as table
from memlab.claims import verdicts
from memlab.claims.table import SURE, Claim, OwnFigure, SourceText, TableRow
from web.site import markdown
from web.site.frame import SitePage
from web.site.markdown import Headings

R = TypeVar("R", bound=TableRow)
LATER = "depends on the machine"
"""Stands for the figure of a row that another machine computes differently."""


def page(run: bool = True) -> SitePage:
    """Return the page of the table; ``run`` also computes what needs a run of a step."""
    claims, headings = table.table(), Headings()
    count = Counter(claim.verdict for claim in claims if _due(claim, run))
    verdict = ", ".join(f"{number} × {name}" for name, number in count.most_common())
    heads = {key: headings.add(2, key) for key in ("Claims", "Our own figures", "The texts")}
    body = (
        "<h1>Claims, checked</h1>\n"
        f"<p>What {len(table.texts())} texts say about the memory of training, and what comes out: "
        f"{len(claims)} claims, each computed again by one call of memlab. {verdict}.</p>\n"
        f"<p>{escape(_legend(claims))} <code>memlab claims A4</code> says all about a row.</p>\n"
        f'<h2 id="{heads["Claims"]}">Claims</h2>\n{_claims(claims, run)}'
        f'<h2 id="{heads["Our own figures"]}">Our own figures</h2>\n'
        f"<p>No text claims them, so they have no verdict.</p>\n{_own(table.figures(), run)}"
        f'<h2 id="{heads["The texts"]}">The texts</h2>\n{_texts(table.texts().values())}'
    )
    about = f"{len(claims)} published figures on the memory of training, each computed again."
    return SitePage(
        "claims.html", "Claims, checked – memlab", about, body, kind="claims", headings=headings
    )


def _due(row: TableRow, run: bool) -> bool:
    """Tell if the page shows what a row computes."""
    return not row.here and (run or not row.runs)


def _legend(claims: Iterable[Claim]) -> str:
    used = {word for claim in claims for word in claim.sure}
    said = "; ".join(f"{word}: {means}" for word, means in SURE.items() if word in used)
    return f"How sure it is that a text says so: {said}."


def _claims(claims: Sequence[Claim], run: bool) -> str:
    bodies = _grouped(claims, lambda claim: _row(claim, run))
    return markdown.table("Table", ("claim", "a text says", "claimed", "memlab", "verdict"), bodies)


def _grouped(rows: Iterable[R], write: Callable[[R], str], taken: Container[str] = ()) -> str:
    """Return rows as bodies of a table, one for each head of their ids, which is its own id."""
    groups = groupby(rows, lambda row: head(row.id))
    return "".join(
        f"<tbody{_id(name, taken)}>{''.join(map(write, group))}</tbody>\n" for name, group in groups
    )


def _id(name: str, taken: Container[str]) -> str:
    return "" if name in taken else f' id="{name}"'


def head(id: str) -> str:
    """Return the row of the table that an id belongs to: ``A4`` of ``A4.resnet50.together``."""
    return id.partition(".")[0]


def _row(claim: Claim, run: bool) -> str:
    due = _due(claim, run)
    ours = verdicts.beside(claim.claimed, claim.computed) if due else LATER
    who = ", ".join(
        f'<a href="#text-{name}">{escape(table.text(name).author)}</a>' for name in claim.text
    )
    cells = (
        ("claimed", escape(claim.claimed)),
        ("memlab", escape(ours)),
        ("verdict", f'<span class="verdict">{escape(claim.verdict if due else "")}</span>'),
    )
    told = "".join(f'<td data-label="{label}">{text}</td>' for label, text in cells)
    sure = escape(" + ".join(claim.sure))
    return (
        f'<tr id="{claim.id}"><th scope="row">{_broken(claim.id)}</th>'
        f"<td>{escape(claim.claim)} {_note(claim)}<small>{who} · {sure}</small>{_call(claim)}</td>"
        f"{told}</tr>\n"
    )


def _broken(name: str) -> str:
    """Return an id that may break after its dots."""
    return escape(name).replace(".", ".<wbr>").replace("_", "_<wbr>")


def _note(row: TableRow) -> str:
    return f"<em>{escape(row.note[0].upper() + row.note[1:])}.</em> " if row.note else ""


def _call(row: TableRow) -> str:
    code = f'<code translate="no">{escape(row.call, quote=False)}</code>'
    return f"<details><summary>{escape(row.way)}</summary>{code}</details>"


def _own(figures: Iterable[OwnFigure], run: bool) -> str:
    taken = {head(claim.id) for claim in table.table()}

    def row(figure: OwnFigure) -> str:
        return (
            f'<tr id="{figure.id}"><th scope="row">{_broken(figure.id)}</th>'
            f"<td>{escape(figure.what)} {_note(figure)}{_call(figure)}</td>"
            f'<td data-label="memlab">{_result(figure, run)}</td></tr>\n'
        )

    bodies = _grouped(figures, row, taken)
    return markdown.table("Table", ("figure", "what it is", "memlab"), bodies)


def _result(figure: OwnFigure, run: bool) -> str:
    return escape(figure.result if _due(figure, run) else LATER)


def _texts(texts: Iterable[SourceText]) -> str:
    return f"<ul>{''.join(_entries(texts))}</ul>\n"


def _entries(texts: Iterable[SourceText]) -> Iterator[str]:
    for text in texts:
        yield f'<li id="text-{text.name}">{escape(str(text))}</li>\n'

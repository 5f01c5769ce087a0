"""Pages of the site as tests read them: their elements, words, links, and what they load."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "img", "br", "source", "input", "wbr", "hr"}
LOADS = {"script": "src", "img": "src", "source": "srcset", "link": "href", "use": "href",
         "iframe": "src", "object": "data"}  # fmt: skip
"""Elements that load a file, and the attribute that names it."""


@dataclass
class ReadPage(HTMLParser):
    """Page of a built site: its elements with their attributes, and its words without code of
    scripts and styles."""

    path: Path
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @cached_property
    def text(self) -> str:
        """All words, with single spaces."""
        return " ".join("".join(self.words).split())

    def all(self, tag: str, name: str) -> list[str]:
        """The values of an attribute of all elements of a kind."""
        return [attrs[name] for kind, attrs in self.elements if kind == tag and name in attrs]

    @cached_property
    def ids(self) -> list[str]:
        return [attrs["id"] for _, attrs in self.elements if "id" in attrs]

    @cached_property
    def loaded(self) -> list[str]:
        """Files that a browser loads for the page by itself."""
        found = [
            attrs[name]
            for kind, attrs in self.elements
            if (name := LOADS.get(kind, "")) in attrs and not attrs[name].startswith("#")
        ]
        styles = (attrs.get("style", "") for _, attrs in self.elements)
        sheets = re.findall(r"<style[^>]*>(.*?)</style>", self.path.read_text("utf-8"), re.DOTALL)
        urls = (url for text in (*styles, *sheets) for url in re.findall(r"url\(([^)]*)\)", text))
        return [*found, *(url for url in urls if not url.strip("\"'").startswith("#"))]

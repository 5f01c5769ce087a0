"""The base of what a picture shows: values with a text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Study:
    """The content of a picture: its title, sentences of its figures, and notes of their origin."""

    @property
    def title(self) -> str:
        """Its subject, in one line."""
        raise NotImplementedError

    @property
    def sentences(self) -> list[str]:
        """What the figures say."""
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        """How and where they were taken."""
        return []

    def text(self) -> str:
        """Title, sentences and notes; a picture's own text has the figures too."""
        return "\n".join([f"{self.title}.", *self.sentences, *self.notes])

    def as_dict(self) -> dict[str, Any]:
        """The same, and every figure."""
        said = {"title": self.title, "sentences": self.sentences, "notes": self.notes}
        return said | asdict(self)

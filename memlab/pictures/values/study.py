"""The base of what a picture shows: values with a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Study:
    """The content of a picture: its title, sentences of its figures, and notes of their origin."""

    @property
    def title(self) -> str:
        """Its subject, in one line."""
        raise NotImplementedError

    @property
    def sentences(self) -> list[str]:
        """Sentences of the figures."""
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        """Notes of how and where the figures were taken."""
        return []

    def text(self) -> str:
        """Title, sentences and notes; a picture's own text has the figures too."""
        return "\n".join([f"{self.title}.", *self.sentences, *self.notes])

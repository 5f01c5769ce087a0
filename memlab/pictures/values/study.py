"""The base of what a picture shows: values with a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Study:
    """Content of a picture: its title, sentences about its figures, and notes
    about their origin."""

    @property
    def title(self) -> str:
        """Return the subject in one line."""
        raise NotImplementedError

    @property
    def sentences(self) -> list[str]:
        """Return sentences that explain the study's figures in words."""
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        """Return notes on how and where the figures were obtained."""
        return []

    def text(self) -> str:
        """Return title, sentences and notes. The text of a picture has the figures too."""
        return "\n".join([f"{self.title}.", *self.sentences, *self.notes])

"""A training script that is explained: a step that was watched while the script ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from memlab.errors import visible
from memlab.frontends.torch.script.watched_script import ScriptRequest, watched_script
from memlab.pictures.explain.explained_changes import StepChange, text_of
from memlab.pictures.explain.own_loop import growth_text
from memlab.pictures.explain.recorded_model import TorchModel, cause_text


class ScriptModel(TorchModel):
    """The step of a user's script, recorded for its batch alone, which has ``samples``.

    Raises:
        InputError: as ``memlab.frontends.torch.script.watched_script.watched_script``.
    """

    def __init__(self, request: ScriptRequest) -> None:
        self.request, self.watched = request, watched_script(request)
        classes = self.watched.modules.items()
        modules = {visible(path): visible(name) for path, name in classes}
        super().__init__(self.watched.step, modules, request.card)
        self.plain = replace(self.plain, begins=self.watched.begins)

    @property
    def samples(self) -> int:
        """Number of samples of the step."""
        return self.watched.batch

    @property
    def growth(self) -> str:
        """Sentences on memory that grows from step to step; empty where it does not."""
        return growth_text(self.watched.growth, self.watched.holders)

    def cause(self, batch: int) -> str:
        """Return a sentence on what holds much of the peak; empty where nothing special does."""
        watched = self.watched
        if watched.growth or watched.cause is None:
            return ""
        return cause_text(watched.cause["key"], watched.cause["nbytes"], watched.cause["names"])

    def call(self, batch: int, memory: str) -> str:
        """Return the command that explains the script again."""
        return f"memlab explain {self.request.script} --memory '{memory}'"

    # -- changes ----------------------------------------------------------------------------

    def _planned_changes(self, batch: int, nbytes: int) -> Iterator[StepChange]:
        """Yield the changes that save bytes at the peak, until one is enough: with each of them the
        script runs again."""
        self.request.say(text_of("script.trying", name=self.request.name))
        for change in super()._planned_changes(batch, nbytes):
            yield change
            if change.most(batch) <= nbytes:
                return

    def _change_makers(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        """Return the functions that run the script with a change, the mildest first."""
        changes = self.watched.changes
        return [partial(self._recorded_change, batch, change) for change in changes]

    def _recorded_change(self, batch: int, change: Mapping[str, Any]) -> StepChange | None:
        """Run the script with a change.

        Raises:
            InputError: it does not run with it.
        """
        request = replace(self.request, change=change, real=self.watched.real)
        changed = watched_script(request)
        names = tuple(map(visible, change["names"]))
        return self.change(
            changed.step, batch, change["key"], *change["code"], names=names, same=change["same"],
            begins=changed.begins,
        )  # fmt: skip

    # -- beside the figures -----------------------------------------------------------------

    @property
    def text(self) -> str:
        """Sentences on how the script was watched, and on what it would have written."""
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        watched, name = self.watched, self.request.name
        tensors = text_of("script.real" if watched.real else "script.fake")
        yield text_of("script.watched", name=name, tensors=tensors, batch=f"{watched.batch:,}")
        if watched.saves:
            counts = Counter(watched.saves).items()
            saves = ", ".join(map(_save_text, *zip(*counts, strict=True)))
            yield text_of("script.saves", name=name, saves=visible(saves))
        if watched.untrained:
            yield text_of("script.untrained", names=visible(", ".join(watched.untrained)))

    def as_dict(self) -> dict[str, Any]:
        """Return the same for JSON."""
        watched = self.watched
        counts = Counter(watched.saves).items()
        return {
            "file": self.request.script,
            "arguments": list(self.request.arguments),
            "tensors": "real" if watched.real else "fake",
            "would_write": [{"function": function, "path": path, "times": count}
                            for (function, path), count in counts],
            "growth_bytes": watched.growth,
            "held_by": list(watched.holders),
            "evaluated_with_gradients": list(watched.untrained),
        }  # fmt: skip


def _save_text(save: tuple[str, str], count: int) -> str:
    """Return a save that was skipped in words: ``'model.pt (torch.save), twice'``."""
    function, path = save
    place = f"{path} ({function})" if path else function
    return text_of("script.times", place=place, count=count) if count > 1 else place

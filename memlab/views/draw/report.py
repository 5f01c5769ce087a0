"""The page of a study: what its figures say, its charts, and how the figures came about."""

from __future__ import annotations

from memlab.studies.figures import Study
from memlab.views.draw.page import Page
from memlab.views.draw.table import Block, Words


def report(
    study: Study, *blocks: Block, size: int = 13, bold: int = 1, marked: bool = False
) -> Page:
    """The first sentences in bold and the others of a study, some blocks, and its notes.

    Where it is ``marked``, each sentence says of one way what its marks are.
    """
    first, others = study.sentences[:bold], study.sentences[bold:]
    said = [Words(first, size, bold=True), Words(others, min(size, 13))]
    if marked:
        said = [Words(each, 12, mark=index) for index, each in enumerate(study.sentences)]
    notes = Words(study.notes, 11, dim=True, gap=8)
    says = " ".join([f"{study.title}.", *study.sentences])
    return Page(study.title, [*said, *blocks, notes], says=says)

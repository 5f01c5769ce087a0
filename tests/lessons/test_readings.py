"""The readings: every sentence of the texts leads to the cell that answers it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lessons import build, readings
from lessons.readings import ReadingError, Row
from memlab import claims

pytestmark = pytest.mark.measures  # some claims are computed by a run

ROWS = readings.rows(build.LESSONS)
SENTENCES = 79
"""What the texts say, as it was listed when they were read; none gets lost."""


def test_no_sentence_is_lost_and_each_is_of_a_text() -> None:
    assert len(ROWS) == SENTENCES
    assert len({row.says for row in ROWS}) == SENTENCES
    assert {row.text for row in ROWS} == set(readings.texts(build.LESSONS))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_a_row_names_one_cell_of_a_notebook(row: Row) -> None:
    assert readings.heading(build.LESSONS, row)
    assert readings.outcome(row), "it says what comes out"


@pytest.mark.parametrize("row", [row for row in ROWS if row.claims], ids=lambda row: row.says)
def test_its_claims_are_there_and_one_is_of_a_text(row: Row) -> None:
    published = [claim for id in row.claims for claim in claims.find(id)]
    assert any(isinstance(claim, claims.Claim) for claim in published)


def test_a_sentence_is_short_and_in_our_words() -> None:
    for row in ROWS:
        assert len(row.says.split()) <= 25, row.says
        assert len(row.found.split()) <= 25, row.found


def test_a_row_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    row = next(row for row in ROWS if row.page == "02_network")
    with pytest.raises(ReadingError, match="stands in 0 cells of 02_network"):
        readings.heading(build.LESSONS, replace(row, cell="no such piece"))
    with pytest.raises(ReadingError, match=r"stands in \d+ cells of 02_network"):
        readings.heading(build.LESSONS, replace(row, cell="memlab"))
    with pytest.raises(ReadingError, match="there is no notebook '99_none'"):
        readings.heading(build.LESSONS, replace(row, page="99_none"))


def test_the_page_is_the_one_that_is_stored() -> None:
    stored = (build.LESSONS / readings.FILE).read_text(encoding="utf-8")
    assert stored == readings.page(build.LESSONS)
    assert stored.count("\n| ") == SENTENCES + len(readings.texts(build.LESSONS))

"""What is kept is given again; what is gone, or another thing, is made anew."""

from __future__ import annotations

from itertools import count

from memlab.pictures.values.cache import RecentResults


def test_the_last_few_are_kept_by_what_they_were_made_of() -> None:
    kept, numbers = RecentResults(2), count(1)

    def ask(*of: object) -> int:
        return kept.of(of, lambda: next(numbers))

    assert [ask("a"), ask("a"), ask("b"), ask("a")] == [1, 1, 2, 1]
    assert [ask("c"), ask("a"), ask("b")] == [3, 1, 4]  # "b" was asked for longest ago


def test_what_cannot_be_hashed_is_told_apart_from_its_like() -> None:
    kept = RecentResults(8)
    found = [kept.of(([each],), object) for each in (1, 1)]
    assert found[0] is not found[1]
    same = [1]
    assert kept.of((same, 2), object) is kept.of((same, 2), object)

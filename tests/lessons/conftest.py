"""The small lesson, for the tests of these rules."""

from tests.lessons.small import lesson

__all__ = ["lesson"]

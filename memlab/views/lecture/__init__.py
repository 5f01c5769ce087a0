"""Lectures: pages that need no kernel and no network."""

from memlab.views.lecture import k2

LECTURES = {"k2": k2.write}
"""By name, what writes a lecture: the page and its recorded run."""

__all__ = ["LECTURES"]
